//! Withheld examples of code that is built or translated before it can be called: a test of ours makes the calls in the
//! project's own runner, and writes down what came of each. What was expected is not in it.

mod rust;

use serde_json::{Value, json};

use super::beside::Beside;
use super::examples::{Driver, Example};
use super::{Experiment, Material, Question, Tree, Way};
use crate::framework::invoke::Selection;
use crate::syntax::{self, Language};

const NAME: &str = "redgreen_inquiry";
const SCRIPT: &str = concat!(include_str!("answer.mjs"), include_str!("inquiry.mjs"));
const RUST: &str = include_str!("inquiry.rs.in");
const GO: &str = include_str!("inquiry.go.in");
/// As long as a call of another driver may take; runners would stop a test before.
const CALL_MS_MAX: u32 = 10_000;

/// The examples of one language, and the test that asks them.
#[derive(Debug)]
pub struct Inquiry {
    /// None where nothing can be asked.
    pub experiment: Option<Experiment>,
    asked: Vec<usize>,
    /// What is known without asking: calls of what is not there, or of what cannot be given what they give.
    missing: Vec<(usize, String)>,
}

/// What one example needs to be asked.
struct Ask<'a> {
    index: usize,
    path: &'a str,
    function: &'a str,
    args: &'a [Value],
}

/// Nothing where no example is for that driver.
pub fn inquiry(material: &Material<'_>, tree: Tree, examples: &[Example], driver: Driver) -> Option<Inquiry> {
    let text = match tree {
        Tree::Base | Tree::Earlier => material.before,
        Tree::Head | Tree::AsIs => material.now,
    };
    let own = examples.iter().enumerate().filter(|(_, example)| example.driver() == Some(driver));
    let mut asks: Vec<Ask<'_>> = Vec::new();
    let mut missing = Vec::new();
    for (index, example) in own {
        let (path, function) = example.place();
        let ask = Ask { index, path, function, args: &example.args };
        match (text)(path) {
            Some(source) => match why_not(driver, &source, &ask) {
                None => asks.push(ask),
                Some(why) => missing.push((index, why)),
            },
            None => missing.push((index, format!("no file {path}"))),
        }
    }
    let asked: Vec<usize> = asks.iter().map(|ask| ask.index).collect();
    if asked.is_empty() && missing.is_empty() {
        return None;
    }
    let (edits, files) = match driver {
        Driver::Rust => in_rust(&asks, text),
        Driver::Go => in_go(&asks, text),
        Driver::Script => in_script(material, &asks),
        Driver::Python | Driver::Node => return None,
    };
    let experiment = (!edits.is_empty()).then(|| Experiment {
        question: Question::Withheld,
        tree,
        edits,
        way: Way::Tests(Selection::Files(files)),
        removed: Vec::new(),
        time: 0,
        variables: Vec::new(),
        about: Vec::new(),
        what: "the withheld examples".to_owned(),
        otherwise: None,
    });
    Some(Inquiry { experiment, asked, missing })
}

impl Inquiry {
    /// What came of the calls, as the other drivers tell it; `log` is what the test wrote down.
    pub fn said(&self, log: &str) -> String {
        let lines: Vec<Value> = log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let begun = lines.iter().any(|line| line.get("begun").is_some());
        let unasked = self.asked.iter().filter(|_| !begun).map(|index| (*index, "the call does not build".to_owned()));
        let missing = unasked.chain(self.missing.iter().cloned());
        let mut said: Vec<Value> = missing.map(|(index, why)| json!({ "index": index, "missing": why })).collect();
        said.extend(lines.into_iter().filter(|line| line.get("index").is_some()).map(rust::read));
        said.iter().map(|line| format!("{line}\n")).collect()
    }
}

/// What keeps a call from being made, as far as the text tells.
fn why_not(driver: Driver, source: &str, ask: &Ask<'_>) -> Option<String> {
    let language = match driver {
        Driver::Rust => Language::Rust,
        Driver::Go => Language::Go,
        // Modules tell what they hold when they are loaded.
        Driver::Script | Driver::Python | Driver::Node => return None,
    };
    let functions = syntax::signatures(language, source);
    let Some(found) = functions.iter().find(|known| known.name == ask.function) else {
        return Some(format!("no function {}", ask.function));
    };
    let told = match (found.generic, found.awaited) {
        (true, _) => Some("it takes types as well".to_owned()),
        (false, true) => Some("it has to be awaited".to_owned()),
        (false, false) => None,
    };
    let unfit = || Some("it takes something else".to_owned());
    let fits = driver == Driver::Go || rust::arguments(found, ask.args).is_some();
    told.or_else(|| if fits { None } else { unfit() })
}

type Edits = (Vec<(String, String)>, Vec<String>);

/// A module in the very file, from where everything in it can be called.
fn in_rust(asks: &[Ask<'_>], text: &dyn Fn(&str) -> Option<String>) -> Edits {
    by_place(
        asks,
        |ask| ask.path.to_owned(),
        |path, asks| {
            let source = text(path)?;
            let functions = syntax::signatures(Language::Rust, &source);
            let calls = asks.iter().filter_map(|ask| {
                let found = functions.iter().find(|known| known.name == ask.function)?;
                let args = rust::arguments(found, ask.args)?;
                Some(format!("ask({}, || super::{}({args}));", ask.index, ask.function))
            });
            let calls: Vec<String> = calls.collect();
            Some((path.to_owned(), format!("{source}{}", RUST.replace("CALLS", &calls.join("\n        ")))))
        },
    )
}

/// A test in the package of the file.
fn in_go(asks: &[Ask<'_>], text: &dyn Fn(&str) -> Option<String>) -> Edits {
    let folder = |ask: &Ask<'_>| ask.path.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
    by_place(asks, folder, |folder, asks| {
        let source = text(asks.first()?.path)?;
        let package = source.lines().find_map(|line| line.trim().strip_prefix("package "))?;
        let package = package.split_whitespace().next()?;
        let call = |ask: &&Ask<'_>| {
            let given = Value::Array(ask.args.to_vec()).to_string();
            format!("redgreenAsk({}, {}, {})", ask.index, ask.function, Value::String(given))
        };
        let calls: Vec<String> = asks.iter().map(call).collect();
        let text = GO.replace("PACKAGE", package).replace("CALLS", &calls.join("\n\t"));
        Some((format!("{folder}{NAME}_test.go"), text))
    })
}

/// One edit for each place, and the files in which its tests are.
fn by_place(
    asks: &[Ask<'_>],
    place: impl Fn(&Ask<'_>) -> String,
    edit: impl Fn(&str, &[&Ask<'_>]) -> Option<(String, String)>,
) -> Edits {
    let mut places: Vec<String> = asks.iter().map(&place).collect();
    places.sort_unstable();
    places.dedup();
    let edits = places.iter().filter_map(|here| {
        let own: Vec<&Ask<'_>> = asks.iter().filter(|ask| place(ask) == *here).collect();
        edit(here, &own)
    });
    let edits: Vec<(String, String)> = edits.collect();
    let files = edits.iter().map(|(path, _)| path.clone()).collect();
    (edits, files)
}

/// A test beside another one, which shows how tests are written here.
fn in_script(material: &Material<'_>, asks: &[Ask<'_>]) -> Edits {
    let tests = material.paths.iter().filter(|path| Language::of_path(path).is_script());
    let tests = tests.filter(|path| material.is_test(path));
    let mut written = tests.filter_map(|path| Some((path, (material.now)(path)?)));
    let has_tests =
        |path: &str, source: &str| syntax::items(Language::of_path(path), path, source).iter().any(|item| item.is_test);
    let Some((test, source)) = written.find(|(path, source)| has_tests(path, source)) else { return Edits::default() };
    let beside = Beside { path: test, source: &source };
    // A file that says `require` everywhere is no module, and may not say `import`.
    let required = source.contains("require(") && !source.contains("import ");
    let is_node = beside.runner() == Some("node:test");
    let calls = asks.iter().map(|ask| {
        let module = relative(test, if is_node { ask.path } else { without_ending(ask.path) });
        let args = Value::Array(ask.args.to_vec());
        format!("  [{}, () => import(\"{module}\"), {}, {args}],\n", ask.index, Value::from(ask.function))
    });
    let calls: String = calls.collect();
    let limit = if is_node { String::new() } else { format!(", {CALL_MS_MAX}") };
    let mut text = beside.opening(required);
    text.push_str(SCRIPT);
    text.push_str(&format!("\n{}(\"{NAME}\", () => inquire([\n{calls}]){limit});\n", beside.word()));
    let path = beside.named(NAME);
    (vec![(path.clone(), text)], vec![path])
}

/// As TypeScript and its runners name a module.
pub(super) fn without_ending(path: &str) -> &str {
    [".d.ts", ".ts", ".tsx", ".mts", ".cts", ".jsx"].iter().find_map(|ending| path.strip_suffix(ending)).unwrap_or(path)
}

/// The way from a file to another.
pub(super) fn relative(from: &str, to: &str) -> String {
    let folders: Vec<&str> = from.split('/').collect();
    let (_, folders) = folders.split_last().unwrap_or((&"", &[]));
    let parts: Vec<&str> = to.split('/').collect();
    let shared = folders.iter().zip(&parts).take_while(|(one, other)| one == other).count();
    let up = "../".repeat(folders.len() - shared);
    let down = parts.get(shared..).unwrap_or_default().join("/");
    if up.is_empty() { format!("./{down}") } else { format!("{up}{down}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_is_named_by_the_way_to_it() {
        for (from, to, way) in [
            ("add.test.ts", "add", "./add"),
            ("tests/add.test.ts", "src/add", "../src/add"),
            ("src/add.test.ts", "src/lib/add", "./lib/add"),
            ("a/b/c.test.ts", "a/d/e", "../d/e"),
        ] {
            assert_eq!(relative(from, to), way);
        }
    }
}
