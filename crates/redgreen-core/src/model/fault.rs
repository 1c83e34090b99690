//! What a server's refusal means: every error class of every provider, in the words of [`FaultKind`].

use serde_json::Value;

use super::wire::{at, list_at};
use super::{Fault, FaultKind};

const WORDS_MAX: usize = 600;

/// Headers by their names in lower case.
pub type Headers = [(String, String)];

/// What an answer with a status other than 200 means. `model` is the one that was asked for.
pub fn status_fault(status: u16, headers: &Headers, body: &str, model: &str) -> Fault {
    let body = body.trim();
    let parsed: Option<Value> = serde_json::from_str(body).ok();
    let said = parsed.as_ref().and_then(Said::read);
    let kind = match &said {
        Some(said) => said.kind(Some(status)),
        // A page that is no API's: the address is wrong, not the model.
        None if status == 404 => FaultKind::BadRequest,
        None => of_status(status),
    };
    let words = said.as_ref().map_or(body, |said| said.message.as_str());
    let message = match (kind, words) {
        (FaultKind::UnknownModel, words) => format!("{model}: {}", cut(words)),
        (_, "") => format!("HTTP {status}"),
        (FaultKind::BadRequest, words) if said.is_none() => format!("HTTP {status}: {}", cut(words)),
        (_, words) => cut(words),
    };
    let retry_after_ms = asked(headers).or_else(|| said.and_then(|said| said.retry_ms));
    Fault { kind, message, retry_after_ms }
}

/// The error inside a stream that began well, if `data` tells of one.
pub fn stream_fault(data: &Value) -> Option<Fault> {
    let said = Said::read(data)?;
    Some(Fault { kind: said.kind(None), message: cut(&said.message), retry_after_ms: said.retry_ms })
}

/// An answer that makes no sense.
pub fn nonsense(what: &str) -> Fault {
    Fault::new(FaultKind::Server, format!("the answer makes no sense: {what}"))
}

/// An answer that ended before its end.
pub fn broken_off() -> Fault {
    Fault::new(FaultKind::Network, "the answer broke off")
}

/// What the body of an error says, whichever provider it is of.
struct Said {
    message: String,
    /// Its types, codes and reasons, in lower case.
    codes: Vec<String>,
    /// A status inside the body.
    status: Option<u16>,
    retry_ms: Option<u64>,
}

impl Said {
    fn read(body: &Value) -> Option<Self> {
        // Gemini wraps some errors in a list.
        let body = body.get(0).unwrap_or(body);
        let error = body.get("error").filter(|error| !error.is_null())?;
        // Ollama and others say it in one word.
        let words = error.as_str();
        let message = words.or_else(|| at(error, "/message").as_str()).unwrap_or_default().to_owned();
        let mut codes: Vec<&str> = Vec::new();
        let ways = ["/type", "/code", "/status", "/details/error_code"];
        codes.extend(ways.iter().filter_map(|way| at(error, way).as_str()));
        let details = list_at(error, "/details");
        codes.extend(details.iter().filter_map(|detail| at(detail, "/reason").as_str()));
        let retry = details.iter().find_map(|detail| at(detail, "/retryDelay").as_str());
        Some(Self {
            message,
            codes: codes.into_iter().map(str::to_lowercase).collect(),
            status: at(error, "/code").as_u64().and_then(|code| u16::try_from(code).ok()),
            retry_ms: retry.and_then(|time| seconds(time.strip_suffix('s')?)),
        })
    }

    fn kind(&self, status: Option<u16>) -> FaultKind {
        let named = || self.codes.iter().filter_map(|code| of_code(code));
        // These say more than their status does.
        let exact = named().find(|kind| {
            matches!(kind, FaultKind::Billing | FaultKind::TooLong | FaultKind::UnknownModel | FaultKind::Auth)
        });
        let heard = || of_words(&self.message.to_lowercase());
        match (exact, status) {
            (Some(kind), _) => kind,
            (None, Some(status)) if of_status(status) == FaultKind::BadRequest => {
                heard().unwrap_or(FaultKind::BadRequest)
            }
            (None, Some(status)) => of_status(status),
            (None, None) => {
                let inside = self.status.map(of_status);
                heard().or_else(|| named().next()).or(inside).unwrap_or(FaultKind::Server)
            }
        }
    }
}

fn of_status(status: u16) -> FaultKind {
    match status {
        401 | 403 => FaultKind::Auth,
        402 => FaultKind::Billing,
        404 => FaultKind::UnknownModel,
        408 => FaultKind::Timeout,
        409 => FaultKind::Server,
        413 => FaultKind::TooLong,
        429 => FaultKind::RateLimit,
        503 | 529 => FaultKind::Overloaded,
        500.. => FaultKind::Server,
        _ => FaultKind::BadRequest,
    }
}

fn of_code(code: &str) -> Option<FaultKind> {
    Some(match code {
        "authentication_error"
        | "permission_error"
        | "invalid_api_key"
        | "api_key_invalid"
        | "permission_denied"
        | "unauthenticated"
        | "organization_on_hold" => FaultKind::Auth,
        "billing_error"
        | "insufficient_quota"
        | "enforced_spend_limit_reached"
        | "billing_hard_limit_reached"
        | "billing_not_active" => FaultKind::Billing,
        "not_found_error" | "model_not_found" | "not_found" | "notfounderror" => FaultKind::UnknownModel,
        "request_too_large"
        | "context_length_exceeded"
        | "exceed_context_size_error"
        | "request_body_too_large_after_decoding" => FaultKind::TooLong,
        "rate_limit_error" | "rate_limit_exceeded" | "resource_exhausted" | "ramp_limit_exceeded" => {
            FaultKind::RateLimit
        }
        "overloaded_error" | "unavailable" | "server_is_overloaded" | "slow_down" => FaultKind::Overloaded,
        "api_error" | "server_error" | "internal" | "conflict_error" => FaultKind::Server,
        "timeout_error" | "deadline_exceeded" => FaultKind::Timeout,
        "invalid_request_error" | "invalid_argument" | "invalid_prompt" => FaultKind::BadRequest,
        _ => return None,
    })
}

/// Where a provider has no code for it, only its sentence tells.
fn of_words(message: &str) -> Option<FaultKind> {
    const TOO_LONG: &[&str] = &[
        "prompt is too long",
        "context length",
        "context window",
        "context size",
        "maximum context",
        "exceeds the maximum number of tokens",
    ];
    const NO_MONEY: &[&str] = &["credit balance", "usage limit", "spend limit", "insufficient balance"];
    const NO_MODEL: &[&str] = &["not a valid model", "unknown model", "no such model"];
    let says = |words: &[&str]| words.iter().any(|words| message.contains(words));
    if says(TOO_LONG) {
        Some(FaultKind::TooLong)
    } else if says(NO_MONEY) {
        Some(FaultKind::Billing)
    } else if says(NO_MODEL) || (message.contains("model") && message.contains("not found")) {
        Some(FaultKind::UnknownModel)
    } else {
        None
    }
}

/// What the server asks us to wait, in its headers.
fn asked(headers: &Headers) -> Option<u64> {
    let header = |name: &str| headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.trim());
    if let Some(time) = header("retry-after-ms").and_then(|time| seconds(time).map(|time| time / 1_000)) {
        return Some(time);
    }
    let time = header("retry-after")?;
    if let Some(time) = seconds(time) {
        return Some(time);
    }
    // A point in time counts from the server's own clock, which need not be ours.
    let (then, now) = (date(time)?, date(header("date")?)?);
    Some(then.saturating_sub(now).saturating_mul(1_000))
}

/// Milliseconds from a number of seconds such as `12` or `0.5`.
fn seconds(text: &str) -> Option<u64> {
    const YEAR: f64 = 366.0 * 86_400.0;
    let time: f64 = text.trim().parse().ok()?;
    let time = (0.0..=YEAR * 1_000.0).contains(&time).then(|| std::time::Duration::from_secs_f64(time))?;
    u64::try_from(time.as_millis()).ok()
}

/// Seconds since 1970 of a date as HTTP writes it: `Sun, 06 Nov 1994 08:49:37 GMT`.
fn date(text: &str) -> Option<u64> {
    const MONTHS: &[&str] = &["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let mut words = text.split_once(", ")?.1.split(' ');
    let day: u64 = words.next()?.parse().ok().filter(|day| (1..=31).contains(day))?;
    let month = words.next()?;
    let month = u64::try_from(MONTHS.iter().position(|known| *known == month)?).ok()?;
    let year: u64 = words.next()?.parse().ok().filter(|year| (1970..=9999).contains(year))?;
    let mut clock = words.next()?.split(':').map(|part| part.parse::<u64>().ok().filter(|part| *part < 61));
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    // The year begins in March, so that the day a leap year has more is its last.
    let (year, month) = if month < 2 { (year - 1, month + 10) } else { (year, month - 2) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    let since_1970 = days.checked_sub(719_468)?;
    Some(since_1970 * 86_400 + hour * 3_600 + minute * 60 + second)
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(WORDS_MAX) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or(text)),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
