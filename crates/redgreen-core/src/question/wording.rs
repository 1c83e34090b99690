//! The text of the questions. Each part has a size limit: a small model reads slowly, and forgets
//! the middle of long text.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::example::Example;
use super::strategy::{Extra, Strategy};
use super::{Question, Scene, convention, example, repair, sample};
use crate::prompt::secret;
use crate::steer::{self, USER_SAYS};
use crate::syntax::Language;
use crate::tool::digest;

/// The share of the window for the question. The rest is for the answer and the server's own
/// template.
const QUESTION_SHARE: u64 = 6;
const ANSWER_SHARE: u64 = 4;
/// Maximum tokens of a question, however large the window is.
const QUESTION_TOKENS_MAX: u64 = 4_000;
/// Maximum tokens of an answer: a file of some hundred lines.
const ANSWER_TOKENS_MAX: u64 = 4_000;
const BYTES_PER_TOKEN: u64 = 3;
/// The share of a question for the user's messages.
const MESSAGES_SHARE: usize = 6;
/// The share of a question for a test of the project.
const SAMPLE_SHARE: usize = 6;
const EXAMPLES_WANTED: usize = 5;
const FAILING_LINES_MAX: usize = 12;

/// The question for this variant.
pub(super) fn question(scene: &Scene<'_>, way: Strategy) -> Question {
    let bytes = bytes(scene);
    let (system, text, schema) = match way {
        Strategy::Examples { .. } | Strategy::OnceMore => examples(scene, bytes),
        Strategy::Behaviours { .. } => behaviours(scene, bytes),
        Strategy::TestCode { shown, .. } => test_code(scene, shown, bytes),
        Strategy::Code { shown, .. } => code(scene, shown, bytes),
    };
    put(scene, way, Vec::new(), (system, text, schema))
}

/// The same examples without their results.
pub(super) fn once_more(scene: &Scene<'_>, doubted: Vec<Example>) -> Question {
    let system = "You work out what calls return, as JSON.".to_owned();
    let mut text = wish(scene, bytes(scene));
    text.push_str("\nWork out carefully what each of these calls returns:\n");
    for (number, example) in (1..).zip(&doubted) {
        writeln!(text, "{number}. {}", example.call()).ok();
    }
    text.push_str("\nAnswer with JSON only, the results in this order: {\"results\": [ … ]}\n");
    let count = doubted.len();
    let list = json!({"type": "array", "minItems": count, "maxItems": count, "items": {}});
    let schema =
        json!({"type": "object", "properties": {"results": list}, "required": ["results"]});
    put(scene, Strategy::OnceMore, doubted, (system, text, Some(schema)))
}

fn put(
    scene: &Scene<'_>,
    way: Strategy,
    doubted: Vec<Example>,
    words: (String, String, Option<Value>),
) -> Question {
    let (system, text, schema) = words;
    let max_tokens =
        u32::try_from((scene.window / ANSWER_SHARE).min(ANSWER_TOKENS_MAX)).unwrap_or(u32::MAX);
    let schema = schema.filter(|_| scene.schemas);
    Question {
        way,
        doubted,
        system,
        text: secret::cut(&text),
        schema,
        temperature: way.warmth(),
        max_tokens,
    }
}

/// The size limit of a question.
fn bytes(scene: &Scene<'_>) -> usize {
    let tokens = (scene.window / QUESTION_SHARE).min(QUESTION_TOKENS_MAX);
    usize::try_from(tokens * BYTES_PER_TOKEN).unwrap_or(usize::MAX)
}

/// The lines of the last refusal that explain it.
pub(super) fn failing(scene: &Scene<'_>) -> String {
    let message = scene.assignment.trouble.as_ref().map_or("", |trouble| trouble.message.trim());
    message.lines().take(FAILING_LINES_MAX).collect::<Vec<_>>().join("\n")
}

fn examples(scene: &Scene<'_>, bytes: usize) -> (String, String, Option<Value>) {
    let system =
        "You write examples for tests: arguments and the exact result, as JSON.".to_owned();
    let mut text = wish(scene, bytes);
    let Some((function, parameters)) = example::subject(scene) else {
        return behaviours(scene, bytes);
    };
    let any: Map<String, Value> = parameters
        .iter()
        .map(String::as_str)
        .chain([example::RESULT])
        .map(|name| (name.to_owned(), json!({})))
        .collect();
    let names: Vec<&String> = any.keys().collect();
    let one = json!({"type": "object", "properties": any, "required": names, "additionalProperties": false});
    let list = json!({"type": "array", "minItems": 3, "maxItems": EXAMPLES_WANTED, "items": one});
    let schema =
        json!({"type": "object", "properties": {"examples": list}, "required": ["examples"]});
    writeln!(
        text,
        "\nGive {EXAMPLES_WANTED} examples of {function} with values as small and simple as possible, so that each result is \
         certain: a plain case first, then the special cases. Answer with JSON only: {{\"examples\": [{{{}: …, \"result\": …}}, \
         …]}}",
        parameters.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(": …, ")
    )
    .ok();
    (system, text, Some(schema))
}

fn behaviours(scene: &Scene<'_>, bytes: usize) -> (String, String, Option<Value>) {
    let system = "You say what a program does, as JSON. You write no code.".to_owned();
    let mut text = wish(scene, bytes);
    text.push_str(
        "\nList the behaviours to test, the simplest first, at most 4. A behaviour says what follows when, such as \
         {\"when\": \"the text is empty\", \"then\": \"the count is 0\"}. Name no files, tests or steps of work. Answer with \
         JSON only: {\"behaviours\": [{\"when\": \"…\", \"then\": \"…\"}, …]}\n",
    );
    let word = json!({"type": "string"});
    let one = json!({"type": "object", "properties": {"when": word, "then": word}, "required": ["when", "then"]});
    let list = json!({"type": "array", "minItems": 1, "maxItems": 4, "items": one});
    let schema =
        json!({"type": "object", "properties": {"behaviours": list}, "required": ["behaviours"]});
    (system, text, Some(schema))
}

fn test_code(scene: &Scene<'_>, shown: Extra, bytes: usize) -> (String, String, Option<Value>) {
    let name = name_of(scene.language());
    let system = format!("You write {name} tests. Answer with one code block and nothing else.");
    let mut text = wish(scene, bytes);
    let Some(test) = &scene.assignment.current else { return (system, text, None) };
    writeln!(
        text,
        "\nWrite one test of this behaviour: {}",
        digest::head_and_tail(&test.description, bytes / 6)
    )
    .ok();
    let function = convention::function(scene, &test.description);
    let header = function
        .as_ref()
        .and_then(|function| convention::header(scene, &test.test_file, &test.impl_file, function));
    match shown {
        Extra::Files | Extra::One => {}
        Extra::Failing => {
            writeln!(
                text,
                "\nThe last try was refused:\n{}",
                digest::head_and_tail(&failing(scene), bytes / 6)
            )
            .ok();
        }
        Extra::Filled => {
            let sample = sample::test(scene, function.as_deref(), bytes / SAMPLE_SHARE);
            writeln!(text, "\nSuch a test of another function:\n```\n{sample}\n```").ok();
        }
    }
    if let Some(header) = header {
        writeln!(text, "\nThe file {} begins like this:\n```\n{header}\n```", test.test_file).ok();
    }
    if let Some(function) = function {
        writeln!(text, "{function} is written later: import it, do not define it.").ok();
    }
    (system, text, None)
}

fn code(scene: &Scene<'_>, shown: Extra, bytes: usize) -> (String, String, Option<Value>) {
    let name = name_of(scene.language());
    let system = format!("You write {name}. Answer with one code block and nothing else.");
    let mut text = wish(scene, bytes);
    let Some(test) = &scene.assignment.current else { return (system, text, None) };
    let tests = (scene.look)(&test.test_file).unwrap_or_default();
    let now = (scene.look)(&test.impl_file).filter(|text| !text.trim().is_empty());
    let fence = |text: &str, share: usize| {
        format!("```\n{}\n```", digest::head_and_tail(text.trim_end(), bytes / share))
    };
    match shown {
        Extra::Files | Extra::Failing | Extra::Filled => {
            writeln!(
                text,
                "\nThese tests have to pass ({}):\n{}",
                test.test_file,
                fence(&tests, 4)
            )
            .ok();
        }
        Extra::One => {
            let failing = failing(scene);
            writeln!(text, "\nThis has to hold:\n{}", digest::head_and_tail(&failing, bytes / 4))
                .ok();
        }
    }
    match (shown, now) {
        (Extra::Files | Extra::Failing | Extra::One, Some(now)) => {
            writeln!(text, "\n{} is now:\n{}", test.impl_file, fence(&now, 5)).ok();
        }
        (Extra::Files | Extra::Failing | Extra::One, None) | (Extra::Filled, _) => {}
    }
    match shown {
        Extra::Files | Extra::One => {}
        Extra::Failing => {
            writeln!(
                text,
                "\nIt was refused:\n{}",
                digest::head_and_tail(&failing(scene), bytes / 6)
            )
            .ok();
        }
        Extra::Filled => {
            text.push_str("\nIn comments at the top of the file, first work out one of the tests step by step.\n");
        }
    }
    let wanted = repair::wanted(scene);
    let names =
        if wanted.is_empty() { String::new() } else { format!(" with {}", wanted.join(", ")) };
    writeln!(
        text,
        "\nWrite the whole file {}{names}: for every input, not only for those of the tests. No tests in it.",
        test.impl_file
    )
    .ok();
    (system, text, None)
}

/// The request and the user's messages.
fn wish(scene: &Scene<'_>, bytes: usize) -> String {
    let mut text = request(scene, bytes);
    // The user's latest messages count most, and space is limited.
    if let Some(messages) = steer::shown(&scene.assignment.messages) {
        writeln!(text, "{USER_SAYS}\n{}", digest::head_and_tail(&messages, bytes / MESSAGES_SHARE))
            .ok();
    }
    text
}

fn request(scene: &Scene<'_>, bytes: usize) -> String {
    format!("{}\n", digest::head_and_tail(scene.assignment.request.trim(), bytes / 5))
}

fn name_of(language: Language) -> &'static str {
    match language {
        Language::Python => "Python",
        Language::JavaScript => "JavaScript",
        Language::TypeScript | Language::Tsx => "TypeScript",
        Language::Rust => "Rust",
        Language::Go => "Go",
        Language::Java => "Java",
        Language::Other => "code",
    }
}
