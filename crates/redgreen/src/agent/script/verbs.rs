//! The actions of a script, one row per verb.

use std::path::{Path, PathBuf};

use toml::de::DeTable;

use super::fields::{Reader, Value, meant, or};
use super::{Action, Mode, OnError, place};

/// A verb, its keys, and the function that creates the action. Missing keys were reported before.
struct Verb {
    name: &'static str,
    needs: &'static [&'static str],
    allows: &'static [&'static str],
    build: fn(&mut Reader<'_>, &DeTable<'_>) -> Option<Action>,
}

const VERBS: &[Verb] = &[
    Verb {
        name: "write",
        needs: &["text"],
        allows: &["executable"],
        build: |read, table| {
            let (path, text) = (inside(read, table, "write"), read.string(table, "text"));
            let executable = read.flag(table, "executable");
            let mode = if executable { Mode::Executable } else { Mode::Plain };
            Some(Action::Write { path: path?, text: text?, mode })
        },
    },
    Verb {
        name: "append",
        needs: &["text"],
        allows: &[],
        build: |read, table| {
            let (path, text) = (inside(read, table, "append"), read.string(table, "text"));
            Some(Action::Append { path: path?, text: text? })
        },
    },
    Verb {
        name: "edit",
        needs: &["old", "new"],
        allows: &[],
        build: |read, table| {
            let path = inside(read, table, "edit");
            let (old, new) = (read.words(table, "old"), read.string(table, "new"));
            Some(Action::Edit { path: path?, old: old?, new: new? })
        },
    },
    Verb {
        name: "delete",
        needs: &[],
        allows: &[],
        build: |read, table| Some(Action::Delete { path: inside(read, table, "delete")? }),
    },
    Verb {
        name: "shell",
        needs: &[],
        allows: &["must-succeed"],
        build: |read, table| {
            let (line, must) = (read.words(table, "shell"), read.flag(table, "must-succeed"));
            let on_error = if must { OnError::Crash } else { OnError::GoOn };
            Some(Action::Shell { line: line?, on_error })
        },
    },
    Verb {
        name: "commit",
        needs: &[],
        allows: &[],
        build: |read, table| Some(Action::Commit { message: read.words(table, "commit")? }),
    },
    Verb {
        name: "wait",
        needs: &[],
        allows: &[],
        build: |read, table| read.seconds(table, "wait").map(Action::Wait),
    },
    Verb {
        name: "print",
        needs: &[],
        allows: &[],
        build: |read, table| read.string(table, "print").map(Action::Print),
    },
    Verb {
        name: "hang",
        needs: &[],
        allows: &[],
        build: |read, table| read.mark(table, "hang").map(|()| Action::Hang),
    },
    Verb {
        name: "flood",
        needs: &[],
        allows: &[],
        build: |read, table| Some(Action::Flood { bytes: read.count(table, "flood")? }),
    },
    Verb {
        name: "daemon",
        needs: &[],
        allows: &[],
        build: |read, table| Some(Action::Daemon { line: read.words(table, "daemon")? }),
    },
    Verb {
        name: "write-outside",
        needs: &["text"],
        allows: &[],
        build: |read, table| {
            let (path, text) = (outside(read, table), read.string(table, "text"));
            Some(Action::WriteOutside { path: path?, text: text? })
        },
    },
];

/// One item of a turn's `do`.
pub(super) fn action(read: &mut Reader<'_>, value: &Value<'_>) -> Option<Action> {
    let at = value.span().start;
    let table =
        read.table(value, "an action is a table like { write = \"file\", text = \"…\" }")?;
    let names: Vec<_> = VERBS.iter().map(|verb| verb.name).collect();
    let companions = VERBS.iter().flat_map(|verb| verb.needs.iter().chain(verb.allows)).copied();
    read.only(table, &names.iter().copied().chain(companions).collect::<Vec<_>>());
    let found: Vec<_> = VERBS.iter().filter(|verb| table.contains_key(verb.name)).collect();
    match found[..] {
        [verb] => {
            check_companions(read, table, verb, at);
            (verb.build)(read, table)
        }
        // A misspelt verb is already reported.
        [] if table.keys().any(|key| meant(key.get_ref(), &names).is_some()) => None,
        [] => {
            read.problem(at, format!("this action does nothing; expected {}", or(&names)));
            None
        }
        [..] => {
            let found = found.iter().map(|verb| format!("\"{}\"", verb.name)).collect::<Vec<_>>();
            read.problem(at, format!("an action does one thing, not {}", found.join(" and ")));
            None
        }
    }
}

fn check_companions(read: &mut Reader<'_>, table: &DeTable<'_>, verb: &Verb, at: usize) {
    let name = verb.name;
    for needed in verb.needs.iter().filter(|key| !table.contains_key(**key)) {
        read.problem(at, format!("\"{name}\" needs \"{needed}\""));
    }
    let others = VERBS.iter().flat_map(|verb| verb.needs.iter().chain(verb.allows));
    for (key, _) in table {
        let word = key.get_ref().as_ref();
        let belongs = verb.needs.contains(&word) || verb.allows.contains(&word);
        if !belongs && others.clone().any(|other| *other == word) {
            read.problem(key.span().start, format!("\"{word}\" does not go with \"{name}\""));
        }
    }
}

fn inside(read: &mut Reader<'_>, table: &DeTable<'_>, key: &str) -> Option<PathBuf> {
    let path = PathBuf::from(read.words(table, key)?);
    match place::problem(&path) {
        Some(problem) => refuse(read, table, key, &path, problem),
        None => Some(path),
    }
}

fn outside(read: &mut Reader<'_>, table: &DeTable<'_>) -> Option<PathBuf> {
    const KEY: &str = "write-outside";
    let path = PathBuf::from(read.words(table, KEY)?);
    if place::is_outside(&path) {
        Some(path)
    } else {
        refuse(read, table, KEY, &path, "stays inside the worktree; \"write\" does that")
    }
}

fn refuse(
    read: &mut Reader<'_>,
    table: &DeTable<'_>,
    key: &str,
    path: &Path,
    problem: &str,
) -> Option<PathBuf> {
    let at = table.get(key).map_or(0, |value| value.span().start);
    // A path can contain anything, but a message is one line.
    read.problem(
        at,
        format!("the path \"{}\" {problem}", path.display().to_string().escape_debug()),
    );
    None
}
