//! Progress during a slow step: a live line on a terminal, occasional plain lines elsewhere.

use super::Story;
use super::scripts::{DONE, GREEN, PLAN, RED, turn};
use super::terminal::on_a_terminal;
use crate::runner::is_installed;

const RUN: &str = "run --no-input --script @kata.toml \"an adder\"";

/// Writes the code after a delay.
fn slow_green(seconds: f32) -> String {
    GREEN.replace("do = [", &format!("do = [{{ wait = {seconds:?} }}, "))
}

fn story(turns: &[&str]) -> Story {
    let story = Story::new();
    story.script("kata.toml", &format!("agent = \"tester\"\n{}", turns.concat()));
    story
}

/// The lines that remain on the screen at the end.
fn left_on_screen(screen: &str) -> String {
    let line = |text: &str| {
        let (mut shown, mut at) = (Vec::new(), 0);
        for letter in text.chars() {
            match letter {
                '\r' => at = 0,
                letter if at < shown.len() => {
                    shown[at] = letter;
                    at += 1;
                }
                letter => {
                    shown.push(letter);
                    at += 1;
                }
            }
        }
        shown.into_iter().collect::<String>().trim_end().to_owned()
    };
    screen.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// How many of a live line's states appeared on the screen. A busy machine does not draw all of
/// them.
fn shown(screen: &str, moments: &[&str]) -> usize {
    moments.iter().filter(|moment| screen.contains(**moment)).count()
}

const BARS: &[&str] = &[
    "[====            ] 1/4 tests",
    "[========        ] 2/4 tests",
    "[============    ] 3/4 tests",
];

#[test]
fn fault_15_a_terminal_shows_a_live_line_during_a_slow_turn_and_none_at_the_end() {
    let story = story(&[PLAN, RED, &slow_green(4.5), DONE]);
    let (code, screen) = on_a_terminal(&story, &format!("--color never {RUN}"), &[]);
    assert_eq!(code, Some(3), "{screen}");
    let seconds = [1, 2, 3, 4].map(|second| format!("1 GREEN     tester works 0:0{second}"));
    assert!(shown(&screen, &seconds.each_ref().map(String::as_str)) >= 2, "{screen:?}");
    assert!(!screen.contains('\u{1b}'), "no colours:\n{screen:?}");
    let left = left_on_screen(&screen);
    assert!(left.contains("1 GREEN     accepted") && !left.contains(" works "), "{left}");
}

#[test]
fn fault_15_a_terminal_shows_how_many_tests_are_done() {
    let slow = "import time, pytest\n\n\n@pytest.mark.parametrize('number', range(4))\ndef test_slow(number):\n    \
                time.sleep(0.7)\n";
    let story = story(&[PLAN, RED, GREEN, DONE]);
    story.file("test_slow.py", slow).commit("slow tests");
    let (code, screen) = on_a_terminal(&story, &format!("--color never {RUN}"), &[]);
    assert_eq!(code, Some(3), "{screen}");
    assert!(shown(&screen, BARS) >= 1, "{screen:?}");
    assert!(screen.contains("judging with pytest"), "{screen:?}");
    let left = left_on_screen(&screen);
    assert!(!left.contains("/4 tests"), "{left}");
    let (code, screen) = on_a_terminal(&story, "--color never test", &[]);
    assert_eq!(code, Some(0), "{screen}");
    assert!(shown(&screen, BARS) >= 1, "{screen:?}");
    assert!(!left_on_screen(&screen).contains("/4 tests"), "{screen:?}");
}

/// A run starts with the test suite, before it has anything else to show. Doctor runs the suite
/// several times.
#[test]
fn fault_15_a_terminal_shows_the_first_run_of_the_tests() {
    let slow = "import time, pytest\n\n\n@pytest.mark.parametrize('number', range(4))\ndef test_slow(number):\n    \
                time.sleep(0.7)\n";
    let story = story(&["[[plan]]\nfail = { kind = \"unusable\" }\n"]);
    story.file("test_slow.py", slow).commit("slow tests");
    let (code, screen) = on_a_terminal(&story, &format!("--color never {RUN}"), &[]);
    assert_eq!(code, Some(4), "{screen}");
    assert!(screen.contains("running the tests with pytest 0:0"), "{screen:?}");
    assert!(shown(&screen, BARS) >= 1, "{screen:?}");
    assert!(!left_on_screen(&screen).contains("running the tests with"), "{screen:?}");
    let (code, screen) = on_a_terminal(&story, "--color never doctor", &[]);
    assert_eq!(code, Some(0), "{screen}");
    assert!(screen.contains("running every test of pytest 0:0"), "{screen:?}");
    assert!(shown(&screen, BARS) >= 1, "{screen:?}");
    assert!(!left_on_screen(&screen).contains("running every test"), "{screen:?}");
}

/// A runner without a redgreen reporter prints a word for each test.
#[test]
fn fault_15_the_tests_of_cargo_and_go_are_counted_while_they_run() {
    let rust = [
        (
            "Cargo.toml",
            "[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n",
        ),
        (".gitignore", "target/\nCargo.lock\n"),
        ("src/lib.rs", ""),
        (
            "tests/slow.rs",
            "fn wait(s: u64) { std::thread::sleep(std::time::Duration::from_secs(s)) }\n\
             #[test]\nfn first() { wait(1) }\n#[test]\nfn second() { wait(5) }\n",
        ),
    ];
    let go = [
        ("go.mod", "module calc\n\ngo 1.18\n"),
        (
            "slow_test.go",
            "package calc\n\nimport (\n\t\"testing\"\n\t\"time\"\n)\n\n\
             func TestFirst(t *testing.T) { time.Sleep(time.Second) }\n\n\
             func TestSecond(t *testing.T) { time.Sleep(4 * time.Second) }\n",
        ),
    ];
    for (program, files) in [("cargo", &rust[..]), ("go", &go[..])] {
        if !is_installed(program) {
            continue;
        }
        let story = Story::pytest();
        std::fs::remove_file(story.root.join("pytest.ini")).unwrap();
        for (name, text) in files {
            story.file(name, text);
        }
        story.commit("slow tests");
        let (code, screen) = on_a_terminal(&story, "--color never test", &[]);
        assert_eq!(code, Some(0), "{screen}");
        assert!(screen.contains(" · 1 test\r"), "{screen:?}");
        assert!(!left_on_screen(&screen).contains(" · 1 test"), "{screen:?}");
    }
}

#[test]
fn fault_15_ctrl_c_leaves_no_live_line() {
    let story = story(&[PLAN, &turn("red", "{ wait = 60 }"), GREEN, DONE]);
    let (code, screen) =
        on_a_terminal(&story, &format!("--color never {RUN}"), &[("works 0:0", "\u{3}")]);
    assert_eq!(code, Some(130), "{screen}");
    let left = left_on_screen(&screen);
    assert!(
        left.contains("interrupted") && !left.contains(" works ") && !left.contains("^C"),
        "{left}"
    );
}

#[test]
fn fault_15_without_a_terminal_a_plain_line_comes_every_half_minute() {
    let story = story(&[PLAN, RED, &slow_green(35.0), DONE]);
    let run = story.redgreen(RUN).exits(3);
    let lines: Vec<&str> = run.stderr.lines().filter(|line| line.contains(" works ")).collect();
    let [line] = lines[..] else { panic!("one line, at half a minute: {}", run.stderr) };
    let seconds = line
        .strip_prefix("  1 GREEN     tester works 0:3")
        .and_then(|second| second.parse::<u32>().ok());
    assert!(seconds.is_some_and(|second| second < 5), "{line}");
    assert!(!run.stderr.contains('\r'), "{:?}", run.stderr);
}

#[test]
fn fault_15_no_live_line_with_quiet_or_json() {
    for flag in ["--quiet", "--json"] {
        let story = story(&[PLAN, RED, &slow_green(1.5), DONE]);
        let (code, screen) = on_a_terminal(&story, &format!("{flag} {RUN}"), &[]);
        assert_eq!(code, Some(3), "{screen}");
        assert!(!screen.contains(" works ") && !screen.contains('\r'), "{screen:?}");
    }
}

#[test]
fn fault_15_a_terminals_lines_end_between_words() {
    let story = story(&[PLAN, RED, GREEN, DONE]);
    let (_, screen) = on_a_terminal(&story, &format!("--color never {RUN}"), &[]);
    let left = left_on_screen(&screen);
    // Commands and paths are not wrapped, so that users can copy them.
    let is_copied =
        |line: &str| ["  journal", "  branch", "  next"].iter().any(|name| line.starts_with(name));
    let long: Vec<&str> =
        left.lines().filter(|line| line.chars().count() > 80 && !is_copied(line)).collect();
    assert!(long.is_empty(), "{long:#?}\n{left}");
}
