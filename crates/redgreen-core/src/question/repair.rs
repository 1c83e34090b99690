//! Repairs an answer if its meaning is unambiguous: prose around the code, an unclosed fence, tests
//! in the code file, code in the test file, a wrong import. The transcript lists each repair. An
//! ambiguous answer is discarded, and the next attempt asks in another way.

use std::ops::Range;

use super::convention::{self, is_function};
use super::{Scene, TurnResult, example};
use crate::brief::blocks::Block;
use crate::prompt;
use crate::syntax::{self, Language};

/// Extracts a complete code file from an answer.
pub(super) fn code(scene: &Scene<'_>, answer: &str) -> Result<TurnResult, String> {
    let test = scene.assignment.current.as_ref().ok_or("no behaviour is chosen")?;
    let (language, mut remarks) = (scene.language(), Vec::new());
    let texts = programs(language, answer, &mut remarks)?;
    let wanted = wanted(scene);
    let cleaned: Vec<String> = texts
        .iter()
        .map(|text| without_tests(language, &test.test_file, &test.impl_file, text, &mut remarks))
        .collect();
    let defines = |text: &str, name: &String| {
        syntax::items(language, &test.impl_file, text).iter().any(|item| is_function(item, name))
    };
    let now = (scene.look)(&test.impl_file).unwrap_or_default();
    let missing: Vec<&String> =
        wanted.iter().filter(|name| !cleaned.iter().any(|text| defines(text, name))).collect();
    let useful: Vec<&String> = cleaned
        .iter()
        .filter(|text| wanted.is_empty() || wanted.iter().any(|name| defines(text, name)))
        .collect();
    let content = match useful.as_slice() {
        [] => return Err(format!("the answer does not define {}", wanted.join(", "))),
        [only] => (*only).clone(),
        several => {
            let twice = wanted
                .iter()
                .any(|name| several.iter().filter(|text| defines(text, name)).count() > 1);
            if twice {
                return Err("several versions of the code in one answer".to_owned());
            }
            remarks.push(format!("{} code blocks became one file", several.len()));
            several.iter().map(|text| text.trim_end()).collect::<Vec<_>>().join("\n\n\n")
        }
    };
    // A model that shows only new code means to keep the rest.
    let kept = missing.iter().all(|name| defines(&now, name));
    if !missing.is_empty() && !kept {
        let names: Vec<&str> = missing.iter().map(|name| name.as_str()).collect();
        return Err(format!("the answer does not define {}", names.join(", ")));
    }
    let (mut content, joined) = with_the_rest(language, &test.impl_file, &now, &content);
    remarks.extend(joined);
    if let Some(public) = syntax::published(language, &content, &wanted) {
        remarks.push(format!("made {} public: the tests import it", wanted.join(", ")));
        content = public;
    }
    let content = format!("{}\n", content.trim());
    Ok(TurnResult {
        files: vec![Block { path: test.impl_file.clone(), content }],
        answer: String::new(),
        remarks,
    })
}

/// Extracts a test file from an answer.
pub(super) fn test(scene: &Scene<'_>, answer: &str) -> Result<TurnResult, String> {
    let test = scene.assignment.current.as_ref().ok_or("no behaviour is chosen")?;
    let (language, mut remarks) = (scene.language(), Vec::new());
    let texts = programs(language, answer, &mut remarks)?;
    let function = convention::function(scene, &test.description);
    let has_test =
        |text: &str| syntax::items(language, &test.test_file, text).iter().any(|item| item.is_test);
    let with_tests: Vec<&String> = texts.iter().filter(|text| has_test(text)).collect();
    let text = match (with_tests.as_slice(), texts.as_slice()) {
        ([only], _) => (*only).clone(),
        ([], [only]) => wrapped(scene, only, function.as_deref(), &mut remarks)
            .ok_or("there is no test in the answer")?,
        ([], _) => return Err("there is no test in the answer".to_owned()),
        _ => return Err("several tests in several blocks".to_owned()),
    };
    let text = match &function {
        Some(function) => {
            let text = without_code(language, &test.test_file, function, &text, &mut remarks);
            imported(scene, &test.test_file, &test.impl_file, function, text, &mut remarks)
        }
        None => text,
    };
    let now = (scene.look)(&test.test_file).filter(|text| !text.trim().is_empty());
    let content = now.map_or_else(|| text.clone(), |now| prompt::added(&now, &text));
    let content = format!("{}\n", content.trim());
    Ok(TurnResult {
        files: vec![Block { path: test.test_file.clone(), content }],
        answer: String::new(),
        remarks,
    })
}

/// The names that the tests import from the code file and that the code has to define.
pub(super) fn wanted(scene: &Scene<'_>) -> Vec<String> {
    let Some(test) = &scene.assignment.current else { return Vec::new() };
    let text = (scene.look)(&test.test_file).unwrap_or_default();
    let stem = test
        .impl_file
        .rsplit('/')
        .next()
        .and_then(|name| name.split('.').next())
        .unwrap_or_default();
    let is_ours = |import: &syntax::Import| {
        let last = import.module.rsplit(['/', '.', ':']).find(|part| {
            !part.is_empty() && Language::of_path(&format!("x.{part}")) == Language::Other
        });
        last == Some(stem) || stem == "lib"
    };
    let imports = syntax::imports(scene.language(), &text).into_iter().filter(is_ours);
    let mut names: Vec<String> = imports
        .flat_map(|import| import.names)
        .filter(|name| name != "*" && name != "default")
        .collect();
    names.sort();
    names.dedup();
    names
}

/// All texts of the answer that are valid programs of the language.
fn programs(
    language: Language,
    answer: &str,
    remarks: &mut Vec<String>,
) -> Result<Vec<String>, String> {
    let fences = fences(answer);
    if fences.is_empty() {
        if syntax::parses(language, answer) {
            remarks.push("the answer has no code fence: all of it is code".to_owned());
            return Ok(vec![answer.to_owned()]);
        }
        return Err("there is no code in the answer".to_owned());
    }
    let all = fences.len();
    if fences.iter().any(|fence| !fence.closed) {
        remarks.push(
            "the last code fence does not end: its code goes to the end of the answer".to_owned(),
        );
    }
    let good: Vec<String> = fences
        .into_iter()
        .map(|fence| fence.text)
        .filter(|text| syntax::parses(language, text))
        .collect();
    match good.len() {
        0 => Err("the code of the answer cannot be read".to_owned()),
        count => {
            if count < all {
                remarks.push(format!(
                    "left out {} blocks that are not code of the project",
                    all - count
                ));
            }
            Ok(good)
        }
    }
}

struct Fence {
    text: String,
    closed: bool,
}

fn fences(answer: &str) -> Vec<Fence> {
    let mut found: Vec<Fence> = Vec::new();
    let mut open: Option<String> = None;
    for line in answer.lines() {
        let is_fence = line.trim_start().starts_with("```");
        match &mut open {
            Some(_) if is_fence => {
                found.extend(open.take().map(|text| Fence { text, closed: true }));
            }
            Some(text) => {
                text.push_str(line);
                text.push('\n');
            }
            None if is_fence => open = Some(String::new()),
            None => {}
        }
    }
    found.extend(open.map(|text| Fence { text, closed: false }));
    found.retain(|fence| !fence.text.trim().is_empty());
    found
}

/// The code without tests, usage examples, and an import of itself.
fn without_tests(
    language: Language,
    test_file: &str,
    impl_file: &str,
    text: &str,
    remarks: &mut Vec<String>,
) -> String {
    let tests: Vec<Range<usize>> = outermost(
        syntax::items(language, test_file, text)
            .into_iter()
            .filter(|item| item.is_test)
            .map(|item| item.span),
    );
    let used = syntax::loose(language, text);
    let stem =
        impl_file.rsplit('/').next().and_then(|name| name.split('.').next()).unwrap_or_default();
    let own = syntax::imports(language, text)
        .into_iter()
        .filter(|import| import.module.rsplit(['/', '.', ':']).next() == Some(stem));
    let own: Vec<Range<usize>> = own.filter_map(|import| line(text, import.line)).collect();
    for (spans, what) in
        [(&tests, "tests"), (&used, "examples of use"), (&own, "an import of itself")]
    {
        if !spans.is_empty() {
            remarks.push(format!("took {what} out of the code"));
        }
    }
    cut(text, tests.into_iter().chain(used).chain(own).collect())
}

/// The test without the function under test, which is written later.
fn without_code(
    language: Language,
    test_file: &str,
    function: &str,
    text: &str,
    remarks: &mut Vec<String>,
) -> String {
    let items = syntax::items(language, test_file, text);
    let code = outermost(
        items
            .into_iter()
            .filter(|item| !item.is_test && is_function(item, function))
            .map(|item| item.span),
    );
    if code.is_empty() {
        return text.to_owned();
    }
    remarks.push(format!("took {function} out of the test file: it is written in GREEN"));
    cut(text, code)
}

/// Wraps bare assertions into a test.
fn wrapped(
    scene: &Scene<'_>,
    text: &str,
    function: Option<&str>,
    remarks: &mut Vec<String>,
) -> Option<String> {
    let language = scene.language();
    let checks: Vec<&str> =
        syntax::loose(language, text).into_iter().filter_map(|span| text.get(span)).collect();
    let checks: Vec<&str> =
        checks.into_iter().filter(|check| check.starts_with("assert")).collect();
    (language == Language::Python && !checks.is_empty()).then(|| {
        remarks.push("put the assertions of the answer into a test".to_owned());
        let name = format!("test_{}", function.unwrap_or("behaviour"));
        example::python_test(scene.framework, &name, &checks, "")
    })
}

/// The test with the right import in place of a wrong one.
fn imported(
    scene: &Scene<'_>,
    test_file: &str,
    impl_file: &str,
    function: &str,
    text: String,
    remarks: &mut Vec<String>,
) -> String {
    let Some(header) = convention::header(scene, test_file, impl_file, function) else {
        return text;
    };
    let known = (scene.look)(test_file).unwrap_or_default();
    let has = |line: &str| text.lines().chain(known.lines()).any(|there| there.trim() == line);
    let missing: Vec<&str> =
        header.lines().filter(|line| !line.trim().is_empty() && !has(line)).collect();
    if missing.is_empty() {
        return text;
    }
    let takes = |import: &syntax::Import| import.names.iter().any(|name| name == function);
    let wrong = syntax::imports(scene.language(), &text).into_iter().filter(takes);
    let wrong: Vec<Range<usize>> = wrong.filter_map(|import| line(&text, import.line)).collect();
    remarks.push(format!("put the import of {function} right"));
    format!("{}\n{}", missing.join("\n"), cut(&text, wrong))
}

/// A file with its items replaced by those of the answer; other items stay.
fn with_the_rest(
    language: Language,
    path: &str,
    now: &str,
    answer: &str,
) -> (String, Option<String>) {
    let new = syntax::items(language, path, answer);
    let old = syntax::items(language, path, now);
    let outer: Vec<Range<usize>> = outermost(old.iter().map(|item| item.span.clone()));
    let left_out = old.iter().filter(|item| {
        outer.contains(&item.span) && !new.iter().any(|other| other.name == item.name)
    });
    let left_out: Vec<&str> = left_out.filter_map(|item| now.get(item.span.clone())).collect();
    if left_out.is_empty() {
        return (answer.to_owned(), None);
    }
    let remark =
        format!("kept {} definitions of {path} that the answer leaves out", left_out.len());
    (format!("{}\n\n\n{}", answer.trim_end(), left_out.join("\n\n\n")), Some(remark))
}

pub(super) fn outermost(spans: impl Iterator<Item = Range<usize>>) -> Vec<Range<usize>> {
    let mut kept: Vec<Range<usize>> = Vec::new();
    for span in spans {
        if kept.last().is_none_or(|last| span.start >= last.end) {
            kept.push(span);
        }
    }
    kept
}

/// The range of a line, starting at 1, with its line end.
fn line(text: &str, number: u32) -> Option<Range<usize>> {
    let before = usize::try_from(number).ok()?.checked_sub(1)?;
    let start: usize = text.split_inclusive('\n').take(before).map(str::len).sum();
    let length = text.split_inclusive('\n').nth(before)?.len();
    Some(start..start + length)
}

/// The text without these ranges.
fn cut(text: &str, mut spans: Vec<Range<usize>>) -> String {
    spans.sort_by_key(|span| span.start);
    let (mut kept, mut at) = (String::new(), 0);
    for span in spans {
        kept.push_str(text.get(at..span.start).unwrap_or_default());
        at = at.max(span.end);
    }
    kept.push_str(text.get(at..).unwrap_or_default());
    kept
}
