//! Token prices, from `prices.toml` or the user's settings. A model in neither has no price;
//! redgreen never guesses one.

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::time::Duration;

use serde::Deserialize;

use super::Usage;

/// The built-in price list.
const LIST: &str = include_str!("prices.toml");

/// Dollars per million tokens, as in lists and settings.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Price {
    pub input: f64,
    pub output: f64,
    /// Defaults to the input price.
    pub cache_read: Option<f64>,
    pub cache_write: Option<f64>,
    /// Different prices for long requests.
    pub long: Option<Long>,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Long {
    /// Requests with more tokens than this are long.
    pub above: u64,
    pub input: f64,
    pub output: f64,
    pub cache_read: Option<f64>,
    pub cache_write: Option<f64>,
}

/// Prices by model name.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Prices {
    /// The date of the list; empty for a list of the user.
    #[serde(default)]
    pub date: String,
    models: BTreeMap<String, Price>,
}

impl Prices {
    /// The built-in price list.
    pub fn listed() -> &'static Self {
        static LISTED: OnceLock<Prices> = OnceLock::new();
        LISTED.get_or_init(|| toml::from_str(LIST).unwrap_or_default())
    }

    /// A custom list.
    pub fn of(models: impl IntoIterator<Item = (String, Price)>) -> Self {
        Self { date: String::new(), models: models.into_iter().collect() }
    }

    /// This list, overridden by the entries of the other list.
    #[must_use]
    pub fn under(&self, other: Self) -> Self {
        let models = self
            .models
            .iter()
            .map(|(name, price)| (name.clone(), *price))
            .chain(other.models)
            .collect();
        Self { date: self.date.clone(), models }
    }

    /// The cost of an exchange in microdollars, rounded up. `None` if the price is unknown or
    /// invalid.
    pub fn cost(&self, model: &str, usage: &Usage) -> Option<u64> {
        let price = self.price(model)?;
        let sent = usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write);
        let rates = match price.long {
            Some(long) if sent > long.above => {
                Rates::new(long.input, long.output, long.cache_read, long.cache_write)
            }
            Some(_) | None => {
                Rates::new(price.input, price.output, price.cache_read, price.cache_write)
            }
        }?;
        let pay = |tokens: u64, rate: u128| u128::from(tokens) * rate;
        let sum = pay(usage.input, rates.input)
            + pay(usage.output, rates.output)
            + pay(usage.cache_read, rates.cache_read)
            + pay(usage.cache_write, rates.cache_write);
        u64::try_from(sum.div_ceil(1_000_000)).ok()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &Price)> {
        self.models.iter().map(|(name, price)| (name.as_str(), price))
    }

    /// Looks up the exact name, or the name before a date suffix.
    fn price(&self, model: &str) -> Option<&Price> {
        self.models
            .get(model)
            .or_else(|| self.models.iter().find(|(name, _)| is_dated(name, model)).map(|row| row.1))
    }
}

impl Price {
    /// The first invalid price, with its key.
    pub fn fault(&self) -> Option<(&'static str, f64)> {
        const DOLLARS_MAX: f64 = 1e6;
        let rows = [
            ("input", Some(self.input)),
            ("output", Some(self.output)),
            ("cache-read", self.cache_read),
            ("cache-write", self.cache_write),
            ("long.input", self.long.map(|long| long.input)),
            ("long.output", self.long.map(|long| long.output)),
            ("long.cache-read", self.long.and_then(|long| long.cache_read)),
            ("long.cache-write", self.long.and_then(|long| long.cache_write)),
        ];
        let rows = rows.into_iter().filter_map(|(name, dollars)| Some((name, dollars?)));
        rows.into_iter().find(|(_, dollars)| !(0.0..=DOLLARS_MAX).contains(dollars))
    }
}

/// Microdollars per million tokens.
struct Rates {
    input: u128,
    output: u128,
    cache_read: u128,
    cache_write: u128,
}

impl Rates {
    fn new(
        input: f64,
        output: f64,
        cache_read: Option<f64>,
        cache_write: Option<f64>,
    ) -> Option<Self> {
        Some(Self {
            input: microdollars(input)?,
            output: microdollars(output)?,
            cache_read: microdollars(cache_read.unwrap_or(input))?,
            cache_write: microdollars(cache_write.unwrap_or(input))?,
        })
    }
}

fn microdollars(dollars: f64) -> Option<u128> {
    // Duration converts seconds to microseconds, and so dollars to microdollars, without a numeric
    // cast.
    let exact = Duration::try_from_secs_f64(dollars).ok()?;
    Some((exact.as_nanos() + 500) / 1_000)
}

/// A date suffix is the same model; any other suffix is not.
fn is_dated(name: &str, model: &str) -> bool {
    model.strip_prefix(name).and_then(|rest| rest.strip_prefix(['-', '@'])).is_some_and(|rest| {
        let date: String = rest.chars().filter(|letter| *letter != '-').collect();
        date.len() == 8 && date.chars().all(|letter| letter.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_models_have_a_price() {
        let usage = Usage { input: 1_000, output: 500, cache_read: 10_000, cache_write: 2_000 };
        for (model, expected) in [
            ("claude-opus-5-5", Some(4_000 + 10_000 + 2_000 + 10_000)),
            ("claude-opus-4-5-20251101", Some(5_000 + 12_500 + 5_000 + 12_500)),
            ("claude-haiku-4-5-20251001", Some(1_000 + 2_500 + 1_000 + 2_500)),
            ("claude-sonnet-5", Some(2_000 + 5_000 + 2_000 + 5_000)),
            ("gpt-6.1-sol", Some(2_000 + 5_000 + 1_000 + 4_000)),
            ("gpt-6.1-sol-2026-09-01", Some(2_000 + 5_000 + 1_000 + 4_000)),
            ("claude-opus-5-mini", None),
            ("claude-opus-5-6", None),
            ("qwen2.5-coder", None),
            ("", None),
        ] {
            assert_eq!(Prices::listed().cost(model, &usage), expected, "{model}");
        }
        assert_eq!(Prices::listed().date.len(), "2026-11-17".len());
        assert!(Prices::listed().iter().all(|(_, price)| price.fault().is_none()));
    }

    #[test]
    fn long_requests_use_their_own_prices() {
        let prices = Prices::listed();
        let short = Usage { input: 100_000, ..Usage::default() };
        let long = Usage { input: 100_001, ..Usage::default() };
        assert_eq!(prices.cost("claude-haiku-5-5", &short), Some(10_000));
        assert_eq!(prices.cost("claude-haiku-5-5", &long), Some(50_001));
        let absurd = Usage { output: u64::MAX, ..Usage::default() };
        assert_eq!(prices.cost("claude-opus-5-5", &absurd), None);
        assert_eq!(
            prices.cost("claude-opus-5-5", &Usage { output: 1, ..Usage::default() }),
            Some(20)
        );
    }

    #[test]
    fn custom_prices_need_only_input_and_output() {
        let price =
            Price { input: 0.3, output: 1.2, cache_read: None, cache_write: None, long: None };
        let own = Prices::of([("mine".to_owned(), price)]);
        let usage = Usage { input: 1_000, output: 1_000, cache_read: 1_000, cache_write: 1_000 };
        assert_eq!(own.cost("mine", &usage), Some(300 + 1_200 + 300 + 300));
        assert_eq!(Price { output: -1.0, ..price }.fault(), Some(("output", -1.0)));
    }
}
