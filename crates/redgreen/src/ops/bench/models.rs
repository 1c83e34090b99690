//! `redgreen bench models`: small tasks with your own model, from the request to a finished run, to
//! help you choose a model. Each task has checks that the model never sees, so "finished" and
//! "right" are separate results.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::Value;

use super::{has_pytest, ours, python};
use crate::agent::model::local;
use crate::config::Environment;
use crate::failure::{Code, Failure};
use crate::git::Git;
use crate::process::{Limits, Program, Stop};

/// For one task: on a small machine, a model writes a few words per second.
const LIMITS: Limits = Limits { wall: Duration::from_secs(3600), output_bytes_max: 16 << 20 };
const CASSETTE: &str = "kata.jsonl";

/// The tasks and the model.
#[derive(Clone, Debug)]
pub struct Wish {
    pub server: String,
    pub model: Option<String>,
    /// Empty means all.
    pub katas: Vec<String>,
    pub record: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Models {
    pub version: u32,
    pub model: String,
    pub katas: Vec<Played>,
}

/// The result of one task.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Played {
    pub name: &'static str,
    /// The run finished, and every step was accepted.
    pub finished: bool,
    /// According to checks that the model did not see. `None` for a run that did not finish.
    pub right: Option<bool>,
    pub cycles: u64,
    /// Turns that write tests or code, including refused attempts.
    pub turns: u64,
    pub requests: u64,
    pub tokens: u64,
    pub seconds: f64,
    /// Why a run did not finish.
    pub trouble: Option<String>,
}

/// A task and its checks.
struct Kata {
    name: &'static str,
    request: &'static str,
    function: &'static str,
    /// Expressions that must be true.
    checks: &'static [&'static str],
}

const KATAS: &[Kata] = &[
    Kata {
        name: "is_leap",
        request: "is_leap(year) says whether a year is a leap year of the Gregorian calendar",
        function: "is_leap",
        checks: &[
            "not is_leap(1900)",
            "is_leap(2000)",
            "not is_leap(2023)",
            "is_leap(2024)",
            "not is_leap(2100)",
        ],
    },
    Kata {
        name: "fizzbuzz",
        request: "fizzbuzz(n) returns \"Fizz\" for multiples of 3, \"Buzz\" for multiples of 5, \"FizzBuzz\" for \
                  multiples of both, and the number as a string otherwise",
        function: "fizzbuzz",
        checks: &[
            "fizzbuzz(9) == 'Fizz'",
            "fizzbuzz(20) == 'Buzz'",
            "fizzbuzz(30) == 'FizzBuzz'",
            "fizzbuzz(7) == '7'",
        ],
    },
    Kata {
        name: "to_roman",
        request: "to_roman(n) returns the Roman numeral of a number from 1 to 20, such as to_roman(4) == \"IV\" and \
                  to_roman(19) == \"XIX\"",
        function: "to_roman",
        checks: &[
            "[to_roman(n) for n in range(1, 21)] == 'I II III IV V VI VII VIII IX X XI XII XIII XIV XV XVI XVII XVIII XIX \
             XX'.split()",
        ],
    },
    Kata {
        name: "clamp",
        request: "clamp(value, low, high) returns the value, or the nearer bound when it lies outside",
        function: "clamp",
        checks: &["clamp(5, 0, 3) == 3", "clamp(-1, 0, 3) == 0", "clamp(2, 0, 3) == 2"],
    },
    Kata {
        name: "word_count",
        request: "word_count(text) returns a dict with how often each word occurs in the text, in lower case: \
                  word_count(\"a b A\") == {\"a\": 2, \"b\": 1}, word_count(\"\") == {}",
        function: "word_count",
        checks: &["word_count('The the  cat') == {'the': 2, 'cat': 1}", "word_count('') == {}"],
    },
    Kata {
        name: "is_anagram",
        request: "is_anagram(a, b) says whether two words have the same letters, whatever their case",
        function: "is_anagram",
        checks: &[
            "is_anagram('Listen', 'silent')",
            "not is_anagram('aab', 'abb')",
            "not is_anagram('a', 'aa')",
        ],
    },
    Kata {
        name: "run_length",
        request: "encode(text) writes each run of the same letter as the letter and its count: encode(\"aaab\") == \
                  \"a3b1\", encode(\"abc\") == \"a1b1c1\", encode(\"\") == \"\"",
        function: "encode",
        checks: &["encode('zzzz') == 'z4'", "encode('aabbaa') == 'a2b2a2'", "encode('') == ''"],
    },
    Kata {
        name: "caesar",
        request: "caesar(text, shift) shifts each lower-case letter by so many places in the alphabet, from z on to a, and \
                  keeps everything else: caesar(\"abc\", 1) == \"bcd\", caesar(\"xyz\", 3) == \"abc\", caesar(\"a b!\", 2) \
                  == \"c d!\"",
        function: "caesar",
        checks: &[
            "caesar('hello, z!', 1) == 'ifmmp, a!'",
            "caesar('abc', 26) == 'abc'",
            "caesar('Abc', 1) == 'Acd'",
        ],
    },
    Kata {
        name: "digit_sum",
        request: "digit_sum(n) returns the sum of the decimal digits of a whole number",
        function: "digit_sum",
        checks: &["digit_sum(0) == 0", "digit_sum(987) == 24", "digit_sum(10001) == 2"],
    },
    Kata {
        name: "is_palindrome",
        request: "is_palindrome(text) says whether a text reads the same backwards, ignoring case, spaces and punctuation",
        function: "is_palindrome",
        checks: &[
            "is_palindrome('A man, a plan, a canal: Panama!')",
            "not is_palindrome('ab')",
            "is_palindrome('')",
        ],
    },
    Kata {
        name: "median",
        request: "median(numbers) returns the middle of a list of numbers, the mean of the two middle ones when their count \
                  is even",
        function: "median",
        checks: &["median([3, 1, 2]) == 2", "median([4, 1, 3, 2]) == 2.5", "median([7]) == 7"],
    },
    Kata {
        name: "to_fahrenheit",
        request: "to_fahrenheit(celsius) converts degrees Celsius to degrees Fahrenheit",
        function: "to_fahrenheit",
        checks: &[
            "to_fahrenheit(0) == 32",
            "to_fahrenheit(100) == 212",
            "to_fahrenheit(-40) == -40",
        ],
    },
];

/// Plays the tasks one after another, each in its own repository.
pub fn play(
    wish: &Wish,
    environment: &Environment,
    stop: &Stop,
    tell: &mut dyn FnMut(&str),
) -> Result<Models> {
    let katas = chosen(&wish.katas)?;
    if !has_pytest(environment, stop) {
        return Err(Failure::environment(
            "the tasks of this bench need pytest, which is not installed",
        )
        .next("python3 -m pip install pytest")
        .into());
    }
    let model = match &wish.model {
        Some(model) => model.clone(),
        None => first_model(&wish.server)?,
    };
    let scratch = tempfile::Builder::new()
        .prefix("redgreen-models-")
        .tempdir()
        .context("create a scratch folder")?;
    let folder = scratch.path().canonicalize().context("find the scratch folder")?;
    if let Some(record) = &wish.record {
        fs::create_dir_all(record).with_context(|| format!("create {}", record.display()))?;
    }
    let mut played = Vec::new();
    for (number, kata) in (1..).zip(&katas) {
        tell(&format!("{number} of {}: {}", katas.len(), kata.name));
        played.push(one(kata, &folder, &model, wish, environment, stop)?);
    }
    Ok(Models { version: 1, model, katas: played })
}

fn chosen(names: &[String]) -> Result<Vec<&'static Kata>> {
    if names.is_empty() {
        return Ok(KATAS.iter().collect());
    }
    let find = |name: &String| {
        KATAS.iter().find(|kata| kata.name == name).ok_or_else(|| {
            let known = KATAS.iter().map(|kata| kata.name).collect::<Vec<_>>().join(", ");
            Failure::usage(format!("there is no kata {name:?}"))
                .evidence(format!("katas: {known}"))
                .into()
        })
    };
    names.iter().map(find).collect()
}

fn first_model(server: &str) -> Result<String> {
    let models = local::models_at(server.trim_end_matches('/'), None);
    models.into_iter().next().ok_or_else(|| {
        Failure::environment(format!("no model server responds at {server}"))
            .evidence(format!("asked {}/models for its models", server.trim_end_matches('/')))
            .next("start the server, or fix --server; its address usually ends in /v1")
            .into()
    })
}

fn one(
    kata: &Kata,
    folder: &Path,
    model: &str,
    wish: &Wish,
    environment: &Environment,
    stop: &Stop,
) -> Result<Played> {
    let settings = match wish.record {
        Some(_) => format!("backoff = 0.0\n[model]\nrecord = \"{CASSETTE}\"\n"),
        None => "backoff = 0.0\n".to_owned(),
    };
    let files = [("pytest.ini", "[pytest]\n"), ("redgreen.toml", settings.as_str())];
    let git = Git::create_scratch(&folder.join(kata.name), &files, "chore: a project")?;
    let ours = Program::new(ours()?)
        .cwd(&git.root)
        .env("LLAMA_BASE_URL", wish.server.trim_end_matches('/'))
        .env("REDGREEN_WORKTREES", folder.join("worktrees"))
        // Ignores the settings of the user.
        .env("XDG_CONFIG_HOME", folder.join("nothing"))
        .env_remove("REDGREEN_SCRIPT");
    let begun = Instant::now();
    let run = ours.clone().args(["--trust", "run", "--quiet", "--no-input", "--model"]);
    let output = run.arg(format!("llamacpp/{model}")).arg(kata.request).output(LIMITS, stop)?;
    let seconds = begun.elapsed().as_secs_f64();
    let status = ours.args(["--json", "status"]).output(LIMITS, stop)?;
    let status: Value =
        serde_json::from_str(&status.stdout_text()).context("read the status of a run")?;
    let run = status.pointer("/runs/0").cloned().unwrap_or_default();
    let number = |place: &str| run.pointer(place).and_then(Value::as_u64).unwrap_or_default();
    let finished = output.exit == redgreen_core::report::Exit::Code(Code::Human as i32)
        && run.get("phase").and_then(Value::as_str) == Some("COMPLETE");
    if let (Some(record), Some(cassettes)) = (&wish.record, cassette(&git)) {
        let to = record.join(format!("{}.jsonl", kata.name));
        fs::copy(&cassettes, &to)
            .with_context(|| format!("copy {} to {}", cassettes.display(), to.display()))?;
    }
    let branch = run.get("branch").and_then(Value::as_str).filter(|_| finished);
    let right = match branch {
        Some(branch) => Some(is_right(kata, &git, branch, folder, environment, stop)?),
        None => None,
    };
    let trouble = || {
        let said = output.stderr_text();
        let told = run.pointer("/trouble/message").and_then(Value::as_str).map(str::to_owned);
        told.or_else(|| said.lines().last().map(str::to_owned))
    };
    Ok(Played {
        name: kata.name,
        finished,
        right,
        cycles: number("/cycles"),
        turns: turns(&run),
        requests: number("/spent/requests"),
        tokens: number("/spent/tokens"),
        seconds,
        trouble: if finished { None } else { trouble() },
    })
}

fn cassette(git: &Git) -> Option<PathBuf> {
    let path = git.common_dir.join("redgreen/cassettes").join(CASSETTE);
    path.is_file().then_some(path)
}

/// How often the model had to write something, from its transcripts.
fn turns(run: &Value) -> u64 {
    let folder = run
        .get("folder")
        .and_then(Value::as_str)
        .map(|folder| Path::new(folder).join("transcripts"));
    let entries =
        folder.and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten().flatten();
    let writes = |name: &str| name.ends_with("-test.md") || name.ends_with("-implementing.md");
    let turns = entries.filter(|entry| entry.file_name().to_str().is_some_and(writes)).count();
    u64::try_from(turns).unwrap_or(u64::MAX)
}

/// Runs the checks on the result of the run, wherever the function is.
fn is_right(
    kata: &Kata,
    git: &Git,
    branch: &str,
    folder: &Path,
    environment: &Environment,
    stop: &Stop,
) -> Result<bool> {
    let place = folder.join(format!("{}-checked", kata.name));
    let place_name = place.display().to_string();
    git.typed(&["worktree", "add", "--quiet", "--detach", &place_name, branch])
        .output(LIMITS, stop)?;
    let find = format!(
        "import importlib, pathlib\nfor path in sorted(pathlib.Path('.').glob('*.py')):\n    if not \
         path.name.startswith('test_'):\n        module = importlib.import_module(path.stem)\n        {name} = \
         getattr(module, '{name}', None) or globals().get('{name}')\n",
        name = kata.function
    );
    let checks: String = kata.checks.iter().map(|check| format!("assert {check}\n")).collect();
    let output = python(environment)
        .args(["-c", &format!("{find}{checks}")])
        .cwd(&place)
        .output(LIMITS, stop)?;
    Ok(output.success())
}
