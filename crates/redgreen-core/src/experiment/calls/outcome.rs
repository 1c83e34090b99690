//! Outcomes of calls as data, and when two of them are the same.

use serde_json::{Map, Value};

/// What must be the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Equality {
    /// Everything.
    Content,
    /// Everything that watching can see: iterators of others are not consumed, and some output is
    /// not seen.
    Watched,
    /// What users of the code see: no names that start with `_`, and no exception messages.
    Public,
}

const TEXT_CHARS_MAX: usize = 120;

/// Whether both are the same outcome.
pub(super) fn alike(one: &Value, other: &Value, by: Equality) -> bool {
    let ends =
        ["exits", "ends", "atLoad", "promised"].iter().all(|key| one.get(key) == other.get(key));
    let values = match (one.get("gives"), other.get("gives")) {
        (Some(one), Some(other)) => same(one, other, by),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    };
    ends && values && raised(one, other, by) && printed(one, other) && after(one, other, by)
}

fn raised(one: &Value, other: &Value, by: Equality) -> bool {
    match by {
        // Callers that catch it by one of its base classes must still catch it.
        Equality::Public => first(one) == first(other) && keeps(one, other, "raises"),
        Equality::Content | Equality::Watched => {
            one.get("raises") == other.get("raises") && one.get("message") == other.get("message")
        }
    }
}

/// Whether the other list contains all public names of this one.
fn keeps(one: &Value, other: &Value, key: &str) -> bool {
    let names =
        |value: &'_ Value| value.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let others = names(other);
    let is_public = |name: &&Value| {
        name.as_str().is_some_and(|name| !name.starts_with('_') || name.ends_with("__"))
    };
    names(one).iter().filter(is_public).all(|name| others.contains(name))
}

/// The exception's own name.
fn first(outcome: &Value) -> Option<&Value> {
    outcome.get("raises")?.get(0)
}

/// Unknown if output was not recorded.
fn printed(one: &Value, other: &Value) -> bool {
    let text =
        |outcome: &'_ Value| outcome.get("output").filter(|output| !output.is_null()).cloned();
    text(one).zip(text(other)).is_none_or(|(one, other)| one == other)
}

fn after(one: &Value, other: &Value, by: Equality) -> bool {
    let list = |outcome: &Value| outcome.get("after").and_then(Value::as_array).cloned();
    list(one).zip(list(other)).is_none_or(|(one, other)| {
        one.len() == other.len() && one.iter().zip(&other).all(|(one, other)| same(one, other, by))
    })
}

/// Whether two descriptions mean the same value.
fn same(one: &Value, other: &Value, by: Equality) -> bool {
    let kind = |value: &Value| value.get("is").cloned();
    if kind(one) != kind(other) {
        return false;
    }
    let items = |value: &Value| value.get("items").and_then(Value::as_array).cloned();
    let same_items = match (items(one), items(other)) {
        (Some(one), Some(other)) => {
            one.len() == other.len()
                && one.iter().zip(&other).all(|(one, other)| same(one, other, by))
        }
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => by == Equality::Watched,
    };
    let pairs =
        |value: &Value| value.get("pairs").and_then(Value::as_array).cloned().unwrap_or_default();
    let (pairs, others) = (pairs(one), pairs(other));
    let same_pairs = pairs.len() == others.len()
        && pairs.iter().zip(&others).all(|(one, other)| {
            [0, 1].iter().all(|at| {
                one.get(at).zip(other.get(at)).is_some_and(|(one, other)| same(one, other, by))
            })
        });
    let exact = ["text", "size", "cycle"].iter().all(|key| one.get(key) == other.get(key));
    exact
        && same_items
        && same_pairs
        && same_fields(one, other, by)
        && (by != Equality::Public || serves(one, other))
}

/// Whether the second value supports everything that the first one does: the order of its keys,
/// hashing, comparing, and being frozen.
fn serves(one: &Value, other: &Value) -> bool {
    let is_frozen = |value: &Value| value.get("frozen").is_some();
    one.get("order") == other.get("order")
        && keeps(one, other, "can")
        && (!is_frozen(one) || is_frozen(other))
}

fn same_fields(one: &Value, other: &Value, by: Equality) -> bool {
    let none = Map::new();
    let fields = |value: &'_ Value| {
        value.get("fields").and_then(Value::as_object).cloned().unwrap_or_else(|| none.clone())
    };
    let (fields, others) = (fields(one), fields(other));
    let is_seen = |name: &str| by != Equality::Public || !name.starts_with('_');
    let kept = fields.iter().filter(|(name, _)| is_seen(name));
    let all =
        kept.clone().all(|(name, one)| others.get(name).is_some_and(|other| same(one, other, by)));
    // An additional field breaks no caller, and it may be a property that recording does not call.
    all && (by != Equality::Content || fields.len() == others.len())
}

/// Whether the function was called in an unsupported way.
pub(super) fn is_misuse(outcome: &Value) -> bool {
    matches!(first(outcome).and_then(Value::as_str), Some("TypeError" | "AttributeError"))
}

/// A short description of an outcome, to end a sentence about the call.
pub(super) fn shown(outcome: &Value) -> String {
    if let Some(value) = outcome.get("gives") {
        let printed =
            outcome.get("output").and_then(Value::as_str).filter(|output| !output.is_empty());
        let printed = printed.map(|output| format!(" and prints {:?}", cut(output)));
        let promise = if outcome.get("promised").is_some() { "a promise of " } else { "" };
        return format!("gives {promise}{}{}", value_shown(value), printed.unwrap_or_default());
    }
    if let Some(name) = first(outcome).and_then(Value::as_str) {
        let later = if outcome.get("promised").is_some() { " in a promise" } else { "" };
        return format!("raises {name}{later}");
    }
    match outcome.get("exits") {
        Some(code) => format!("exits with {}", value_shown(code)),
        None => "ends the process".to_owned(),
    }
}

/// Describes two different outcomes so that the difference is visible.
pub(super) fn contrast(was: &Value, is: &Value) -> (String, String) {
    let (one, other) = (shown(was), shown(is));
    if one != other {
        return (one.replacen("gives ", "gave ", 1).replacen("raises ", "raised ", 1), other);
    }
    if !keeps(was, is, "raises") {
        return (
            format!("raised {}", listed(was, "raises")),
            format!("raises {}", listed(is, "raises")),
        );
    }
    if let Some(told) =
        was.get("gives").zip(is.get("gives")).and_then(|(was, is)| unserved(was, is))
    {
        return told;
    }
    let left = |outcome: &Value| {
        let all = outcome.get("after").and_then(Value::as_array).cloned().unwrap_or_default();
        let told: Vec<String> = all.iter().map(value_shown).collect();
        format!("({})", cut(&told.join(", ")))
    };
    (format!("left its arguments as {}", left(was)), format!("leaves them as {}", left(is)))
}

/// Finds a nested value that supports less than before.
fn unserved(was: &Value, is: &Value) -> Option<(String, String)> {
    if !serves(was, is) {
        let told = |value: &Value, verb: &str| {
            let kind = value.get("is").and_then(Value::as_str).unwrap_or_default();
            let frozen = if value.get("frozen").is_some() { "frozen " } else { "" };
            let order = value
                .get("order")
                .map(|_| format!(", its keys in the order {}", listed(value, "order")));
            let can = value.get("can").map(|_| format!(" with {}", listed(value, "can")));
            cut(&format!(
                "{verb} a {frozen}{kind}{}{}",
                order.unwrap_or_default(),
                can.unwrap_or_default()
            ))
        };
        return Some((told(was, "gave"), told(is, "gives")));
    }
    let inside = |value: &Value| -> Vec<Value> {
        let list =
            |key: &str| value.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
        let pairs = list("pairs").into_iter().filter_map(|pair| pair.get(1).cloned());
        let fields = value.get("fields").and_then(Value::as_object).cloned().unwrap_or_default();
        list("items")
            .into_iter()
            .chain(pairs)
            .chain(fields.into_iter().map(|(_, one)| one))
            .collect()
    };
    inside(was).iter().zip(inside(is)).find_map(|(was, is)| unserved(was, &is))
}

fn listed(value: &Value, key: &str) -> String {
    let all = value.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let names = all
        .iter()
        .filter_map(Value::as_str)
        .filter(|name| *name != "object" && *name != "BaseException");
    names.collect::<Vec<_>>().join(", ")
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
