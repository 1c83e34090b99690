//! The controls that are still to be performed, shared by everybody who performs them: each in a room of its own, the
//! first of them while the candidate's suite still runs. Nothing is weighed here.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use redgreen_core::control::{Control, Question};
use redgreen_core::report::Report;

use crate::process::Stop;

/// For the faults put into the changed lines once the suite has ended: this long, or a share of what the suite took.
const FAULTS_WALL: Duration = Duration::from_millis(400);
const FAULTS_SHARE: u32 = 4;
/// What a fault may take beyond twice the usual time.
pub(super) const FAULT_GRACE: Duration = Duration::from_millis(500);

/// What a control's run left: its report, and the calls that stand-ins wrote down.
pub(super) type Performed = (Report, String);

pub(super) struct Docket {
    /// Asked for when nobody wants the answers any more.
    pub(super) stop: Stop,
    /// For a control that is no fault.
    timeout: Duration,
    listed: Mutex<Listed>,
}

struct Listed {
    entries: Vec<Entry>,
    /// So many were handed out to be weighed.
    weighed: usize,
    suite: Suite,
    /// What the whole suite takes.
    whole: Duration,
}

/// How far the candidate's own suite is.
#[derive(Clone, Copy)]
enum Suite {
    Running,
    /// Faults are for as long as this.
    Over(Duration),
    /// The first fault after the suite was taken up; none is when this is past.
    Until(Instant),
}

struct Entry {
    control: Control,
    state: State,
}

enum State {
    Open,
    Taken(Instant),
    /// Empty once it was handed out; and what it took.
    Done(Option<Box<Result<Performed>>>, Duration),
}

/// A control to perform now.
pub(super) struct Case {
    at: usize,
    pub(super) control: Control,
    pub(super) timeout: Duration,
}

impl Docket {
    /// `whole` is what the suite takes, or took before.
    pub(super) fn new(controls: Vec<Control>, whole: Duration, timeout: Duration, stop: Stop) -> Self {
        let entries = controls.into_iter().map(|control| Entry { control, state: State::Open }).collect();
        let listed = Listed { entries, weighed: 0, suite: Suite::Running, whole };
        Self { stop, timeout, listed: Mutex::new(listed) }
    }

    pub(super) fn len(&self) -> usize {
        self.lock().entries.len()
    }

    /// Whether it lists exactly these.
    pub(super) fn lists(&self, controls: &[Control]) -> bool {
        self.lock().entries.iter().map(|entry| &entry.control).eq(controls)
    }

    /// From now on everybody waits for what is listed here: faults have to be quick.
    pub(super) fn suite_is_over(&self, took: Duration) {
        let mut listed = self.lock();
        listed.whole = took;
        listed.suite = Suite::Over(FAULTS_WALL.max(took / FAULTS_SHARE));
    }

    /// Whether everything was weighed but faults, which need not be tried.
    pub(super) fn is_answered(&self) -> bool {
        let listed = self.lock();
        listed.entries.iter().skip(listed.weighed).all(|entry| entry.control.question == Question::Mutant)
    }

    /// What is to be performed next; `None` when nothing is, there is no time for it, or nobody wants it any more.
    pub(super) fn take(&self) -> Option<Case> {
        if self.stop.requested() {
            return None;
        }
        let mut listed = self.lock();
        let now = Instant::now();
        let at = listed.entries.iter().position(|entry| matches!(entry.state, State::Open))?;
        let is_fault = listed.entries.get(at)?.control.question == Question::Mutant;
        if is_fault {
            // One is tried in any case; for a further one there has to be time.
            let is_first = at == 0 || listed.entries.get(at - 1)?.control.question != Question::Mutant;
            let end = match listed.suite {
                Suite::Running => None,
                Suite::Over(budget) => Some(now + budget),
                Suite::Until(end) => Some(end),
            };
            if let Some(end) = end {
                listed.suite = Suite::Until(end);
                if !is_first && now + listed.usual() > end {
                    return None;
                }
            }
        }
        // A fault may well make a loop endless; that is noticed, too.
        let timeout = if is_fault { (listed.usual() * 2 + FAULT_GRACE).min(self.timeout) } else { self.timeout };
        let entry = listed.entries.get_mut(at)?;
        entry.state = State::Taken(now);
        Some(Case { at, control: entry.control.clone(), timeout })
    }

    pub(super) fn file(&self, case: &Case, came: Result<Performed>) {
        if let Some(entry) = self.lock().entries.get_mut(case.at) {
            let took = match entry.state {
                State::Taken(since) => since.elapsed(),
                State::Open | State::Done(..) => Duration::ZERO,
            };
            entry.state = State::Done(Some(Box::new(came)), took);
        }
    }

    /// The next one to weigh, in the order of the list; `None` while it is not performed.
    pub(super) fn next_done(&self) -> Option<Result<(Control, Performed)>> {
        let mut listed = self.lock();
        let at = listed.weighed;
        let entry = listed.entries.get_mut(at)?;
        let State::Done(came, _) = &mut entry.state else { return None };
        let came = *came.take()?;
        let control = entry.control.clone();
        listed.weighed += 1;
        Some(came.map(|came| (control, came)))
    }

    fn lock(&self) -> MutexGuard<'_, Listed> {
        self.listed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listed {
    /// What the same tests took without a fault.
    fn usual(&self) -> Duration {
        let others = self.entries.iter().filter(|entry| entry.control.question != Question::Mutant);
        let took = others.filter_map(|entry| match entry.state {
            State::Done(_, took) => Some(took),
            State::Open | State::Taken(_) => None,
        });
        took.max().unwrap_or(self.whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redgreen_core::control::Tree;
    use redgreen_core::framework::invoke::Selection;

    fn control(question: Question, what: &str) -> Control {
        Control {
            question,
            tree: Tree::Head,
            edits: Vec::new(),
            selection: Selection::All,
            variables: Vec::new(),
            about: Vec::new(),
            what: what.to_owned(),
            otherwise: None,
        }
    }

    /// An ordinary question and two faults.
    fn docket(whole: Duration) -> Docket {
        let controls =
            vec![control(Question::OldCode, "old"), control(Question::Mutant, "a"), control(Question::Mutant, "b")];
        Docket::new(controls, whole, Duration::from_secs(600), Stop::default())
    }

    fn weighed(docket: &Docket) -> Vec<String> {
        std::iter::from_fn(|| docket.next_done()).map(|done| done.unwrap().0.what).collect()
    }

    #[test]
    fn whoever_is_quicker_answers_are_weighed_in_their_order() {
        let docket = docket(Duration::ZERO);
        let (old, fault) = (docket.take().unwrap(), docket.take().unwrap());
        docket.file(&fault, Ok(Performed::default()));
        assert_eq!(weighed(&docket), [""; 0]);
        docket.file(&old, Ok(Performed::default()));
        assert!(!docket.is_answered());
        assert_eq!(weighed(&docket), ["old", "a"]);
        assert!(docket.is_answered());
        assert_eq!(weighed(&docket), [""; 0], "each is weighed once");
    }

    #[test]
    fn what_nobody_wants_any_more_is_not_begun_and_not_taken_as_answered() {
        let docket = docket(Duration::ZERO);
        docket.stop.request();
        assert!(docket.take().is_none());
        assert!(!docket.is_answered());
    }

    #[test]
    fn what_could_not_be_performed_is_an_error() {
        let docket = docket(Duration::ZERO);
        docket.file(&docket.take().unwrap(), Err(anyhow::anyhow!("no room")));
        assert!(docket.next_done().unwrap().is_err());
    }

    #[test]
    fn faults_are_for_as_long_as_the_suite_runs_and_a_while_after() {
        let docket = docket(Duration::ZERO);
        let old = docket.take().unwrap();
        assert_eq!(old.timeout, Duration::from_secs(600));
        docket.file(&old, Ok(Performed::default()));
        let fault = docket.take().unwrap();
        assert!(fault.timeout < Duration::from_secs(10), "an endless loop is ended soon: {:?}", fault.timeout);
        docket.lock().suite = Suite::Until(Instant::now());
        assert!(docket.take().is_none(), "no time is left");
    }

    #[test]
    fn one_fault_is_tried_in_any_case() {
        let docket = docket(Duration::ZERO);
        docket.take();
        docket.suite_is_over(Duration::from_secs(600));
        docket.lock().suite = Suite::Until(Instant::now());
        assert!(docket.take().is_some());
        assert!(docket.take().is_none());
    }

    #[test]
    fn a_fault_without_a_comparison_may_take_what_the_suite_takes() {
        let docket = docket(Duration::from_secs(5));
        docket.take();
        assert_eq!(docket.take().unwrap().timeout, Duration::from_secs(10) + FAULT_GRACE);
        docket.suite_is_over(Duration::from_millis(200));
        assert_eq!(docket.take().unwrap().timeout, Duration::from_millis(400) + FAULT_GRACE);
    }
}
