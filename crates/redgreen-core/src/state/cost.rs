//! The costs of a run so far.

use super::State;
use crate::event::Event;

impl State {
    /// Counts time, money, turns and reports.
    pub(super) fn count(&mut self, event: &Event) {
        // What is taken over from an attempt was paid for when the attempt ended.
        if !self.is_taken_over(event) {
            self.spend(event);
        }
        if let Event::Turned { role, session, agent, .. } = event {
            *self.turns.entry(*role).or_default() += 1;
            self.sessions.extend(session.clone().map(|session| (*role, session)));
            self.agents.extend(agent.clone().map(|agent| (*role, agent)));
        }
        if let Event::Measured { .. }
        | Event::Judged { report: Some(_), .. }
        | Event::Reviewed { report: Some(_), .. } = event
        {
            self.reports += 1;
        }
    }

    fn spend(&mut self, event: &Event) {
        if let Event::Attempted { candidate } = event {
            candidate.events.iter().for_each(|event| self.spend(event));
        }
        if let Event::Turned { took_ms, .. }
        | Event::Compared { took_ms, .. }
        | Event::Measured { took_ms, .. }
        | Event::Judged { took_ms, .. }
        | Event::Reviewed { took_ms, .. }
        | Event::Linted { took_ms, .. } = event
        {
            self.spent.work_ms = self.spent.work_ms.saturating_add(*took_ms);
        }
        if let Event::Turned { cost, .. } = event {
            self.spent.tokens = self.spent.tokens.saturating_add(cost.tokens.unwrap_or(0));
            self.spent.microdollars =
                self.spent.microdollars.saturating_add(cost.microdollars.unwrap_or(0));
            let unknown = u32::from(cost.tokens.is_none() && cost.microdollars.is_none());
            let unpriced = u32::from(cost.tokens.is_some() && cost.microdollars.is_none());
            self.spent.unknown_turns = self.spent.unknown_turns.saturating_add(unknown);
            self.spent.unpriced_turns = self.spent.unpriced_turns.saturating_add(unpriced);
            for (total, part) in [
                (&mut self.spent.input, cost.input),
                (&mut self.spent.output, cost.output),
                (&mut self.spent.cached, cost.cached),
                (&mut self.spent.requests, cost.requests),
            ] {
                *total = total.saturating_add(part.unwrap_or(0));
            }
        }
    }
}
