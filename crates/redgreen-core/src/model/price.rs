//! What tokens cost, where it is known; a model that is not in the table has no price, and nobody guesses one.

use super::Usage;

/// In microdollars for a million tokens: a price in dollars times a million.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Price {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
}

struct Row {
    /// The model's name, or its beginning where `-` or `@` and a date follow.
    model: &'static str,
    price: Price,
    /// For requests with more tokens than this, other prices hold.
    above: Option<(u64, Price)>,
}

/// The state of November 2026. Cache writes cost a quarter more than input at Anthropic, and nothing more elsewhere.
const TABLE: &[Row] = &[
    anthropic("claude-opus-5-5", 4_000_000, 20_000_000, 200_000),
    anthropic("claude-sonnet-5-5", 2_000_000, 10_000_000, 100_000),
    Row {
        above: Some((100_000, written(500_000, 2_500_000, 50_000))),
        ..anthropic("claude-haiku-5-5", 100_000, 500_000, 10_000)
    },
    anthropic("claude-fable-5-2", 8_000_000, 40_000_000, 200_000),
    anthropic("claude-fable-5-1", 10_000_000, 50_000_000, 250_000),
    anthropic("claude-fable-5", 10_000_000, 50_000_000, 1_000_000),
    anthropic("claude-opus-5", 5_000_000, 25_000_000, 500_000),
    anthropic("claude-opus-4-8", 5_000_000, 25_000_000, 500_000),
    anthropic("claude-opus-4-7", 5_000_000, 25_000_000, 500_000),
    anthropic("claude-opus-4-6", 5_000_000, 25_000_000, 500_000),
    anthropic("claude-sonnet-5", 2_000_000, 10_000_000, 200_000),
    anthropic("claude-sonnet-4-6", 3_000_000, 15_000_000, 300_000),
    anthropic("claude-haiku-4-5", 1_000_000, 5_000_000, 100_000),
    openai("gpt-6.1-sol", 2_000_000, 10_000_000, 100_000),
    Row {
        above: Some((272_000, plain(2_000_000, 7_500_000, 100_000))),
        ..openai("gpt-6.1-terra", 1_000_000, 5_000_000, 50_000)
    },
    openai("gpt-6-sol", 2_000_000, 10_000_000, 200_000),
    openai("gpt-6-luna", 100_000, 500_000, 10_000),
];

/// Every model with a price, and it, for requests of usual length.
pub fn prices() -> impl Iterator<Item = (&'static str, Price)> {
    TABLE.iter().map(|row| (row.model, row.price))
}

/// What an exchange costs, in microdollars, rounded up; none where the price is unknown.
pub fn cost(model: &str, usage: &Usage) -> Option<u64> {
    let row = TABLE.iter().find(|row| row.names(model))?;
    let sent = usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write);
    let price = match row.above {
        Some((tokens, price)) if sent > tokens => price,
        Some(_) | None => row.price,
    };
    let pay = |tokens: u64, price: u64| u128::from(tokens) * u128::from(price);
    let sum = pay(usage.input, price.input)
        + pay(usage.output, price.output)
        + pay(usage.cache_read, price.cache_read)
        + pay(usage.cache_write, price.cache_write);
    u64::try_from(sum.div_ceil(1_000_000)).ok()
}

impl Row {
    /// A date behind the name is the same model; another word is not.
    fn names(&self, model: &str) -> bool {
        model.strip_prefix(self.model).is_some_and(|rest| {
            let date: String = rest.trim_start_matches(['-', '@']).chars().filter(|letter| *letter != '-').collect();
            rest.is_empty() || (date.len() == 8 && date.chars().all(|letter| letter.is_ascii_digit()))
        })
    }
}

const fn anthropic(model: &'static str, input: u64, output: u64, cache_read: u64) -> Row {
    Row { model, price: written(input, output, cache_read), above: None }
}

const fn openai(model: &'static str, input: u64, output: u64, cache_read: u64) -> Row {
    Row { model, price: plain(input, output, cache_read), above: None }
}

const fn written(input: u64, output: u64, cache_read: u64) -> Price {
    Price { input, output, cache_read, cache_write: input + input / 4 }
}

const fn plain(input: u64, output: u64, cache_read: u64) -> Price {
    Price { input, output, cache_read, cache_write: input }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_models_have_a_price_and_others_none() {
        let usage = Usage { input: 1_000, output: 500, cache_read: 10_000, cache_write: 2_000 };
        for (model, expected) in [
            ("claude-opus-5-5", Some(4_000 + 10_000 + 2_000 + 10_000)),
            ("claude-haiku-4-5-20251001", Some(1_000 + 2_500 + 1_000 + 2_500)),
            ("claude-sonnet-5", Some(2_000 + 5_000 + 2_000 + 5_000)),
            ("gpt-6.1-sol", Some(2_000 + 5_000 + 1_000 + 4_000)),
            ("gpt-6.1-sol-2026-09-01", Some(2_000 + 5_000 + 1_000 + 4_000)),
            ("claude-opus-5-mini", None),
            ("claude-opus-5-6", None),
            ("qwen2.5-coder", None),
            ("", None),
        ] {
            assert_eq!(cost(model, &usage), expected, "{model}");
        }
    }

    #[test]
    fn long_requests_cost_more_where_the_table_says_so() {
        let short = Usage { input: 100_000, ..Usage::default() };
        let long = Usage { input: 100_001, ..Usage::default() };
        assert_eq!(cost("claude-haiku-5-5", &short), Some(10_000));
        assert_eq!(cost("claude-haiku-5-5", &long), Some(50_001));
        let absurd = Usage { output: u64::MAX, ..Usage::default() };
        assert_eq!(cost("claude-opus-5-5", &absurd), None);
        assert_eq!(cost("claude-opus-5-5", &Usage { output: 1, ..Usage::default() }), Some(20));
    }
}
