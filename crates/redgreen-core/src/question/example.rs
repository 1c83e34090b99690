//! Examples: a call with literal arguments and its result. They are read from prose in a request or
//! a box, and from a model's JSON. Testing them needs no model.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::Scene;
use super::convention;
use crate::agent::last_object;
use crate::brief::TestCase;
use crate::syntax::{self, Language};

/// Maximum number of examples per behaviour.
pub(super) const EXAMPLES_MAX: usize = 6;
/// A single example is not enough.
const AGREED_MIN: usize = 2;
/// Longer calls or results are data, not examples.
const VALUE_BYTES_MAX: usize = 160;
/// Words between a call and its result; other words could mean that they differ.
const RELATIONS: [&str; 10] =
    ["===", "==", "=>", "->", "→", "=", "is", "returns", "gives", "equals"];
/// Literals that are words, in the supported languages.
const NAMED_VALUES: [&str; 8] =
    ["True", "False", "None", "true", "false", "null", "undefined", "nil"];
/// Significant decimals: a computed decimal is rarely exactly the written one.
const DECIMALS: usize = 9;
/// Maximum number of sentences in a list.
const BEHAVIOURS_MAX: usize = 5;

/// A call and its result, in the syntax of the project's language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Example {
    pub(super) function: String,
    pub(super) arguments: String,
    pub(super) result: String,
}

impl Example {
    pub(super) fn call(&self) -> String {
        format!("{}({})", self.function, self.arguments)
    }

    /// The text in a box, which [`written`] reads back.
    pub(super) fn words(&self) -> String {
        format!("{} == {}", self.call(), self.result)
    }
}

/// All examples in a text.
pub(super) fn written(text: &str) -> Vec<Example> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(open) = rest.find('(') {
        let (before, from) = rest.split_at(open);
        let after = from.get(1..).unwrap_or_default();
        rest = match example(before, after) {
            Some((example, rest)) => {
                found.push(example);
                rest
            }
            None => after,
        };
    }
    found
}

/// The first function that a text names with parameters: `clamp(value, low, high)`.
pub(super) fn signature(text: &str) -> Option<(String, Vec<String>)> {
    text.match_indices('(').find_map(|(open, _)| {
        let function = last_name(text.get(..open)?)?;
        let (inside, _) = text.get(open + 1..)?.split_once(')')?;
        let parameters: Vec<String> = inside
            .split(',')
            .map(|name| name.split([':', '=']).next().unwrap_or("").trim().to_owned())
            .collect();
        let are_names = parameters.iter().all(|name| is_name(name));
        are_names.then_some((function, parameters))
    })
}

/// The examples in a model's answer that match the function.
pub(super) fn read(scene: &Scene<'_>, answer: &str) -> Result<Vec<Example>, String> {
    #[derive(Deserialize)]
    struct Answer {
        examples: Vec<Map<String, Value>>,
    }
    let answer =
        last_object::<Answer>(answer).ok_or("the answer is not the JSON that was asked for")?;
    let (function, parameters) = subject(scene).ok_or("the request names no function")?;
    let language = scene.language();
    let fits = |mut fields: Map<String, Value>| {
        let result = literal(language, &fields.remove(RESULT)?)?;
        let arguments: Option<Vec<String>> =
            parameters.iter().map(|name| literal(language, fields.get(name)?)).collect();
        let arguments = arguments?.join(", ");
        let is_short = arguments.len() <= VALUE_BYTES_MAX && result.len() <= VALUE_BYTES_MAX;
        is_short.then(|| Example { function: function.clone(), arguments, result })
    };
    let mut examples: Vec<Example> = Vec::new();
    for example in answer.examples.into_iter().filter_map(fits) {
        // Of two results for the same call, at least one is wrong.
        if let Some(known) = examples.iter().position(|known| known.arguments == example.arguments)
        {
            if examples.get(known).is_some_and(|known| known.result != example.result) {
                examples.remove(known);
            }
        } else {
            examples.push(example);
        }
    }
    examples.truncate(EXAMPLES_MAX);
    if examples.is_empty() {
        Err(format!("no example of {function} in the answer"))
    } else {
        Ok(examples)
    }
}

/// The examples whose results the answer confirms.
pub(super) fn agreed(
    scene: &Scene<'_>,
    doubted: &[Example],
    answer: &str,
) -> Result<Vec<Example>, String> {
    #[derive(Deserialize)]
    struct Answer {
        results: Vec<Value>,
    }
    let answer =
        last_object::<Answer>(answer).ok_or("the answer is not the JSON that was asked for")?;
    let is_same = |example: &Example, result: &Value| {
        let same = literal(scene.language(), result).is_some_and(|result| result == example.result);
        // `2` and `2.0` are the same number.
        same || example
            .result
            .parse::<f64>()
            .ok()
            .zip(result.as_f64())
            .is_some_and(|(one, other)| one == other)
    };
    let pairs = doubted.iter().zip(&answer.results);
    let agreed: Vec<Example> = pairs
        .filter(|(example, result)| is_same(example, result))
        .map(|(example, _)| example.clone())
        .collect();
    if agreed.len() < AGREED_MIN.min(doubted.len()) {
        return Err(format!(
            "of {} examples, {} got the same result twice",
            doubted.len(),
            agreed.len()
        ));
    }
    Ok(agreed)
}

/// The key of the result in an example.
pub(super) const RESULT: &str = "result";

/// The function of this turn, with its parameters.
pub(super) fn subject(scene: &Scene<'_>) -> Option<(String, Vec<String>)> {
    let behaviour = scene.assignment.current.as_ref().and_then(|test| signature(&test.description));
    behaviour.or_else(|| signature(&scene.assignment.request))
}

/// Reads boxes from sentences in the requested form. Chores are dropped: they have no outcome, and
/// name files.
pub(super) fn sentences(answer: &str) -> Result<Vec<String>, String> {
    #[derive(Deserialize)]
    struct Answer {
        behaviours: Vec<Behaviour>,
    }
    #[derive(Deserialize)]
    struct Behaviour {
        when: String,
        then: String,
    }
    let answer =
        last_object::<Answer>(answer).ok_or("the answer is not the JSON that was asked for")?;
    let one_line = |text: &str| {
        text.split_whitespace().collect::<Vec<_>>().join(" ").trim_end_matches('.').to_owned()
    };
    let mut boxes: Vec<String> = Vec::new();
    for Behaviour { when, then } in answer.behaviours {
        let (when, then) = (one_line(&when), one_line(&then));
        let names_file = [&when, &then].iter().any(|text| {
            text.split_whitespace().any(|word| {
                Language::of_path(word.trim_matches(['`', '"', '\'', '.', ','])) != Language::Other
            })
        });
        let behaviour = format!("{when}: {then}");
        if !when.is_empty() && !then.is_empty() && !names_file && !boxes.contains(&behaviour) {
            boxes.push(behaviour);
        }
    }
    boxes.truncate(BEHAVIOURS_MAX);
    if boxes.is_empty() {
        return Err(
            "no behaviour in the answer; a behaviour says what follows when, such as \"an empty text: 0\"".to_owned()
        );
    }
    Ok(boxes)
}

/// The test file with a test of these examples after its existing content.
pub(super) fn test(
    scene: &Scene<'_>,
    case: &TestCase,
    examples: &[Example],
    now: Option<&str>,
) -> Option<String> {
    let function = &examples.first()?.function;
    let language = scene.language();
    let header = convention::header(scene, &case.test_file, &case.impl_file, function)?;
    let now = now.map(str::trim_end).filter(|text| !text.is_empty());
    let name = free_name(language, &case.test_file, now.unwrap_or_default(), function);
    let checks: Vec<String> =
        examples.iter().map(|example| check(language, scene.framework, example)).collect();
    let test = match language {
        Language::Python => {
            let checks: Vec<&str> = checks.iter().map(String::as_str).collect();
            python_test(scene.framework, &name, &checks, now.unwrap_or_default())
        }
        Language::Rust => format!("#[test]\nfn {name}() {{\n    {}\n}}\n", checks.join("\n    ")),
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            format!("test(\"{name}\", () => {{\n  {}\n}});\n", checks.join("\n  "))
        }
        Language::Go | Language::Java | Language::Other => return None,
    };
    let gap = if language == Language::Python { "\n\n\n" } else { "\n\n" };
    let Some(now) = now else { return Some(format!("{header}{gap}{test}")) };
    let is_known = |line: &&str| line.is_empty() || now.lines().any(|known| known == *line);
    let missing: Vec<&str> = header.lines().filter(|line| !is_known(line)).collect();
    let top = if missing.is_empty() { String::new() } else { format!("{}\n", missing.join("\n")) };
    Some(format!("{top}{now}{gap}{test}"))
}

/// A test with these assertions; in unittest in a class that the file does not define yet.
pub(super) fn python_test(framework: &str, name: &str, checks: &[&str], now: &str) -> String {
    if framework != convention::UNITTEST {
        return format!("def {name}():\n    {}\n", checks.join("\n    "));
    }
    let words = name.split('_').map(|word| {
        let (first, rest) = word.split_at_checked(1).unwrap_or((word, ""));
        first.to_uppercase() + rest
    });
    let class: String = words.collect();
    let is_free = |class: &String| !now.contains(&format!("class {class}("));
    let class = std::iter::once(class.clone())
        .chain((2..).map(|number| format!("{class}{number}")))
        .find(is_free)
        .unwrap_or(class);
    let checks = checks.join("\n        ");
    format!("class {class}(unittest.TestCase):\n    def {name}(self):\n        {checks}\n")
}

/// One assertion.
fn check(language: Language, framework: &str, example: &Example) -> String {
    let Example { function, arguments, result } = example;
    let is_decimal = result.parse::<f64>().is_ok() && result.contains('.');
    let is_plain = NAMED_VALUES.contains(&result.as_str()) || !result.starts_with(['[', '{']);
    match language {
        Language::Python if framework == convention::UNITTEST => {
            let check = if is_decimal {
                "assertAlmostEqual"
            } else if NAMED_VALUES.contains(&result.as_str()) {
                "assertIs"
            } else {
                "assertEqual"
            };
            format!("self.{check}({function}({arguments}), {result})")
        }
        Language::Python if is_decimal => {
            format!("assert round({function}({arguments}), {DECIMALS}) == {result}")
        }
        Language::Python if NAMED_VALUES.contains(&result.as_str()) => {
            format!("assert {function}({arguments}) is {result}")
        }
        Language::Rust if is_decimal => {
            format!("assert!(({function}({arguments}) - {result}).abs() < 1e-9);")
        }
        Language::Rust => format!("assert_eq!({function}({arguments}), {result});"),
        Language::JavaScript | Language::TypeScript | Language::Tsx if framework == "node" => {
            format!("assert.deepStrictEqual({function}({arguments}), {result});")
        }
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            let matcher = if is_decimal {
                "toBeCloseTo"
            } else if is_plain {
                "toBe"
            } else {
                "toEqual"
            };
            format!("expect({function}({arguments})).{matcher}({result});")
        }
        Language::Python | Language::Go | Language::Java | Language::Other => {
            format!("assert {function}({arguments}) == {result}")
        }
    }
}

/// An unused name for a test.
fn free_name(language: Language, path: &str, text: &str, function: &str) -> String {
    let known = syntax::items(language, path, text);
    let start =
        if language == Language::Rust { function.to_owned() } else { format!("test_{function}") };
    // In Rust, a test of the same name would shadow the function.
    let start = if language == Language::Rust { format!("{start}_by_example") } else { start };
    let is_free = |name: &String| known.iter().all(|item| item.name != *name);
    std::iter::once(start.clone())
        .chain((2..).map(|number| format!("{start}_{number}")))
        .find(is_free)
        .unwrap_or(start)
}

/// Writes a JSON value in the syntax of a language.
fn literal(language: Language, value: &Value) -> Option<String> {
    let inner = |value: &Value| literal(language, value);
    let list = |values: &[Value]| {
        values.iter().map(inner).collect::<Option<Vec<_>>>().map(|all| all.join(", "))
    };
    let is_python = language == Language::Python;
    Some(match value {
        Value::Null if language == Language::Rust => return None,
        Value::Null => if is_python { "None" } else { "null" }.to_owned(),
        Value::Bool(true) if is_python => "True".to_owned(),
        Value::Bool(false) if is_python => "False".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => serde_json::to_string(text).ok()?,
        Value::Array(values) if language == Language::Rust => format!("vec![{}]", list(values)?),
        Value::Array(values) => format!("[{}]", list(values)?),
        Value::Object(_) if language == Language::Rust => return None,
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| {
                Some(format!("{}: {}", serde_json::to_string(name).ok()?, inner(value)?))
            };
            format!("{{{}}}", fields.iter().map(field).collect::<Option<Vec<_>>>()?.join(", "))
        }
    })
}

/// The example whose call starts here, and the text after it.
fn example<'t>(before: &str, after: &'t str) -> Option<(Example, &'t str)> {
    let function = last_name(before)?;
    let inside = values(after, ')')?;
    let (arguments, rest) = after.split_at(inside);
    let rest = rest.get(1..)?.trim_start_matches('`').trim_start();
    let relation = RELATIONS.iter().find(|relation| {
        let behind = rest.strip_prefix(**relation).and_then(|rest| rest.chars().next());
        behind
            .is_some_and(|next| !relation.ends_with(char::is_alphabetic) || !next.is_alphanumeric())
    })?;
    let rest = rest.strip_prefix(*relation)?.trim_start().trim_start_matches('`');
    let end = value(rest)?;
    let (result, rest) = rest.split_at(end);
    // `f(1) is 2 more than f(0)` and `f(1) == 2 * 3` mean something else.
    let behind = rest.trim_start_matches('`').trim_start();
    let is_over = behind.is_empty()
        || behind.starts_with([',', ';', '.', ')', ':', '!', '?', '—', '–'])
        || rest.trim_start_matches([' ', '`', '\t']).starts_with(['\n', '\r'])
        || follows(behind);
    let fits = arguments.len() <= VALUE_BYTES_MAX && result.len() <= VALUE_BYTES_MAX;
    let example =
        Example { function, arguments: arguments.trim().to_owned(), result: result.to_owned() };
    (is_over && fits).then_some((example, rest))
}

/// `f(1) is 2 and f(2) is 3`: another call follows after one word.
fn follows(behind: &str) -> bool {
    let behind = behind.split_once(' ').map_or(behind, |(_, rest)| rest);
    let name = behind.trim_start_matches('`');
    let end =
        name.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(name.len());
    end > 0 && name.get(end..).is_some_and(|rest| rest.starts_with('('))
}

/// The length of the literal at the start of a text.
fn value(text: &str) -> Option<usize> {
    let first = text.chars().next()?;
    match first {
        '"' | '\'' => string(text, first),
        '[' | '(' | '{' => {
            let close = match first {
                '[' => ']',
                '(' => ')',
                _ => '}',
            };
            values(text.get(1..)?, close).map(|length| length + 2)
        }
        '-' | '+' | '0'..='9' => number(text),
        _ => {
            let end = text
                .find(|letter: char| !letter.is_alphanumeric() && letter != '_')
                .unwrap_or(text.len());
            text.get(..end).filter(|word| NAMED_VALUES.contains(word)).map(str::len)
        }
    }
}

/// The offset of the bracket that closes a list of literals.
fn values(text: &str, close: char) -> Option<usize> {
    let mut at = 0;
    loop {
        let rest = text.get(at..)?;
        let space = rest.len() - rest.trim_start().len();
        let rest = rest.trim_start();
        at += space;
        if rest.starts_with(close) {
            return Some(at);
        }
        at += if rest.starts_with([',', ':']) { 1 } else { value(rest)? };
    }
}

fn string(text: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    text.char_indices().skip(1).find_map(|(at, letter)| {
        let ends = letter == quote && !escaped;
        escaped = letter == '\\' && !escaped;
        ends.then(|| at + letter.len_utf8())
    })
}

fn number(text: &str) -> Option<usize> {
    let digits = text.trim_start_matches(['-', '+']);
    let sign = text.len() - digits.len();
    let end = digits
        .find(|letter: char| !letter.is_ascii_digit() && letter != '.' && letter != '_')
        .unwrap_or(digits.len());
    let number = digits.get(..end)?.trim_end_matches('.');
    let joined = digits
        .get(number.len()..)?
        .starts_with(|letter: char| letter.is_alphanumeric() || letter == '%');
    (sign <= 1 && !number.is_empty() && number.matches('.').count() <= 1 && !joined)
        .then_some(sign + number.len())
}

/// The name at the end of a text.
fn last_name(text: &str) -> Option<String> {
    let start =
        text.rfind(|letter: char| !letter.is_alphanumeric() && letter != '_').map_or(0, |at| {
            at + text.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8)
        });
    let name = text.get(start..)?;
    // A method needs an object, which an example does not have.
    (is_name(name) && !text.get(..start)?.ends_with('.')).then(|| name.to_owned())
}

fn is_name(text: &str) -> bool {
    text.starts_with(|letter: char| letter.is_alphabetic() || letter == '_')
        && text.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
}
