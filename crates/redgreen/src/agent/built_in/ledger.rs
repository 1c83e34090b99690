//! The cost of a turn, counted per request. An unknown price is reported as unknown, not as zero.

use std::sync::Arc;

use redgreen_core::agent::Cost;
use redgreen_core::model::Usage;
use redgreen_core::model::price::Prices;
use redgreen_core::policy::{RunCost, dollars};

#[derive(Clone, Debug)]
pub(super) struct Ledger {
    usage: Usage,
    requests: u64,
    /// In total; `None` as soon as one price is unknown.
    microdollars: Option<u64>,
    prices: Arc<Prices>,
    /// The approximate tokens of the last request, which a caching server has.
    sent: u64,
}

impl Ledger {
    pub(super) fn new(prices: Arc<Prices>) -> Self {
        Self { usage: Usage::default(), requests: 0, microdollars: Some(0), prices, sent: 0 }
    }

    /// The minimum cost of a request of about this many tokens in microdollars; `None` if the price
    /// is unknown.
    pub(super) fn next(&self, model: &str, tokens: u64) -> Option<u64> {
        let caches = self.usage.cache_read > 0 || self.usage.cache_write > 0;
        let cache_read = if caches { self.sent.min(tokens) } else { 0 };
        self.prices
            .cost(model, &Usage { input: tokens - cache_read, cache_read, ..Usage::default() })
    }

    /// Records that a request of about this many tokens is sent.
    pub(super) fn send(&mut self, tokens: u64) {
        self.sent = tokens;
    }

    /// Counts an answered request.
    pub(super) fn count(&mut self, model: &str, usage: Usage) {
        self.requests += 1;
        self.usage.input = self.usage.input.saturating_add(usage.input);
        self.usage.output = self.usage.output.saturating_add(usage.output);
        self.usage.cache_read = self.usage.cache_read.saturating_add(usage.cache_read);
        self.usage.cache_write = self.usage.cache_write.saturating_add(usage.cache_write);
        let price = self.prices.cost(model, &usage);
        self.microdollars =
            self.microdollars.zip(price).map(|(before, price)| before.saturating_add(price));
    }

    /// Counts an unanswered request, whose cost is unknown.
    pub(super) fn count_unanswered(&mut self) {
        self.requests += 1;
    }

    pub(super) fn cost(&self) -> Cost {
        let sent = self.usage.input.saturating_add(self.usage.cache_write);
        Cost {
            tokens: Some(self.usage.total()),
            microdollars: self.microdollars,
            input: Some(sent),
            output: Some(self.usage.output),
            cached: Some(self.usage.cache_read),
            requests: Some(self.requests),
        }
    }

    /// For comparison with a budget. Unknown costs cannot be compared.
    pub(super) fn spent(&self) -> RunCost {
        RunCost {
            tokens: self.usage.total(),
            microdollars: self.microdollars.unwrap_or(0),
            ..RunCost::default()
        }
    }

    /// One line for people.
    pub(super) fn words(&self) -> String {
        let cost = self.cost();
        let price = cost.microdollars.map_or_else(|| "price unknown".to_owned(), dollars);
        format!(
            "{} requests, {} tokens sent, {} of them cached, {} received, {price}",
            self.requests,
            cost.input.unwrap_or(0).saturating_add(self.usage.cache_read),
            self.usage.cache_read,
            self.usage.output
        )
    }
}
