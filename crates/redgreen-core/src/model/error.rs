//! Classifies server errors of all providers as [`ModelErrorKind`].

use serde_json::Value;

use super::wire::{at, list_at};
use super::{ModelError, ModelErrorKind};

const WORDS_MAX: usize = 600;

/// Headers with lower case names.
pub type Headers = [(String, String)];

/// Classifies an answer with a status other than 200. `model` is the requested model.
pub fn status_error(status: u16, headers: &Headers, body: &str, model: &str) -> ModelError {
    let body = body.trim();
    let parsed: Option<Value> = serde_json::from_str(body).ok();
    let said = parsed.as_ref().and_then(ErrorBody::read);
    let kind = match &said {
        Some(said) => said.kind(Some(status)),
        // A 404 page that is not from the API: the address is wrong, not the model.
        None if status == 404 => ModelErrorKind::BadRequest,
        None => of_status(status),
    };
    let words = said.as_ref().map_or(body, |said| said.message.as_str());
    let message = match (kind, words) {
        (ModelErrorKind::UnknownModel, words) => format!("{model}: {}", cut(words)),
        (_, "") => format!("HTTP {status}"),
        (ModelErrorKind::BadRequest, words) if said.is_none() => {
            format!("HTTP {status}: {}", cut(words))
        }
        (_, words) => cut(words),
    };
    let retry_after_ms = asked(headers).or_else(|| said.and_then(|said| said.retry_ms));
    ModelError { kind, message, retry_after_ms }
}

/// The error inside a stream that started successfully, if `data` is one.
pub fn stream_error(data: &Value) -> Option<ModelError> {
    let said = ErrorBody::read(data)?;
    Some(ModelError {
        kind: said.kind(None),
        message: cut(&said.message),
        retry_after_ms: said.retry_ms,
    })
}

/// The error for an invalid answer.
pub fn nonsense(what: &str) -> ModelError {
    ModelError::new(ModelErrorKind::Server, format!("invalid answer: {what}"))
}

/// The error for a truncated answer.
pub fn broken_off() -> ModelError {
    ModelError::new(ModelErrorKind::Network, "the answer ended early")
}

/// The body of an error, from any provider.
struct ErrorBody {
    message: String,
    /// Its types, codes and reasons, in lower case.
    codes: Vec<String>,
    /// A status inside the body.
    status: Option<u16>,
    retry_ms: Option<u64>,
}

impl ErrorBody {
    fn read(body: &Value) -> Option<Self> {
        // Gemini wraps some errors in a list.
        let body = body.get(0).unwrap_or(body);
        let error = body.get("error").filter(|error| !error.is_null())?;
        // Ollama and others send only a string.
        let words = error.as_str();
        let message =
            words.or_else(|| at(error, "/message").as_str()).unwrap_or_default().to_owned();
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

    fn kind(&self, status: Option<u16>) -> ModelErrorKind {
        let named = || self.codes.iter().filter_map(|code| of_code(code));
        // These codes are more precise than the status.
        let exact = named().find(|kind| {
            matches!(
                kind,
                ModelErrorKind::Billing
                    | ModelErrorKind::TooLong
                    | ModelErrorKind::UnknownModel
                    | ModelErrorKind::Auth
            )
        });
        let heard = || of_words(&self.message.to_lowercase());
        match (exact, status) {
            (Some(kind), _) => kind,
            (None, Some(status)) if of_status(status) == ModelErrorKind::BadRequest => {
                heard().unwrap_or(ModelErrorKind::BadRequest)
            }
            (None, Some(status)) => of_status(status),
            (None, None) => {
                let inside = self.status.map(of_status);
                heard().or_else(|| named().next()).or(inside).unwrap_or(ModelErrorKind::Server)
            }
        }
    }
}

fn of_status(status: u16) -> ModelErrorKind {
    match status {
        401 | 403 => ModelErrorKind::Auth,
        402 => ModelErrorKind::Billing,
        404 => ModelErrorKind::UnknownModel,
        408 => ModelErrorKind::Timeout,
        409 => ModelErrorKind::Server,
        413 => ModelErrorKind::TooLong,
        429 => ModelErrorKind::RateLimit,
        503 | 529 => ModelErrorKind::Overloaded,
        500.. => ModelErrorKind::Server,
        _ => ModelErrorKind::BadRequest,
    }
}

fn of_code(code: &str) -> Option<ModelErrorKind> {
    Some(match code {
        "authentication_error"
        | "permission_error"
        | "invalid_api_key"
        | "api_key_invalid"
        | "permission_denied"
        | "unauthenticated"
        | "organization_on_hold" => ModelErrorKind::Auth,
        "billing_error"
        | "insufficient_quota"
        | "enforced_spend_limit_reached"
        | "billing_hard_limit_reached"
        | "billing_not_active" => ModelErrorKind::Billing,
        "not_found_error" | "model_not_found" | "not_found" | "notfounderror" => {
            ModelErrorKind::UnknownModel
        }
        "request_too_large"
        | "context_length_exceeded"
        | "exceed_context_size_error"
        | "request_body_too_large_after_decoding" => ModelErrorKind::TooLong,
        "rate_limit_error"
        | "rate_limit_exceeded"
        | "resource_exhausted"
        | "ramp_limit_exceeded" => ModelErrorKind::RateLimit,
        "overloaded_error" | "unavailable" | "server_is_overloaded" | "slow_down" => {
            ModelErrorKind::Overloaded
        }
        "api_error" | "server_error" | "internal" | "conflict_error" => ModelErrorKind::Server,
        "timeout_error" | "deadline_exceeded" => ModelErrorKind::Timeout,
        "invalid_request_error" | "invalid_argument" | "invalid_prompt" => {
            ModelErrorKind::BadRequest
        }
        _ => return None,
    })
}

/// Classifies by message, for providers without an error code.
fn of_words(message: &str) -> Option<ModelErrorKind> {
    const TOO_LONG: &[&str] = &[
        "prompt is too long",
        "context length",
        "context window",
        "context size",
        "maximum context",
        "exceeds the maximum number of tokens",
    ];
    const NO_MONEY: &[&str] =
        &["credit balance", "usage limit", "spend limit", "insufficient balance"];
    const NO_MODEL: &[&str] = &["not a valid model", "unknown model", "no such model"];
    let says = |words: &[&str]| words.iter().any(|words| message.contains(words));
    if says(TOO_LONG) {
        Some(ModelErrorKind::TooLong)
    } else if says(NO_MONEY) {
        Some(ModelErrorKind::Billing)
    } else if says(NO_MODEL) || (message.contains("model") && message.contains("not found")) {
        Some(ModelErrorKind::UnknownModel)
    } else {
        None
    }
}

/// The wait time that the server requests in its headers.
fn asked(headers: &Headers) -> Option<u64> {
    let header =
        |name: &str| headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.trim());
    if let Some(time) =
        header("retry-after-ms").and_then(|time| seconds(time).map(|time| time / 1_000))
    {
        return Some(time);
    }
    let time = header("retry-after")?;
    if let Some(time) = seconds(time) {
        return Some(time);
    }
    // A point in time refers to the server's clock, which may differ from ours.
    let (then, now) = (date(time)?, date(header("date")?)?);
    Some(then.saturating_sub(now).saturating_mul(1_000))
}

/// Converts seconds such as `12` or `0.5` to milliseconds.
fn seconds(text: &str) -> Option<u64> {
    const YEAR: f64 = 366.0 * 86_400.0;
    let time: f64 = text.trim().parse().ok()?;
    let time =
        (0.0..=YEAR * 1_000.0).contains(&time).then(|| std::time::Duration::from_secs_f64(time))?;
    u64::try_from(time.as_millis()).ok()
}

/// Seconds since 1970 of an HTTP date: `Sun, 06 Nov 1994 08:49:37 GMT`.
fn date(text: &str) -> Option<u64> {
    const MONTHS: &[&str] =
        &["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let mut words = text.split_once(", ")?.1.split(' ');
    let day: u64 = words.next()?.parse().ok().filter(|day| (1..=31).contains(day))?;
    let month = words.next()?;
    let month = u64::try_from(MONTHS.iter().position(|known| *known == month)?).ok()?;
    let year: u64 = words.next()?.parse().ok().filter(|year| (1970..=9999).contains(year))?;
    let mut clock =
        words.next()?.split(':').map(|part| part.parse::<u64>().ok().filter(|part| *part < 61));
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    // The year starts in March, so that the leap day is its last day.
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
