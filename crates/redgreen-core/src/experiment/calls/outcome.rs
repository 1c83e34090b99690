//! Outcomes of calls as data, and when two of them are the same.

use serde_json::{Map, Value};

/// What has to be the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// Everything.
    Content,
    /// Everything that could be seen by watching: iterators of others are not used up, some output is not seen.
    Watched,
    /// What users of the code see: neither names that begin with `_` nor the words of an exception.
    Public,
}

const TEXT_CHARS_MAX: usize = 120;

/// Whether both are the same outcome.
pub(super) fn alike(one: &Value, other: &Value, by: By) -> bool {
    let ends = ["exits", "ends", "atLoad"].iter().all(|key| one.get(key) == other.get(key));
    let values = match (one.get("gives"), other.get("gives")) {
        (Some(one), Some(other)) => same(one, other, by),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    };
    ends && values && raised(one, other, by) && printed(one, other) && after(one, other, by)
}

fn raised(one: &Value, other: &Value, by: By) -> bool {
    match by {
        By::Public => first(one) == first(other),
        By::Content | By::Watched => {
            one.get("raises") == other.get("raises") && one.get("message") == other.get("message")
        }
    }
}

/// The exception's own name.
fn first(outcome: &Value) -> Option<&Value> {
    outcome.get("raises")?.get(0)
}

/// Not known where nobody could look.
fn printed(one: &Value, other: &Value) -> bool {
    let text = |outcome: &'_ Value| outcome.get("output").filter(|output| !output.is_null()).cloned();
    text(one).zip(text(other)).is_none_or(|(one, other)| one == other)
}

fn after(one: &Value, other: &Value, by: By) -> bool {
    let list = |outcome: &Value| outcome.get("after").and_then(Value::as_array).cloned();
    list(one).zip(list(other)).is_none_or(|(one, other)| {
        one.len() == other.len() && one.iter().zip(&other).all(|(one, other)| same(one, other, by))
    })
}

/// Whether two descriptions are those of the same value.
fn same(one: &Value, other: &Value, by: By) -> bool {
    let kind = |value: &Value| value.get("is").cloned();
    if kind(one) != kind(other) {
        return false;
    }
    let items = |value: &Value| value.get("items").and_then(Value::as_array).cloned();
    let same_items = match (items(one), items(other)) {
        (Some(one), Some(other)) => {
            one.len() == other.len() && one.iter().zip(&other).all(|(one, other)| same(one, other, by))
        }
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => by == By::Watched,
    };
    let pairs = |value: &Value| value.get("pairs").and_then(Value::as_array).cloned().unwrap_or_default();
    let (pairs, others) = (pairs(one), pairs(other));
    let same_pairs = pairs.len() == others.len()
        && pairs.iter().zip(&others).all(|(one, other)| {
            [0, 1].iter().all(|at| one.get(at).zip(other.get(at)).is_some_and(|(one, other)| same(one, other, by)))
        });
    let exact = ["text", "size", "cycle"].iter().all(|key| one.get(key) == other.get(key));
    exact && same_items && same_pairs && same_fields(one, other, by)
}

fn same_fields(one: &Value, other: &Value, by: By) -> bool {
    let none = Map::new();
    let fields =
        |value: &'_ Value| value.get("fields").and_then(Value::as_object).cloned().unwrap_or_else(|| none.clone());
    let (fields, others) = (fields(one), fields(other));
    let is_seen = |name: &str| by != By::Public || !name.starts_with('_');
    let kept = fields.iter().filter(|(name, _)| is_seen(name));
    let all = kept.clone().all(|(name, one)| others.get(name).is_some_and(|other| same(one, other, by)));
    // A field more is nothing that anybody relied upon, or a property that nobody calls by watching.
    all && (by != By::Content || fields.len() == others.len())
}

/// Whether the function was called in a way it was not made for.
pub(super) fn is_misuse(outcome: &Value) -> bool {
    matches!(first(outcome).and_then(Value::as_str), Some("TypeError" | "AttributeError"))
}

/// An outcome in a few words, as the end of a sentence about the call.
pub(super) fn shown(outcome: &Value) -> String {
    if let Some(value) = outcome.get("gives") {
        let printed = outcome.get("output").and_then(Value::as_str).filter(|output| !output.is_empty());
        let printed = printed.map(|output| format!(" and prints {:?}", cut(output)));
        return format!("gives {}{}", value_shown(value), printed.unwrap_or_default());
    }
    if let Some(name) = first(outcome).and_then(Value::as_str) {
        return format!("raises {name}");
    }
    match outcome.get("exits") {
        Some(code) => format!("exits with {}", value_shown(code)),
        None => "ends the process".to_owned(),
    }
}

/// Two outcomes that differ, told so that the difference can be seen.
pub(super) fn contrast(was: &Value, is: &Value) -> (String, String) {
    let (one, other) = (shown(was), shown(is));
    if one != other {
        return (one.replacen("gives ", "gave ", 1).replacen("raises ", "raised ", 1), other);
    }
    let left = |outcome: &Value| {
        let all = outcome.get("after").and_then(Value::as_array).cloned().unwrap_or_default();
        let told: Vec<String> = all.iter().map(value_shown).collect();
        format!("({})", cut(&told.join(", ")))
    };
    (format!("left its arguments as {}", left(was)), format!("leaves them as {}", left(is)))
}

fn value_shown(value: &Value) -> String {
    cut(&described(value))
}

fn described(value: &Value) -> String {
    let kind = value.get("is").and_then(Value::as_str).unwrap_or_default();
    let list = |key: &str| value.get(key).and_then(Value::as_array);
    let text = value.get("text").and_then(Value::as_str);
    let items = |items: &[Value]| items.iter().map(described).collect::<Vec<_>>().join(", ");
    match (text, list("items"), list("pairs"), value.get("fields")) {
        (Some(text), ..) if matches!(kind, "str" | "string") => format!("{text:?}"),
        (Some(text), ..) => text.to_owned(),
        (None, Some(all), ..) if kind == "tuple" => format!("({})", items(all)),
        (None, Some(all), ..) => format!("[{}]", items(all)),
        (None, None, Some(pairs), _) => {
            let pair = |pair: &Value| {
                let [key, one] = [0, 1].map(|at| pair.get(at).map(described).unwrap_or_default());
                format!("{key}: {one}")
            };
            format!("{{{}}}", pairs.iter().map(pair).collect::<Vec<_>>().join(", "))
        }
        (None, None, None, Some(Value::Object(fields))) => {
            let told = fields.iter().map(|(name, one)| format!("{name}={}", described(one)));
            format!("{kind}({})", told.collect::<Vec<_>>().join(", "))
        }
        (None, None, None, _) if kind == "NoneType" => "None".to_owned(),
        (None, None, None, _) => format!("a {kind}"),
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(TEXT_CHARS_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or(text)),
        None => text.to_owned(),
    }
}
