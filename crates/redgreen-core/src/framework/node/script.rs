//! The arguments that a project's own script passes to `node --test`: options without which its
//! tests do not load, such as `--import tsx`, and the test paths.

use super::super::invoke::Call;

/// The arguments of `node … --test …` in a script.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Script {
    options: Vec<String>,
    paths: Vec<Word>,
}

/// A shell word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Word {
    text: String,
    quoted: bool,
}

/// Options whose value can be the next word.
const WITH_VALUE: &[&str] = &[
    "--import",
    "--require",
    "-r",
    "--loader",
    "--experimental-loader",
    "--env-file",
    "--conditions",
    "-C",
    "--test-concurrency",
    "--test-timeout",
    "--test-name-pattern",
    "--test-skip-pattern",
    "--test-reporter",
    "--test-reporter-destination",
    "--test-shard",
];
/// Options that redgreen sets itself, or that would leave tests out.
const OURS: &[&str] = &[
    "--test",
    "--test-name-pattern",
    "--test-skip-pattern",
    "--test-reporter",
    "--test-reporter-destination",
    "--test-shard",
    "--test-only",
    "--watch",
    "--experimental-test-coverage",
];
const COVERAGE_OPTIONS: &str = "--test-coverage-";

impl Script {
    /// Reads the first script that starts Node's runner.
    pub(super) fn of<'a>(mut scripts: impl Iterator<Item = &'a str>) -> Option<Script> {
        scripts.find_map(|script| commands(script).iter().find_map(|words| Script::read(words)))
    }

    fn read(words: &[Word]) -> Option<Script> {
        let start = words.iter().position(|word| word.text == "node")?;
        let mut words = words.iter().skip(start + 1).cloned();
        let mut script = Script::default();
        let mut found = false;
        while let Some(word) = words.next() {
            let name = word.text.split('=').next().unwrap_or_default();
            let value = if WITH_VALUE.contains(&word.text.as_str()) { words.next() } else { None };
            found |= name == "--test";
            if !word.text.starts_with('-') {
                script.paths.push(word);
            } else if !OURS.contains(&name) && !name.starts_with(COVERAGE_OPTIONS) {
                script.options.push(word.text);
                script.options.extend(value.map(|word| word.text));
            }
        }
        found.then_some(script)
    }

    pub(super) fn with_options(&self, call: Call) -> Call {
        call.args(&self.options)
    }

    /// Adds the paths of all tests. Patterns that a shell would expand are passed to a shell.
    pub(super) fn with_paths(&self, call: Call) -> Call {
        let is_pattern = |word: &&Word| !word.quoted && word.text.contains(['*', '?', '[', '{']);
        let (patterns, plain): (Vec<&Word>, Vec<&Word>) = self.paths.iter().partition(is_pattern);
        let call = call.args(plain.iter().map(|word| word.text.as_str()));
        if patterns.is_empty() || !patterns.iter().all(|word| is_harmless(&word.text)) {
            return call.args(patterns.iter().map(|word| word.text.as_str()));
        }
        let patterns: Vec<&str> = patterns.iter().map(|word| word.text.as_str()).collect();
        let shell = Call::new(["sh", "-c", &format!("exec \"$0\" \"$@\" {}", patterns.join(" "))]);
        Call { env: call.env, ..shell.args(call.words) }
    }
}

/// Whether a shell only expands it to file names.
fn is_harmless(pattern: &str) -> bool {
    pattern.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-./*?[]{},@+".contains(letter))
}

/// Splits a script into commands and words. Supports enough shell grammar for typical
/// `package.json` scripts.
fn commands(script: &str) -> Vec<Vec<Word>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<Word> = None;
    let mut quote = None;
    for letter in script.chars() {
        let ends = quote.is_none() && (letter.is_whitespace() || "&|;<>()".contains(letter));
        if ends {
            commands.last_mut().into_iter().for_each(|words| words.extend(word.take()));
            if !letter.is_whitespace() {
                commands.push(Vec::new());
            }
        } else if quote == Some(letter) {
            quote = None;
        } else if quote.is_none() && "'\"".contains(letter) {
            quote = Some(letter);
            word.get_or_insert_default().quoted = true;
        } else {
            word.get_or_insert_default().text.push(letter);
        }
    }
    commands.last_mut().into_iter().for_each(|words| words.extend(word.take()));
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn gives(script: &str, expected: &str) {
        let call = Call::new(["node"]);
        let words = Script::of([script].into_iter())
            .map(|script| script.with_paths(script.with_options(call)).words);
        assert_eq!(words.map(|words| words.join(" ")).unwrap_or_default(), expected, "{script}");
    }

    #[test]
    fn keeps_options_and_paths_of_a_script() {
        gives("node --test", "node");
        gives("npm run build && node --test dist/test > out.txt", "node dist/test");
        gives(
            "NODE_ENV=test c8 node --import tsx --test --test-reporter spec src",
            "node --import tsx src",
        );
        gives(
            "node --test --test-only --watch --experimental-test-coverage --test-coverage-lines=90",
            "node",
        );
        gives("node --test 'src/**/*.spec.js' \"a b.js\"", "node src/**/*.spec.js a b.js");
        gives("node --test test/*.js a.js", "sh -c exec \"$0\" \"$@\" test/*.js node a.js");
        gives("node --test test/$NAME*.js", "node test/$NAME*.js");
        gives("node test.js && echo --test", "");
        gives("jest", "");
    }
}
