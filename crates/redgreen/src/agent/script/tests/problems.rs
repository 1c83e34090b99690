//! The problems reported for an invalid script.

use crate::agent::script::Script;
use crate::failure::{Code, Failure};

/// Checks all lines of evidence, without the file name.
fn check(script: &str, expected: &[&str]) {
    assert_eq!(problems(Script::parse("kata.toml", script)), expected, "in\n{script}");
}

/// Like `check`, for a list of actions. Columns are those of `do = [{action}]` in line 2.
fn check_action(action: &str, expected: &[&str]) {
    check(&format!("[[red]]\ndo = [{action}]\n"), expected);
}

fn problems(read: anyhow::Result<Script>) -> Vec<String> {
    let Err(error) = read else { return Vec::new() };
    let failure = error.downcast::<Failure>().unwrap();
    assert_eq!(failure.code, Code::Usage);
    failure
        .evidence
        .iter()
        .map(|line| line.split_once("kata.toml:").unwrap().1.to_owned())
        .collect()
}

#[test]
fn reports_a_file_without_turns() {
    const NO_TURNS: &str =
        "1:1: no turns; expected [[plan]], [[red]], [[green]], [[diagnosis]] or [[refactor]]";
    check("", &[NO_TURNS]);
    check("# nothing yet\n", &[NO_TURNS]);
    check("version = 1\n", &[NO_TURNS]);
}

#[test]
fn keys_at_the_top() {
    check("[[red]]\n[[gren]]\n", &["2:3: unknown key \"gren\"; did you mean \"green\"?"]);
    check(
        "speed = 3\n[[red]]\n",
        &[
            "1:1: unknown key \"speed\"; expected version, agent, plan, red, green, diagnosis or refactor",
        ],
    );
    check("version = 2\n[[red]]\n", &["1:11: \"version\" must be 1, the only version, not 2"]);
    check(
        "version = \"1\"\n[[red]]\n",
        &["1:11: \"version\" must be 1, the only version, not \"1\""],
    );
    check("agent = 7\n[[red]]\n", &["1:9: \"agent\" must be a string that is not empty, not 7"]);
    check("[red]\n", &["1:1: \"red\" must be a list of turns, each under [[red]], not a table"]);
    check("red = [\"x\"]\n", &["1:8: a turn is a table, not \"x\""]);
}

#[test]
fn keys_of_a_turn() {
    check("[[red]]\nnotes = \"x\"\n", &["2:1: unknown key \"notes\"; did you mean \"note\"?"]);
    check("[[red]]\nnote = 1\n", &["2:8: \"note\" must be a string, not 1"]);
    check("[[red]]\ndo = \"ls\"\n", &["2:6: \"do\" must be a list of actions, not \"ls\""]);
    check("[[red]]\ntokens = -5\n", &["2:10: \"tokens\" must be a whole number from 0, not -5"]);
    check("[[red]]\ntokens = 1.5\n", &["2:10: \"tokens\" must be a whole number from 0, not 1.5"]);
    check(
        "[[red]]\ndollars = \"2\"\n",
        &["2:11: \"dollars\" must be dollars from 0 to 1000000, not \"2\""],
    );
    check(
        "[[red]]\ndollars = nan\n",
        &["2:11: \"dollars\" must be dollars from 0 to 1000000, not nan"],
    );
    check("[[red]]\ndone = true\n", &["2:1: \"done\" belongs in [[plan]]"]);
}

#[test]
fn the_end_of_a_turn() {
    check("[[plan]]\n", &["1:1: a turn of plan needs \"next\", \"done\", \"answer\" or \"fail\""]);
    check("[[plan]]\ndo = [{ hang = true }]\n", &[]);
    check("[[plan]]\ndone = false\n", &["2:8: \"done\" must be true, not false"]);
    check(
        "[[plan]]\ndone = true\nanswer = \"x\"\n",
        &["1:1: a turn ends in one way, not \"answer\" and \"done\""],
    );
    check(
        "[[plan]]\nnext = { description = \"adds\", test_file = \"t.py\" }\n",
        &[
            "2:8: \"next\" needs \"test-file\"",
            "2:8: \"next\" needs \"impl-file\"",
            "2:32: unknown key \"test_file\"; did you mean \"test-file\"?",
        ],
    );
    check(
        "[[plan]]\nnext = \"adds\"\n",
        &[
            "2:8: \"next\" must be a table like { description = \"…\", test-file = \"…\", impl-file = \"…\" }, not \"adds\"",
        ],
    );
    check(
        "[[red]]\nfail = { kind = \"tired\" }\n",
        &[
            "2:17: \"kind\" must be \"rate-limit\", \"timeout\", \"crash\", \"unusable\" or \"budget\", not \"tired\"",
        ],
    );
    check("[[red]]\nfail = { message = \"x\" }\n", &["2:8: \"fail\" needs \"kind\""]);
    check(
        "[[red]]\nfail = { kind = \"crash\", retry-after = 2 }\n",
        &["2:26: \"retry-after\" goes with kind = \"rate-limit\" only"],
    );
}

#[test]
fn an_action_has_one_verb_with_its_keys() {
    check_action(
        "{ wrtie = 'a', text = '' }",
        &["2:9: unknown key \"wrtie\"; did you mean \"write\"?"],
    );
    check_action(
        "'ls'",
        &["2:7: an action is a table like { write = \"file\", text = \"…\" }, not 'ls'"],
    );
    check_action(
        "{ text = '' }",
        &[
            "2:7: this action does nothing; expected write, append, edit, delete, shell, commit, wait, print, hang, \
           flood, daemon or write-outside",
        ],
    );
    check_action(
        "{ write = 'a', delete = 'a', text = '' }",
        &["2:7: an action does one thing, not \"write\" and \"delete\""],
    );
    check_action("{ write = 'a' }", &["2:7: \"write\" needs \"text\""]);
    check_action("{ edit = 'a' }", &["2:7: \"edit\" needs \"old\"", "2:7: \"edit\" needs \"new\""]);
    check_action(
        "{ edit = 'a', old = '', new = 'b' }",
        &["2:27: \"old\" must be a string that is not empty, not ''"],
    );
    check_action("{ shell = 'ls', text = '' }", &["2:23: \"text\" does not go with \"shell\""]);
    check_action(
        "{ shell = ['ls'] }",
        &["2:17: \"shell\" must be a string that is not empty, not a list"],
    );
    check_action("{ wait = -1 }", &["2:16: \"wait\" must be seconds from 0 to 86400, not -1"]);
    check_action("{ wait = inf }", &["2:16: \"wait\" must be seconds from 0 to 86400, not inf"]);
    check_action("{ hang = 'yes' }", &["2:16: \"hang\" must be true, not 'yes'"]);
    check_action(
        "{ write = 'a', text = '', executable = 1 }",
        &["2:46: \"executable\" must be true or false, not 1"],
    );
}

#[test]
fn paths_stay_inside_the_worktree() {
    let absolute =
        "2:17: the path \"/etc/x\" is absolute; expected a path relative to the worktree";
    check_action("{ write = '/etc/x', text = '' }", &[absolute]);
    check_action(
        "{ delete = 'a/../../x' }",
        &[
            "2:18: the path \"a/../../x\" leaves the worktree with \"..\"; \"write-outside\" tries that on purpose",
        ],
    );
    check_action("{ delete = '.' }", &["2:18: the path \".\" is not a file name"]);
    check_action(
        "{ delete = '' }",
        &["2:18: \"delete\" must be a string that is not empty, not ''"],
    );
    check_action("{ delete = \"a\\u0000\" }", &["2:18: the path \"a\\0\" holds a NUL character"]);
    check_action(
        "{ write-outside = 'a', text = '' }",
        &["2:25: the path \"a\" stays inside the worktree; \"write\" does that"],
    );
}

#[test]
fn reports_all_problems_in_the_order_of_the_file() {
    check(
        "verison = 1\n[[red]]\ndo = [\n  { write = '/a', txt = '' },\n  { wait = 'é' }, { shell = 1 },\n]\n[[green]]\nfail = 1\n",
        &[
            "1:1: unknown key \"verison\"; did you mean \"version\"?",
            "4:3: \"write\" needs \"text\"",
            "4:13: the path \"/a\" is absolute; expected a path relative to the worktree",
            "4:19: unknown key \"txt\"; did you mean \"text\"?",
            "5:12: \"wait\" must be seconds from 0 to 86400, not 'é'",
            // One column for the é, although it has two bytes.
            "5:29: \"shell\" must be a string that is not empty, not 1",
            "8:8: \"fail\" must be a table like { kind = \"crash\" }, not 1",
        ],
    );
}

#[test]
fn reports_invalid_toml_with_its_position() {
    check("[[red]]\nnote = \n", &["2:8: string values must be quoted, expected literal string"]);
    check("[[red]]\nnote = 'a'\nnote = 'b'\n", &["3:1: duplicate key"]);
    check("[[red]\n", &["1:7: unclosed array table, expected `]`"]);
}

#[test]
fn accepts_byte_order_marks_and_crlf() {
    check("\u{feff}[[red]]\r\nnote = 'a'\r\ndo = [{ print = '''a\r\nb''' }]\r\n", &[]);
    check(
        "\u{feff}oops = 1\r\n[[red]]\r\n\r\nnote = 1\r\n",
        &[
            "1:1: unknown key \"oops\"; expected version, agent, plan, red, green, diagnosis or refactor",
            "4:8: \"note\" must be a string, not 1",
        ],
    );
}

#[test]
fn reports_where_a_file_is_not_utf8() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kata.toml");
    std::fs::write(&path, b"[[red]]\nnote = '\xff'\n").unwrap();
    assert_eq!(problems(Script::read(&path)), ["2:9: not UTF-8"]);
    let missing =
        Script::read(&folder.path().join("other.toml")).unwrap_err().downcast::<Failure>().unwrap();
    assert!(
        missing.what.starts_with("cannot read the script ") && missing.what.ends_with("other.toml")
    );
    assert_eq!(missing.evidence, ["No such file or directory (os error 2)"]);
}

/// The code blocks of one language in the page that documents the format.
fn blocks(language: &str) -> Vec<&'static str> {
    const PAGE: &str = include_str!("../../../../../../docs/book/scripted-agent.md");
    let rest = PAGE.split(&format!("```{language}\n")).skip(1).collect::<Vec<_>>();
    rest.into_iter().filter_map(|rest| rest.split_once("```")).map(|(block, _)| block).collect()
}

#[test]
fn parses_every_script_of_the_handbook() {
    let scripts = blocks("toml");
    assert_eq!(scripts.len(), 2, "the page lost an example");
    for script in scripts {
        check(script, &[]);
    }
}

#[test]
fn the_invalid_script_of_the_handbook_has_the_shown_problems() {
    let [script, message] = blocks("text")[..] else { panic!("the page lost its faulty script") };
    let shown = message.lines().filter_map(|line| line.strip_prefix("  kata.toml:"));
    check(script, &shown.collect::<Vec<_>>());
}
