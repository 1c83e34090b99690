//! Tests for the classification of server errors.

use super::*;

#[track_caller]
fn check(status: u16, body: &str, expected: &str) {
    let error = status_error(status, &[], body, "m-1");
    assert_eq!(format!("{:?}: {}", error.kind, error.message), expected, "{status} {body}");
}

#[test]
fn classifies_errors_of_anthropic() {
    let body = |kind: &str, message: &str| {
        format!(
            r#"{{"type":"error","error":{{"type":"{kind}","message":"{message}"}},"request_id":"r"}}"#
        )
    };
    check(400, &body("invalid_request_error", "bad"), "BadRequest: bad");
    check(
        400,
        &body("invalid_request_error", "prompt is too long: 9 > 8"),
        "TooLong: prompt is too long: 9 > 8",
    );
    check(
        400,
        &body("invalid_request_error", "Your credit balance is too low"),
        "Billing: Your credit balance is too low",
    );
    check(401, &body("authentication_error", "x"), "Auth: x");
    check(402, &body("billing_error", "x"), "Billing: x");
    check(403, &body("permission_error", "x"), "Auth: x");
    check(404, &body("not_found_error", "model: m-1"), "UnknownModel: m-1: model: m-1");
    check(409, &body("conflict_error", "x"), "Server: x");
    check(413, &body("request_too_large", "x"), "TooLong: x");
    check(429, &body("rate_limit_error", "x"), "RateLimit: x");
    check(500, &body("api_error", "x"), "Server: x");
    check(504, &body("timeout_error", "x"), "Server: x");
    check(529, &body("overloaded_error", "x"), "Overloaded: x");
    let spent = r#"{"error":{"type":"rate_limit_error","message":"x","details":{"error_code":"enforced_spend_limit_reached"}}}"#;
    check(429, spent, "Billing: x");
}

#[test]
fn classifies_errors_of_openai_and_compatible_servers() {
    let body = |code: &str, message: &str| {
        format!(
            r#"{{"error":{{"message":"{message}","type":"invalid_request_error","param":null,"code":"{code}"}}}}"#
        )
    };
    check(401, &body("invalid_api_key", "x"), "Auth: x");
    check(429, &body("insufficient_quota", "x"), "Billing: x");
    check(429, &body("rate_limit_exceeded", "x"), "RateLimit: x");
    check(400, &body("context_length_exceeded", "x"), "TooLong: x");
    check(404, &body("model_not_found", "x"), "UnknownModel: m-1: x");
    check(400, &body("model_not_found", "x"), "UnknownModel: m-1: x");
    check(408, &body("", "x"), "Timeout: x");
    // OpenRouter, vLLM, Ollama, llama.cpp, DeepSeek.
    check(
        400,
        r#"{"error":{"message":"m-1 is not a valid model ID","code":400}}"#,
        "UnknownModel: m-1: m-1 is not a valid model ID",
    );
    check(402, r#"{"error":{"message":"x","code":402}}"#, "Billing: x");
    check(
        404,
        r#"{"error":{"message":"The model `m-1` does not exist.","type":"NotFoundError","code":404}}"#,
        "UnknownModel: m-1: The model `m-1` does not exist.",
    );
    check(404, r#"{"error":"model 'm-1' not found"}"#, "UnknownModel: m-1: model 'm-1' not found");
    check(
        400,
        r#"{"error":{"code":400,"message":"x","type":"exceed_context_size_error"}}"#,
        "TooLong: x",
    );
    check(
        402,
        r#"{"error":{"message":"Insufficient Balance","type":"unknown_error"}}"#,
        "Billing: Insufficient Balance",
    );
}

#[test]
fn classifies_errors_of_gemini() {
    check(
        400,
        r#"{"error":{"code":400,"message":"x","status":"INVALID_ARGUMENT"}}"#,
        "BadRequest: x",
    );
    check(
        400,
        r#"{"error":{"code":400,"message":"x","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}"#,
        "Auth: x",
    );
    check(
        400,
        r#"[{"error":{"code":400,"message":"input token count (9) exceeds the maximum number of tokens allowed (8)"}}]"#,
        "TooLong: input token count (9) exceeds the maximum number of tokens allowed (8)",
    );
    check(
        404,
        r#"{"error":{"code":404,"message":"x","status":"NOT_FOUND"}}"#,
        "UnknownModel: m-1: x",
    );
    check(503, r#"{"error":{"code":503,"message":"x","status":"UNAVAILABLE"}}"#, "Overloaded: x");
    let busy = r#"{"error":{"code":429,"message":"x","status":"RESOURCE_EXHAUSTED","details":[{"@type":"RetryInfo","retryDelay":"12.5s"}]}}"#;
    check(429, busy, "RateLimit: x");
    assert_eq!(status_error(429, &[], busy, "").retry_after_ms, Some(12_500));
}

#[test]
fn classifies_other_servers_by_status() {
    check(404, "<html>nothing here</html>", "BadRequest: HTTP 404: <html>nothing here</html>");
    check(502, "bad gateway", "Server: bad gateway");
    check(500, "", "Server: HTTP 500");
    check(302, "", "BadRequest: HTTP 302");
    check(200, "{}", "BadRequest: HTTP 200: {}");
    check(503, "{\"error\":null}", "Overloaded: {\"error\":null}");
    let long = "x".repeat(10_000);
    assert!(status_error(500, &[], &long, "").message.chars().count() <= WORDS_MAX + 1);
}

#[test]
fn reads_the_requested_wait_time() {
    let now = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
    for (headers, expected) in [
        (vec![("retry-after", "3")], Some(3_000)),
        (vec![("retry-after", " 0.5 ")], Some(500)),
        (vec![("retry-after", "3"), ("retry-after-ms", "250")], Some(250)),
        (vec![("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT"), now], Some(30_000)),
        (vec![("retry-after", "Mon, 07 Nov 1994 08:49:37 GMT"), now], Some(86_400_000)),
        (vec![("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT"), now], Some(0)),
        (vec![("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT")], None),
        (vec![("retry-after", "soon")], None),
        (vec![("retry-after", "-1")], None),
        (vec![("retry-after", "nan")], None),
        (vec![("retry-after", "1e99")], None),
        (vec![], None),
    ] {
        let headers: Vec<_> =
            headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        assert_eq!(status_error(429, &headers, "", "").retry_after_ms, expected, "{headers:?}");
    }
}

#[test]
fn parses_http_dates() {
    for (text, expected) in [
        ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
        ("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777)),
        ("Thu, 29 Feb 2024 23:59:59 GMT", Some(1_709_251_199)),
        ("Fri, 01 Mar 2024 00:00:00 GMT", Some(1_709_251_200)),
        ("Sun, 06 Nob 1994 08:49:37 GMT", None),
        ("Sun, 00 Nov 1994 08:49:37 GMT", None),
        ("Sun, 06 Nov 1994 08:49 GMT", None),
        ("yesterday", None),
    ] {
        assert_eq!(date(text), expected, "{text}");
    }
}
