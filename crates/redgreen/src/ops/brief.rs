//! What to build, in every form: a sentence, a specification, a task, a design with context files.
//! Read and checked completely before anything is created.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use redgreen_core::artifact::TestFile;
use redgreen_core::brief::node::{Node, Syntax};
use redgreen_core::brief::red_artifact::{self, RedArtifact};
use redgreen_core::brief::spec::SpecResult;
use redgreen_core::brief::{Brief, Problem, design, files_to_read, spec, task};
use redgreen_core::guard::{Refusal, TOKENS_MAX, TOKENS_PER_REQUEST};
use redgreen_core::task::Task;
use redgreen_core::text::shell_word;

use crate::engine::Project;
use crate::failure::Failure;
use crate::guard::{self, ContextFiles};

/// A longer request belongs in a file.
const REQUEST_CHARS_MAX: usize = 100_000;
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The form on the command line.
#[derive(Clone, Debug)]
pub enum BriefSource {
    Request(String),
    Spec(PathBuf),
    Task(PathBuf),
    /// Tests of an existing RED, and their specification.
    Red {
        red: PathBuf,
        spec: Option<PathBuf>,
    },
    Design {
        issue: String,
        lld: PathBuf,
    },
}

impl Default for BriefSource {
    fn default() -> Self {
        BriefSource::Request(String::new())
    }
}

/// A brief that was read.
#[derive(Clone, Debug)]
pub struct LoadedBrief {
    pub brief: Brief,
    /// Unused keys in the file.
    pub unused: Vec<String>,
    /// Withheld examples in the file.
    pub examples: Option<Vec<redgreen_core::experiment::examples::Example>>,
    /// Tests that exist before any agent's turn.
    pub tests: Vec<TestFile>,
}

/// Reads the brief. Relative paths start at `here`.
pub fn understand(
    project: &Project,
    wish: &BriefSource,
    context: &[PathBuf],
    here: &Path,
) -> Result<LoadedBrief> {
    let root = &project.git.root;
    let mut understood = match wish {
        BriefSource::Request(request) => plain(self::request(request)?),
        BriefSource::Spec(path) => file(&here.join(path), path, Some(Kind::Spec), root)?,
        BriefSource::Task(path) => file(&here.join(path), path, Some(Kind::Task), root)?,
        BriefSource::Red { red, spec } => given(root, here, red, spec.as_deref())?,
        BriefSource::Design { issue, lld } => {
            let issue = issue.trim();
            if issue.is_empty() || issue.contains(char::is_whitespace) {
                return Err(Failure::usage(format!(
                    "--issue is {issue:?}; expected the number or name of an issue"
                ))
                .next("redgreen run --issue 87 --lld docs/lld.md")
                .into());
            }
            let gathered = guard::gather(root, here, std::slice::from_ref(lld));
            let mut documents = allowed(&gathered)?;
            let Some(document) = documents.pop().filter(|_| documents.is_empty()) else {
                return Err(Failure::usage(format!("{} is not a file", lld.display()))
                    .next("redgreen run --issue 87 --lld docs/lld.md")
                    .into());
            };
            if document.text.trim().is_empty() {
                return Err(Failure::usage(format!("{} is empty", lld.display()))
                    .next("write what to build into it, or: redgreen run \"<what to build>\"")
                    .into());
            }
            plain(design::brief(issue, document, Vec::new()))
        }
    };
    // Typed paths are relative to this folder, paths in a brief to the root.
    let mut gathered = guard::gather(root, here, context);
    let named: Vec<PathBuf> = understood.brief.files.iter().map(PathBuf::from).collect();
    let read = guard::gather(root, root, &named);
    let typed: Vec<String> = gathered.sent.iter().map(|sent| sent.document.path.clone()).collect();
    gathered.sent.extend(read.sent.into_iter().filter(|sent| !typed.contains(&sent.document.path)));
    gathered.refused.extend(read.refused);
    understood.brief.context = allowed(&gathered)?;
    let explored: Vec<String> = understood.brief.context.iter().flat_map(explored).collect();
    understood.brief.pre_analysis.extend(explored);
    let design = understood.brief.design.as_ref().map_or(0, |design| guard::tokens(&design.text));
    within_limit(gathered.tokens().saturating_add(design), &gathered, project.file.model.window)?;
    Ok(understood)
}

/// The exploration results in a context package.
fn explored(document: &redgreen_core::brief::Document) -> Vec<String> {
    let package =
        Node::parse(Syntax::Json, &document.text).ok().filter(|_| document.path.ends_with(".json"));
    let results = package.as_ref().and_then(|package| package.get("exploration_results"));
    results.map(task::exploration).unwrap_or_default()
}

/// The tests of a RED artifact. A file without content is read from the project.
fn given(root: &Path, here: &Path, red: &Path, spec: Option<&Path>) -> Result<LoadedBrief> {
    let name = red.display();
    let unusable = || Failure::usage(format!("cannot use {name}"));
    let next =
        format!("fix it, then run: redgreen run --red {}", shell_word(&red.to_string_lossy()));
    let path = here.join(red);
    let text = text(&path)
        .map_err(|why| unusable().evidence(format!("{name}: {why}")).next(next.clone()))?;
    let RedArtifact { brief, mut files, unused } = red_artifact::parse(syntax_of(&path), &text)
        .map_err(|problems| told(unusable(), &name.to_string(), &problems).next(next.clone()))?;
    for file in files.iter_mut().filter(|file| file.content.is_empty()) {
        let whole = root.join(&file.path);
        file.content = self::text(&whole).map_err(|why| {
            let problem = format!(
                "{name}: test_files lists {} without content, and the project's file cannot be \
                 used: {why}",
                file.path
            );
            unusable().evidence(problem).next(next.clone())
        })?;
    }
    let mut understood = match spec {
        None => plain(brief),
        Some(spec) => file(&here.join(spec), spec, Some(Kind::Spec), root)?,
    };
    // The specification says what the artifact is about. The artifact knows who requested it.
    understood.unused.extend(unused);
    understood.tests = files;
    Ok(understood)
}

fn syntax_of(path: &Path) -> Syntax {
    let json = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"));
    if json { Syntax::Json } else { Syntax::Yaml }
}

/// Reads a specification or a task. Relative paths start at `here`.
pub fn read(path: &Path, here: &Path, root: &Path) -> Result<LoadedBrief> {
    file(&here.join(path), path, None, root)
}

fn plain(brief: Brief) -> LoadedBrief {
    LoadedBrief { brief, unused: Vec::new(), examples: None, tests: Vec::new() }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Spec,
    Task,
}

fn request(request: &str) -> Result<Brief> {
    let request = request.trim();
    if request.is_empty() {
        return Err(Failure::usage("the request is empty").next(super::BEGIN).into());
    }
    if request.chars().count() > REQUEST_CHARS_MAX {
        return Err(Failure::usage(format!(
            "the request is longer than {REQUEST_CHARS_MAX} characters"
        ))
        .next("write it to a file in the project, then run: redgreen run --issue <id> --lld <file>")
        .into());
    }
    Ok(Brief { files: files_to_read(request), ..Brief::of(request) })
}

fn file(path: &Path, typed: &Path, kind: Option<Kind>, root: &Path) -> Result<LoadedBrief> {
    let name = typed.display();
    let unusable = || Failure::usage(format!("cannot use {name}"));
    let next = format!("fix it, then run: redgreen brief {}", shell_word(&typed.to_string_lossy()));
    let text = text(path)
        .map_err(|why| unusable().evidence(format!("{name}: {why}")).next(next.clone()))?;
    let syntax = syntax_of(path);
    let kind = kind.unwrap_or_else(|| match Node::parse(syntax, &text) {
        Ok(root) if root.get("meta").is_some() && root.get("spec_id").is_none() => Kind::Task,
        _ => Kind::Spec,
    });
    let read = match kind {
        Kind::Spec => spec::parse(syntax, &text),
        Kind::Task => task::parse(&text, root.to_str().unwrap_or_default()),
    };
    let SpecResult { brief, unused } =
        read.map_err(|problems| told(unusable(), &name.to_string(), &problems).next(next.clone()))?;
    let examples = match kind {
        Kind::Spec => None,
        Kind::Task => match Task::parse(&text) {
            Ok(task) => Some(task.examples).filter(|examples| !examples.is_empty()),
            Err(problems) => {
                let failure = problems.iter().fold(unusable(), |failure, problem| {
                    failure.evidence(format!("{name}: {problem}"))
                });
                return Err(failure.next(next).into());
            }
        },
    };
    Ok(LoadedBrief { brief, unused, examples, tests: Vec::new() })
}

fn text(path: &Path) -> Result<String, String> {
    let words = |error: std::io::Error| {
        let words = error.to_string();
        words.split(" (os error").next().unwrap_or_default().to_lowercase()
    };
    let facts = fs::metadata(path).map_err(words)?;
    if !facts.is_file() {
        return Err("it is not a file".to_owned());
    }
    if facts.len() > FILE_BYTES_MAX {
        return Err(format!("it has {} bytes; the limit is {FILE_BYTES_MAX}", facts.len()));
    }
    let bytes = fs::read(path).map_err(words)?;
    let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())?;
    if text.contains('\0') {
        Err("it is not text: it contains a zero byte".to_owned())
    } else {
        Ok(text)
    }
}

fn told(failure: Failure, name: &str, problems: &[Problem]) -> Failure {
    problems.iter().fold(failure, |failure, problem| {
        let gap = if problem.place.is_some() { ":" } else { ": " };
        failure.evidence(format!("{name}{gap}{problem}"))
    })
}

/// The files, or all reasons why they cannot be sent.
fn allowed(gathered: &ContextFiles) -> Result<Vec<redgreen_core::brief::Document>> {
    if gathered.refused.is_empty() {
        return Ok(gathered.documents());
    }
    let count = gathered.refused.len();
    let files = if count == 1 { "a file cannot be" } else { "files cannot be" };
    let failure = Failure::usage(format!("{files} sent to an agent, so nothing was started"));
    let failure = gathered
        .refused
        .iter()
        .fold(failure, |failure, (path, why)| failure.evidence(format!("{path}: {why}")));
    let secret = gathered.refused.iter().any(|(_, why)| matches!(why, Refusal::Secret(_)));
    let next = if secret {
        "remove it, or mark the line with gitleaks:allow if it is not a secret"
    } else {
        "remove it, and check what would be sent: redgreen context <paths>"
    };
    Err(failure.next(next).into())
}

/// The context must fit into one request, with room for the rest.
fn within_limit(tokens: u64, gathered: &ContextFiles, window: Option<u64>) -> Result<()> {
    const SHOWN_MAX: usize = 5;
    let (most, whose) = match window {
        _ if tokens > TOKENS_MAX => (TOKENS_MAX, "are sent"),
        Some(window) => (window, "fit into the model (model.window)"),
        None => (
            TOKENS_PER_REQUEST,
            "are sent in one request; set model.window if the model accepts more",
        ),
    };
    if tokens <= most {
        return Ok(());
    }
    let mut largest: Vec<_> = gathered.sent.iter().collect();
    largest.sort_by_key(|sent| std::cmp::Reverse(sent.tokens));
    let failure =
        Failure::usage(format!("the context has {tokens} tokens, but at most {most} {whose}"));
    let failure = largest.iter().take(SHOWN_MAX).fold(failure, |failure, sent| {
        failure.evidence(format!("{}: {} tokens", sent.document.path, sent.tokens))
    });
    Err(failure.next("remove files, and check the sizes: redgreen context <paths>").into())
}
