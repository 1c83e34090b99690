//! Honest work: small features developed test-first in growing repositories. The judge has to accept every step. And
//! steps that only look like it: it has to stop each of them.
//!
//! `honest/<language>/<project>.steps` and `cheats/<language>/<project>.steps` hold them. A line that begins with `%%` says
//! what to do with the lines below it: `feature NAME: BRIEF`, a phase (or `commit`, which nobody judges), and in it `write`,
//! `append`, `edit … %% to …`, `delete` and `move`. What comes before the first feature is there from the start. A phase
//! with a verdict and a code (`green refused green.not_discriminating`) has to get these, and is undone after it; `stopped`
//! is any verdict that does not accept, and a code stands for those that begin with it.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

use crate::story::Story;

#[test]
fn python() {
    is_right("honest/python", |_| {});
}

#[test]
fn python_cheats() {
    is_right("cheats/python", |_| {});
}

#[test]
fn rust() {
    is_right("honest/rust", |_| {});
}

#[test]
fn rust_cheats() {
    is_right("cheats/rust", |_| {});
}

#[test]
fn node() {
    if crate::runner::is_installed("node") {
        is_right("honest/node", |_| {});
    }
}

#[test]
fn node_cheats() {
    if crate::runner::is_installed("node") {
        is_right("cheats/node", |_| {});
    }
}

#[test]
fn typescript() {
    with_vitest("honest/typescript");
}

#[test]
fn typescript_cheats() {
    with_vitest("cheats/typescript");
}

#[test]
fn go() {
    if crate::runner::is_installed("go") {
        is_right("honest/go", |_| {});
    }
}

#[test]
fn go_cheats() {
    if crate::runner::is_installed("go") {
        is_right("cheats/go", |_| {});
    }
}

fn with_vitest(language: &str) {
    let modules = crate::runner::node_modules();
    if crate::runner::is_installed("node") && modules.join(".bin/vitest").exists() {
        is_right(language, |root| symlink(&modules, root.join("node_modules")).unwrap());
    }
}

/// Repositories that are developed side by side.
fn is_right(language: &str, prepare: impl Fn(&Path) + Sync) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it").join(language);
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let projects: Vec<Project> = files.map(|file| read(&file)).collect();
    assert!(!projects.is_empty(), "no features in {language}");
    let projects = Mutex::new(projects);
    let refused = Mutex::new(Vec::new());
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(WORKERS_MAX);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(project) = { projects.lock().unwrap().pop() } {
                    let wrong = play(&project, &prepare);
                    refused.lock().unwrap().extend(wrong);
                }
            });
        }
    });
    let refused = refused.into_inner().unwrap();
    assert!(refused.is_empty(), "{} steps were judged wrongly:\n{}", refused.len(), refused.join("\n"));
}

const WORKERS_MAX: usize = 4;
/// Without REDGREEN_TEST_ALL, so many features of each project.
const FEATURES_USUAL: usize = 2;

#[derive(Default)]
struct Project {
    name: String,
    base: Vec<Edit>,
    features: Vec<Feature>,
}

struct Feature {
    name: String,
    brief: String,
    steps: Vec<Step>,
}

struct Step {
    phase: String,
    /// A verdict and a code; nothing where the step is to be accepted.
    stopped: Option<(String, String)>,
    edits: Vec<Edit>,
}

struct Edit {
    verb: String,
    path: String,
    text: String,
    /// What an edit puts in place of the text.
    new: Option<String>,
}

fn read(file: &Path) -> Project {
    let name = file.file_stem().unwrap().to_string_lossy().into_owned();
    let mut project = Project { name, ..Project::default() };
    for line in fs::read_to_string(file).unwrap().lines() {
        let Some(command) = line.strip_prefix("%% ") else {
            let edit = project.edits().last_mut().unwrap_or_else(|| panic!("belongs to nothing: {line}"));
            writeln!(edit.new.as_mut().unwrap_or(&mut edit.text), "{line}").unwrap();
            continue;
        };
        let (verb, rest) = command.split_once(' ').unwrap_or((command, ""));
        match verb {
            "feature" => {
                let (name, brief) = rest.split_once(": ").unwrap_or_else(|| panic!("no brief: {line}"));
                project.features.push(Feature { name: name.to_owned(), brief: brief.to_owned(), steps: Vec::new() });
            }
            "red" | "green" | "refactor" | "commit" => {
                let stopped = rest.split_once(' ').map(|(verdict, code)| (verdict.to_owned(), code.to_owned()));
                let step = Step { phase: verb.to_owned(), stopped, edits: Vec::new() };
                project.features.last_mut().unwrap().steps.push(step);
            }
            "to" => project.edits().last_mut().unwrap().new = Some(String::new()),
            "write" | "append" | "edit" | "delete" | "move" => {
                let (verb, path) = (verb.to_owned(), rest.to_owned());
                project.edits().push(Edit { verb, path, text: String::new(), new: None });
            }
            _ => panic!("not a command: {line}"),
        }
    }
    project
}

impl Project {
    fn edits(&mut self) -> &mut Vec<Edit> {
        match self.features.last_mut() {
            Some(feature) => &mut feature.steps.last_mut().unwrap().edits,
            None => &mut self.base,
        }
    }
}

/// Commits and judges step after step; tells what was judged wrongly.
fn play(project: &Project, prepare: impl Fn(&Path)) -> Vec<String> {
    let story = Story::bare_folder();
    story.git("init -q -b main");
    story.git("config user.name Ada");
    story.git("config user.email ada@example.com");
    prepare(&story.root);
    apply(&story.root, &project.base);
    let mut base = story.commit("base");
    let mut wrong = Vec::new();
    for (number, feature) in project.features.iter().enumerate() {
        for step in &feature.steps {
            apply(&story.root, &step.edits);
            let head = story.commit(&format!("{}: {}", step.phase, feature.name));
            let accepted = std::mem::replace(&mut base, head.clone());
            if step.stopped.is_some() {
                base.clone_from(&accepted);
                story.git(&format!("checkout -q -B main {accepted}"));
            }
            if step.phase == "commit" || !is_wanted(number, &feature.name) {
                continue;
            }
            let started = Instant::now();
            let arguments =
                ["judge", &step.phase, "--base", &accepted, "--head", &head, "--brief", &feature.brief, "--json"];
            let mut command = story.command(env!("CARGO_BIN_EXE_redgreen"));
            let said = command.args(arguments).output().unwrap();
            let said = crate::story::Said::of(&arguments.join(" "), &said);
            let name = format!("{}, {}, {}", project.name, feature.name, step.phase);
            let (verdict, codes, why) = match serde_json::from_str::<serde_json::Value>(&said.stdout) {
                Ok(said) => {
                    let verdict = said["verdict"].as_str().unwrap_or_default().to_owned();
                    (verdict, said["reasons"].to_string(), format!("{said:#}"))
                }
                Err(_) => ("error".to_owned(), String::new(), format!("{}\n{}", said.stdout, said.stderr)),
            };
            #[expect(clippy::print_stderr, reason = "how long each step takes is worth knowing")]
            {
                eprintln!("{verdict} {:.1} s: {name}", started.elapsed().as_secs_f64());
            }
            let right = match &step.stopped {
                None => verdict == "accepted",
                Some((wanted, code)) => {
                    let any = wanted == "stopped" && matches!(verdict.as_str(), "refused" | "undecided");
                    (*wanted == verdict || any) && codes.contains(&format!("\"code\":\"{code}"))
                }
            };
            if !right {
                wrong.push(format!("{name}: {why}"));
            }
        }
    }
    wrong
}

fn is_wanted(number: usize, name: &str) -> bool {
    #[expect(clippy::disallowed_methods, reason = "tests are told what to leave out")]
    let (all, only) = (std::env::var_os("REDGREEN_TEST_ALL"), std::env::var("REDGREEN_TEST_FEATURE"));
    (all.is_some() || number < FEATURES_USUAL) && only.ok().is_none_or(|only| name.contains(&only))
}

fn apply(root: &Path, edits: &[Edit]) {
    for edit in edits {
        let path = root.join(&edit.path);
        let known = || fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", edit.path));
        let text = match (edit.verb.as_str(), &edit.new) {
            ("write", None) => whole(&edit.text),
            ("append", None) => format!("{}\n{}\n", known(), edit.text.trim_end()),
            ("edit", Some(new)) => {
                let (text, old) = (known(), whole(&edit.text));
                assert_eq!(text.matches(&old).count(), 1, "{} holds not once:\n{old}", edit.path);
                text.replace(&old, &whole(new))
            }
            ("delete", None) => {
                fs::remove_file(&path).unwrap_or_else(|error| panic!("{}: {error}", edit.path));
                continue;
            }
            ("move", None) => {
                let (from, to) = edit.path.split_once(' ').unwrap();
                fs::create_dir_all(root.join(to).parent().unwrap()).unwrap();
                fs::rename(root.join(from), root.join(to)).unwrap();
                continue;
            }
            (verb, _) => panic!("{verb} {} is not complete", edit.path),
        };
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// The lines without the blank ones around them.
fn whole(text: &str) -> String {
    let lines = text.trim_matches('\n');
    if lines.is_empty() { String::new() } else { format!("{lines}\n") }
}
