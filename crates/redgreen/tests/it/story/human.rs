//! A person as the agent: their files stay unchanged, however and whenever the process ends.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::Story;
use super::scripts::{DONE, GREEN, PLAN, RED};
use super::terminal::terminal;

/// The questions on the screen. The test decides when to answer the first one, which ends the turn;
/// the second one asks for the name of the next test.
const QUESTIONS: &[(&str, Option<&str>)] =
    &[("Press Enter when you are done", None), ("not decided yet): ", Some("\n"))];

const PATIENCE: Duration = Duration::from_secs(240);

/// redgreen on a terminal, and the person who uses it.
struct Person<'a> {
    story: &'a Story,
    child: Child,
}

impl<'a> Person<'a> {
    fn starts(story: &'a Story, line: &str) -> Self {
        Self::starts_and_is_killed(story, line, "")
    }

    /// The same, but the program is killed before or after an effect: `before:2`.
    fn starts_and_is_killed(story: &'a Story, line: &str, at: &str) -> Self {
        for left in ["asked", "go"] {
            fs::remove_file(story.place(left)).ok();
        }
        let mut terminal = terminal(story, line, QUESTIONS);
        terminal.env("REDGREEN_KILL_AT", at).stdout(Stdio::piped()).stderr(Stdio::null());
        Self { story, child: terminal.spawn().unwrap() }
    }

    /// Whether the screen asks for the next turn before the program ends.
    #[track_caller]
    fn is_asked_at_all(&mut self) -> bool {
        let (asked, since) = (self.story.place("asked"), Instant::now());
        while !asked.exists() {
            if self.child.try_wait().unwrap().is_some() {
                return false;
            }
            assert!(since.elapsed() < PATIENCE, "nobody asks, and nothing ends");
            thread::sleep(Duration::from_millis(20));
        }
        true
    }

    /// Waits until the screen asks for the next turn. Returns the screen's text and the worktree.
    #[track_caller]
    fn is_asked(&self) -> (String, PathBuf) {
        let (asked, since) = (self.story.place("asked"), Instant::now());
        while !asked.exists() {
            assert!(since.elapsed() < PATIENCE, "nobody asks");
            thread::sleep(Duration::from_millis(20));
        }
        let screen = String::from_utf8_lossy(&fs::read(&asked).unwrap()).replace("\r\n", "\n");
        fs::remove_file(asked).unwrap();
        let place =
            screen.rsplit_once("  in   ").unwrap().1.lines().next().unwrap().trim().to_owned();
        (screen, place.into())
    }

    fn does(&self, what: &str) {
        fs::write(self.story.place("go.part"), what).unwrap();
        fs::rename(self.story.place("go.part"), self.story.place("go")).unwrap();
    }

    /// The exit code and the text on the screen.
    fn ends(mut self) -> (Option<i32>, String) {
        let mut screen = Vec::new();
        self.child.stdout.take().unwrap().read_to_end(&mut screen).unwrap();
        let status = self.child.wait().unwrap();
        (status.code(), String::from_utf8_lossy(&screen).replace("\r\n", "\n"))
    }
}

/// Stops redgreen if a test fails, so that it does not keep waiting on its terminal.
impl Drop for Person<'_> {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The `git status` of the worktree, and every file in it.
fn seen(story: &Story, worktree: &Path) -> (String, Vec<(String, Vec<u8>)>) {
    let status = story
        .command("git")
        .current_dir(worktree)
        .args(["status", "--porcelain", "--untracked-files=all"])
        .output()
        .unwrap();
    assert!(status.status.success(), "{status:?}");
    let mut all = BTreeMap::new();
    super::collect(worktree, worktree, &mut all);
    let litter = |name: &str| name.contains("__pycache__") || name.contains(".pytest_cache");
    let files = all.into_iter().filter(|(name, _)| !litter(name)).collect();
    (String::from_utf8(status.stdout).unwrap(), files)
}

const RUN: &str = "run --agent human \"a calculator\"";
const TEST: &str = "import unittest\nfrom calc import add\n\n\nclass Tests(unittest.TestCase):\n    \
                    def test_adds(self):\n        assert add(1, 2) == 3\n        assert add(-4, 9) == 5\n";

/// The person has planned, and the screen asks for the test.
fn at_red(story: &Story) -> (Person<'_>, PathBuf) {
    let person = Person::starts(story, RUN);
    let (_, worktree) = person.is_asked();
    fs::write(worktree.join("test-list.md"), "- [ ] adds\n").unwrap();
    person.does("enter");
    let (screen, worktree) = person.is_asked();
    assert!(screen.contains("RED: "), "{screen}");
    (person, worktree)
}

#[test]
fn fault_7_ctrl_c_and_sigkill_leave_a_persons_files_where_they_are_and_resume_goes_on_with_them() {
    for signal in ["INT", "KILL"] {
        let story = Story::new();
        let (person, worktree) = at_red(&story);
        // Half a test, a staged file, a changed file, a deleted file and an untracked file.
        fs::write(worktree.join("test_calc.py"), "from calc import ad").unwrap();
        fs::write(worktree.join("notes.md"), "remember the minus\n").unwrap();
        fs::write(worktree.join("test-list.md"), "- [ ] adds\n- [ ] subtracts\n").unwrap();
        story.command("git").current_dir(&worktree).args(["add", "notes.md"]).status().unwrap();
        let before = seen(&story, &worktree);
        person.does(signal);
        let (code, screen) = person.ends();
        assert!(code == Some(130) || signal == "KILL", "{code:?} {screen}");
        assert_eq!(seen(&story, &worktree), before, "{signal}: right after it");

        let person = Person::starts(&story, "resume");
        let (screen, place) = person.is_asked();
        assert_eq!(place, worktree, "{screen}");
        assert!(screen.contains("kept your files in"), "{screen}");
        assert_eq!(seen(&story, &worktree), before, "{signal}: after resume");
        // The same again, with nothing typed in between.
        person.does(signal);
        person.ends();
        assert_eq!(seen(&story, &worktree), before);
        let person = Person::starts(&story, "resume");
        person.is_asked();
        assert_eq!(seen(&story, &worktree), before);
        // The turn ends with those files, and the run continues.
        fs::write(worktree.join("test_calc.py"), TEST).unwrap();
        person.does("enter");
        let (screen, _) = person.is_asked();
        assert!(screen.contains("GREEN: "), "{screen}");
        assert_eq!(fs::read_to_string(worktree.join("notes.md")).unwrap(), "remember the minus\n");
        person.does("INT");
        person.ends();
        story.redgreen("abort").exits(0);
        assert!(!worktree.exists(), "an aborted run leaves no worktree");
    }
}

/// The minimum number of kill points in a turn.
const MOMENTS_MIN: u32 = 10;

/// Every point before or after an effect, in order.
fn moments() -> impl Iterator<Item = String> {
    const EFFECTS_MAX: usize = 20;
    (1..=EFFECTS_MAX).flat_map(|number| ["before", "after"].map(|side| format!("{side}:{number}")))
}

#[test]
fn fault_7_killed_before_and_after_each_effect_a_persons_files_stay() {
    let story = Story::new();
    let (person, worktree) = at_red(&story);
    fs::write(worktree.join("test_calc.py"), "from calc import ad").unwrap();
    fs::write(worktree.join("notes.md"), "remember the minus\n").unwrap();
    story.command("git").current_dir(&worktree).args(["add", "notes.md"]).status().unwrap();
    let before = seen(&story, &worktree);
    person.does("KILL");
    person.ends();
    // From the start to the question.
    let mut killed = 0;
    for at in moments() {
        killed += 1;
        let mut person = Person::starts_and_is_killed(&story, "resume", &at);
        let asked = person.is_asked_at_all();
        person.does("KILL");
        person.ends();
        assert_eq!(seen(&story, &worktree), before, "{at}");
        if asked {
            break;
        }
        assert_ne!(at, "after:20", "nobody is ever asked");
    }
    // From the answer to the next question: the accepted work is committed, and every file stays.
    fs::write(worktree.join("test_calc.py"), TEST).unwrap();
    let (_, files) = seen(&story, &worktree);
    let mut screen = String::new();
    for at in moments().skip(2) {
        killed += 1;
        let mut person = Person::starts_and_is_killed(&story, "resume", &at);
        if person.is_asked_at_all() {
            (screen, _) = person.is_asked();
            if screen.contains("GREEN: ") {
                person.does("KILL");
                person.ends();
                break;
            }
            person.does("enter");
        }
        if person.is_asked_at_all() {
            (screen, _) = person.is_asked();
            person.does("KILL");
        }
        person.ends();
        assert_eq!(seen(&story, &worktree).1, files, "{at}");
    }
    assert!(screen.contains("GREEN: "), "{screen}");
    assert_eq!(seen(&story, &worktree).1, files);
    assert!(killed >= MOMENTS_MIN, "killed at {killed} moments only");
}

/// The engine owns the boxes and reports its changes to them at the end of a turn. Until then the
/// file belongs to the person.
#[test]
fn fault_7_a_persons_list_is_theirs_until_their_turn_is_over() {
    let story = Story::new();
    let person = Person::starts(&story, RUN);
    let (_, worktree) = person.is_asked();
    let list = worktree.join("test-list.md");
    fs::write(&list, "- [x] adds\n\nand a thought\n").unwrap();
    let before = seen(&story, &worktree);
    person.does("INT");
    person.ends();
    let person = Person::starts(&story, "resume");
    person.is_asked();
    assert_eq!(seen(&story, &worktree), before, "planning, after resume");
    person.does("enter");
    let (screen, _) = person.is_asked();
    assert!(screen.contains("unticked \"adds\"") && screen.contains("RED: "), "{screen}");

    // An idea that the person adds during RED waits for the next planning.
    fs::write(worktree.join("test_calc.py"), TEST).unwrap();
    let ideas = "- [ ] adds\n- [ ] an idea of mine\n";
    fs::write(&list, ideas).unwrap();
    person.does("enter");
    let (screen, _) = person.is_asked();
    assert!(
        screen.contains("kept your changes to test-list.md") && screen.contains("GREEN: "),
        "{screen}"
    );
    assert_eq!(fs::read_to_string(&list).unwrap(), ideas);
    assert!(
        !story.git(&format!("show {}:test-list.md", story.branch())).contains("idea"),
        "not judged, not committed"
    );
    fs::write(worktree.join("calc.py"), "def add(a, b):\n    return a + b\n").unwrap();
    person.does("enter");
    let (screen, _) = person.is_asked();
    assert!(screen.contains("REFACTOR: "), "{screen}");
    person.does("enter");
    let (screen, _) = person.is_asked();
    assert!(screen.rsplit("REFACTOR: ").next().unwrap().contains("PLAN: "), "{screen}");
    assert_eq!(fs::read_to_string(&list).unwrap(), "- [x] adds\n- [ ] an idea of mine\n");
    person.does("INT");
    person.ends();
}

#[test]
fn fault_7_killed_while_they_are_judged_a_person_keeps_what_they_typed_meanwhile() {
    for (signal, after_ms) in [("KILL", 300), ("INT", 0), ("INT", 300), ("INT", 900)] {
        let story = Story::new();
        let (person, worktree) = at_red(&story);
        fs::write(worktree.join("test_calc.py"), TEST).unwrap();
        person.does("enter");
        // The tests are running now, and the person continues to type.
        thread::sleep(Duration::from_millis(after_ms));
        fs::write(worktree.join("idea.md"), "typed while the tests ran\n").unwrap();
        person.does(signal);
        person.ends();
        assert!(worktree.join("idea.md").exists(), "{signal} after {after_ms} ms");
        let person = Person::starts(&story, "resume");
        let (_, place) = person.is_asked();
        assert_eq!(place, worktree);
        assert_eq!(
            fs::read_to_string(worktree.join("idea.md")).unwrap(),
            "typed while the tests ran\n"
        );
        assert_eq!(fs::read_to_string(worktree.join("test_calc.py")).unwrap(), TEST);
        person.does("KILL");
        person.ends();
    }
}

#[test]
fn fault_7_no_number_of_refusals_takes_a_persons_work_back() {
    let story = Story::new();
    story.file("redgreen.toml", "backoff = 0.0\nmax-retries = 1\n").commit("few tries");
    let (person, worktree) = at_red(&story);
    for number in 0..4 {
        fs::write(worktree.join("calc.py"), format!("def add(a, b):\n    return a + {number}\n"))
            .unwrap();
        let before = seen(&story, &worktree);
        person.does("enter");
        let (screen, place) = person.is_asked();
        assert!(screen.contains("red.touches_implementation"), "{screen}");
        assert_eq!((place, seen(&story, &worktree)), (worktree.clone(), before), "{number}");
    }
    fs::remove_file(worktree.join("calc.py")).unwrap();
    fs::write(worktree.join("test_calc.py"), TEST).unwrap();
    person.does("enter");
    let (screen, _) = person.is_asked();
    assert!(screen.contains("GREEN: "), "{screen}");
    assert_eq!(
        story.git("for-each-ref refs/redgreen/salvage"),
        "",
        "nothing was taken back, so nothing is salvaged"
    );
    person.does("INT");
    person.ends();
}

/// A person sees only messages that concern people: nothing about agent sandboxes, no request to
/// withhold tests from themselves, and no refusal twice.
#[test]
fn fault_7_a_person_sees_each_message_for_people_once() {
    const REFUSED: &str = "calc.py was changed before the test was accepted";
    let story = Story::new();
    let person = Person::starts(&story, RUN);
    let (screen, worktree) = person.is_asked();
    for words in ["fence", "no telemetry", "agents see"] {
        assert!(!screen.contains(words), "{words}: {screen}");
    }
    fs::write(worktree.join("test-list.md"), "- [ ] adds\n").unwrap();
    person.does("enter");
    let (screen, _) = person.is_asked();
    assert!(screen.contains("RED: ") && !screen.contains("withheld"), "{screen}");
    fs::write(worktree.join("calc.py"), "def add(a, b):\n    return a\n").unwrap();
    person.does("enter");
    let (screen, _) = person.is_asked();
    assert_eq!(screen.matches(REFUSED).count(), 1, "{screen}");
    assert!(!screen.contains("retrying"), "no limit ends a person's tries: {screen}");
    person.does("INT");
    person.ends();
    // A person who comes back later has a new screen, so it repeats the refusal.
    let person = Person::starts(&story, "resume");
    let (screen, _) = person.is_asked();
    assert_eq!(screen.matches("red.touches_implementation").count(), 1, "{screen}");
    person.does("INT");
    person.ends();
}

/// A run that waits for its approval, with the run's branch checked out.
fn waiting() -> Story {
    let story = Story::waiting();
    story.git(&format!("switch -q {}", story.branch()));
    story
}

#[test]
fn fault_6_a_commit_on_the_runs_branch_is_judged_and_merged() {
    let story = waiting();
    let code = fs::read_to_string(story.root.join("calc.py")).unwrap();
    story.file("calc.py", &format!("# adds, and no more\n{code}")).commit("a comment of mine");
    let mine = story.git("rev-parse HEAD");
    story.git("switch -q main");
    story.redgreen("approve").exits(0).says("1 commit was added to").says("merged");
    assert!(story.log("main").contains(&"a comment of mine".to_owned()));
    story.git(&format!("merge-base --is-ancestor {mine} main"));
    assert!(fs::read_to_string(story.root.join("calc.py")).unwrap().starts_with("# adds"));
    assert_eq!(story.git("for-each-ref refs/heads/redgreen"), "", "nothing is left over");
}

#[test]
fn fault_6_a_refused_commit_is_said_by_approve_and_stays() {
    let story = waiting();
    story.file("calc.py", "def add(a, b):\n    return a - b\n").commit("a mistake of mine");
    let mine = story.git("rev-parse HEAD");
    story.git("switch -q main");
    let before = story.belongings_but_times();
    for _ in 0..2 {
        let said = story
            .redgreen("approve")
            .exits(3)
            .says("refactor.regression")
            .says("git commit --amend");
        said.says("git reset --keep").says("redgreen approve");
        assert_eq!(
            story.git(&format!("rev-parse {}", story.branch())),
            mine,
            "the commit is where it was"
        );
        assert_eq!(story.belongings_but_times(), before);
    }
    story.redgreen("why").exits(0).says("refactor.regression").says("git switch");
    // Without that commit, `approve` merges the run's own commits.
    let branch = story.branch();
    story.git(&format!("switch -q {branch}"));
    story.git("reset -q --hard HEAD~1");
    story.git("switch -q main");
    story.redgreen("approve").exits(0).says("merged");
}

#[test]
fn fault_6_a_rewritten_branch_is_not_merged_without_a_word() {
    let story = waiting();
    story.git("reset -q --hard HEAD~1");
    story.file("other.md", "something else\n").commit("instead of the last one");
    let mine = story.git("rev-parse HEAD");
    story.git("switch -q main");
    story.redgreen("approve").exits(3).says("was rewritten").says("git branch -f");
    assert_eq!(story.git(&format!("rev-parse {}", story.branch())), mine);
}

#[test]
fn fault_6_a_commit_while_the_run_is_stopped_is_noticed_by_resume() {
    let story = Story::new();
    // The script ends too early, which stops the run at that point.
    story.script("kata.toml", &[PLAN, RED].concat());
    story.redgreen("run --script @kata.toml \"an adder\"").exits(4);
    let branch = story.branch();
    story.git(&format!("switch -q {branch}"));
    story.file("NOTES.md", "mine\n").commit("notes of mine");
    story.git("switch -q main");
    // The turn that the script did not have still counts, so the script has GREEN twice.
    story.script("kata.toml", &[PLAN, RED, GREEN, GREEN, DONE].concat());
    let said = story.redgreen("resume --script @kata.toml").exits(3).says("1 commit was added to");
    said.says("REFACTOR  accepted").says("waiting for a human");
    story.redgreen("approve").exits(0);
    assert!(story.root.join("NOTES.md").exists());
    assert!(story.log("main").contains(&"notes of mine".to_owned()));
}

#[test]
fn fault_9_a_conflict_is_solved_with_the_commands_that_are_reported() {
    let story = waiting();
    story.git("switch -q main");
    story.file("calc.py", "# a calculator of mine\n").commit("meanwhile");
    story.redgreen("approve").exits(3).says("git merge main");
    let branch = story.branch();
    let code = story.git(&format!("show {branch}:calc.py"));
    story.git(&format!("switch -q {branch}"));
    assert!(!story.command("git").args(["merge", "-q", "main"]).status().unwrap().success());
    story.file("calc.py", &format!("# a calculator of mine\n{code}\n"));
    story.git("add calc.py");
    story.git("commit -q --no-edit");
    story.git("switch -q main");
    story.redgreen("approve").exits(0).says("merged");
    let merged = fs::read_to_string(story.root.join("calc.py")).unwrap();
    assert!(merged.contains("of mine") && merged.contains("return a + b"), "{merged}");
}
