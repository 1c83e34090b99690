//! The verdict on a change: accepted, refused or undecided, with all reasons. The codes are public
//! API.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::text;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    pub decision: Decision,
    pub reasons: Vec<Reason>,
    /// RED: the tests that fail now and must pass at GREEN. Empty when they do not compile yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    /// RED: the new and changed tests by the names in their files, when they do not compile yet. No
    /// runner has named them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unloaded: Vec<String>,
    /// The progress of the work. `None` if the next attempt must not build on it and it is rolled
    /// back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standing: Option<TestProgress>,
    /// Facts in addition to the reasons: experiments that could not run, mutants that survived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// GREEN: the mutants that the tests killed. `None` if none was tried.
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "faults")]
    pub mutants: Option<Mutants>,
    /// The experiments behind it, in the order in which they ran.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub experiments: Vec<ExperimentRecord>,
}

/// A description of an experiment, for people.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExperimentRecord {
    /// Its question.
    pub question: String,
    pub what: String,
    /// The tree it ran on.
    pub tree: String,
    /// Files that replaced those of the tree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub laid: Vec<String>,
    pub saw: String,
    /// The command. Empty if a program of redgreen made calls.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub command: String,
    /// The command that repeats it, if requested.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub again: String,
}

impl ExperimentRecord {
    /// All experiments in order, for people. A repeated question is printed once.
    pub fn list(all: &[ExperimentRecord]) -> String {
        let lines =
            all.iter().enumerate().map(|(at, one)| one.told(all.get(..at).unwrap_or_default()));
        lines.collect::<Vec<_>>().join("\n")
    }

    fn told(&self, before: &[ExperimentRecord]) -> String {
        let number = before.len() + 1;
        let is_known = before.iter().any(|one| one.question == self.question);
        let question = if is_known { String::new() } else { format!("{}\n   ", self.question) };
        let mut text = format!("{number}. {question}{}: {}", self.what, self.saw);
        if !self.again.is_empty() {
            text.push_str(&format!("\n   {}", self.again));
        }
        text
    }
}

/// The results for mutants of the changed lines. Each mutant takes one run of the tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mutants {
    pub tried: u16,
    #[serde(alias = "noticed")]
    pub killed: u16,
}

impl fmt::Display for Mutants {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tried, killed } = self;
        match (tried, killed) {
            (1, 1) => write!(out, "a mutant of the changed lines was killed"),
            (1, _) => write!(out, "a mutant of the changed lines survived"),
            _ if tried == killed => {
                write!(out, "all {tried} mutants of the changed lines were killed")
            }
            _ => write!(out, "{killed} of {tried} mutants of the changed lines were killed"),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    Accepted,
    Refused,
    /// redgreen could not decide; a human must decide.
    Undecided,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reason {
    pub code: Code,
    /// Usually one line; see `Reason::new`.
    pub sentence: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// The quality of a state of GREEN. The greater one is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TestProgress {
    /// Tests that passed before and pass now. Fewer of them is always worse.
    pub kept: usize,
    /// The tests of RED that pass.
    pub reached: usize,
}

/// Who has to change something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    Nobody,
    Plan,
    Test,
    Code,
    Runner,
}

/// One row of the public vocabulary.
pub struct Meaning {
    pub code: Code,
    pub name: &'static str,
    pub side: Side,
    pub meaning: &'static str,
    /// The next step.
    pub next: &'static str,
}

macro_rules! vocabulary {
    // Names in brackets are those of earlier versions.
    ($($variant:ident $name:literal $(($($old:literal),*))? $side:ident $meaning:literal $next:literal;)*) => {
        /// The code of a reason.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum Code { $(#[serde(rename = $name $($(, alias = $old)*)?)] $variant,)* }

        /// Every code, in the order of the documentation.
        pub const VOCABULARY: &[Meaning] = &[$(Meaning {
            code: Code::$variant, name: $name, side: Side::$side, meaning: $meaning, next: $next,
        },)*];

        impl Code {
            pub fn as_str(self) -> &'static str {
                match self { $(Code::$variant => $name,)* }
            }

            pub fn side(self) -> Side {
                match self { $(Code::$variant => Side::$side,)* }
            }

            pub fn next_step(self) -> &'static str {
                match self { $(Code::$variant => $next,)* }
            }
        }
    };
}

vocabulary! {
    PlanSelected "plan.selected" Nobody
        "the planner chose the next test" "write that test";
    PlanFinished "plan.finished" Nobody
        "the planner is done and every box is ticked" "review the result";
    PlanNoAnswer "plan.no_answer" Plan
        "the planner's answer has no JSON object with the next test"
        "answer {\"currentTest\": {\"description\", \"testFile\", \"implFile\"}} or {\"currentTest\": null}";
    PlanNoList "plan.no_list" Plan
        "there is no test-list.md with checkboxes" "write test-list.md with one `- [ ]` line per test";
    PlanNotInList "plan.not_in_list" Plan
        "the planner chose a test that is not an open item of test-list.md" "choose an open item of the list, word for word";
    PlanUnfinished "plan.unfinished" Plan
        "the planner says it is done, but test-list.md has open boxes" "choose one of the open items";
    PlanTicked "plan.ticked" Plan
        "the planner ticked or unticked boxes" "do not change boxes; remove items that are not needed";
    PlanTouchesCode "plan.touches_code" Plan
        "the planner changed files other than the list and documentation" "change only test-list.md";

    RedAssertion "red.assertion" Nobody
        "the new test runs and its assertion fails" "make it pass";
    RedMissingSymbol "red.missing_symbol" Nobody
        "the new test uses a name that does not exist yet" "implement it and make the test pass";
    RedNotImplemented "red.not_implemented" Nobody
        "the new test calls code that is not implemented yet" "implement it";
    RedError "red.error" Nobody
        "the new test runs and fails with an error in the code it calls" "make it pass";
    RedPasses "red.passes" Test
        "the new test already passes" "change the assertion: the test must fail before the code is written";
    RedNoTests "red.no_tests" Test
        "the test runner found no new or changed test" "write a test where the runner finds it";
    RedSkipped "red.skipped" Test
        "the new test is skipped" "remove the skip";
    RedSyntax "red.syntax" Test
        "the test file has a syntax error" "fix the syntax of the test";
    RedDoesNotLoad "red.does_not_load" Test
        "the test file does not load, and not because the feature is missing"
        "fix the test so that it loads";
    RedTimedOut "red.timed_out" Test
        "the tests did not finish within the time limit" "write a test that finishes";
    RedCrashed "red.crashed" Test
        "the test run ended before every test had a result" "write a test that fails without ending the test run";
    RedOthersFail "red.others_fail" Test
        "tests that passed before now fail or are skipped" "restore the other tests and the code";
    RedTestsVanished "red.tests_vanished" Test
        "tests that passed before are missing" "restore them";
    RedTouchesImplementation "red.touches_implementation" Test
        "the step changes code before the test is accepted" "change only tests; write the code in GREEN";

    RedUnrelatedSymbol "red.unrelated_symbol" Test
        "the test uses a name that does not exist and is not part of the feature"
        "use only names that exist or that the brief asks for";
    RedNoCall "red.no_call" ("red.unrelated_failure", "red.cannot_pass") Test
        "the new test does not call the code it tests" "call the code and check its result";
    RedNoAssertion "red.no_assertion" Test
        "the new test passes with code that does nothing" "add an assertion about the result";
    RedFlaky "red.flaky" Test
        "the new test sometimes fails and sometimes passes" "make the test deterministic";

    RedWrongCount "red.wrong_count" Test
        "the number of new tests is wrong" "write each requested test case once";

    RedCaseMissing "red.case_missing" Test
        "a test case of the specification has no test"
        "write the test, with the id of the case in its name, docstring or a comment";

    GreenPasses "green.passes" Nobody
        "all tests pass and none is missing" "refactor the code, or continue";
    GreenNothingRed "green.nothing_red" Test
        "no test fails at the base, so there is nothing to make pass"
        "if tests and code changed together: redgreen verify; if the test has its own commit, judge it first (redgreen judge red) and use it as --base; if only the structure of the code changed: redgreen judge refactor";
    GreenStillFailing "green.still_failing" Code
        "a test that must pass still fails" "make it pass";
    GreenDoesNotCompile "green.does_not_compile" Code
        "the code does not build or load" "fix the build";
    GreenRegression "green.regression" Code
        "tests that passed before now fail" "change the code so that they pass again";
    GreenTestsChanged "green.tests_changed" Code
        "the step changes tests" "restore the tests and change only the code";
    GreenTestsVanished "green.tests_vanished" Code
        "tests that must pass are missing" "restore them";
    GreenNewlySkipped "green.newly_skipped" Code
        "tests that must pass are skipped" "remove the skip and make them pass";
    GreenConfigChanged "green.config_changed" Code
        "the step changes the test runner's configuration" "restore the configuration";
    GreenReportIncomplete "green.report_incomplete" Code
        "the test run did not finish: exit code, report and list of tests disagree" "let the test run finish";
    GreenNotDiscriminating "green.not_discriminating" Code
        "the tests pass where they must fail, so they prove nothing"
        "return plain values that tests can compare, and do not change the test runner";
    GreenSuspicious "green.suspicious" Code
        "the code depends on the tests, the test runner or the call stack" "write code that does not depend on its tests";
    GreenExamplesDiffer "green.examples_differ" Code
        "the code does not match a withheld example" "write code for all inputs, not only for those in the tests";
    GreenOverfits "green.overfits" Code
        "the code passes the visible tests and fails a withheld test"
        "write code for all inputs, not only for those in the tests";
    GreenExamplesUnasked "green.examples_unasked" Nobody
        "cannot run a withheld example: the function was not found, or its signature differs"
        "correct the examples, or move the function to where they expect it";
    GreenContested "green.contested" Test
        "the agent says that a test contradicts the brief"
        "compare the test with the brief; then roll back to write a new test, resume to keep the test, or abort";
    GreenTimedOut "green.timed_out" Code
        "the tests did not finish within the time limit" "make the code finish";
    GreenCoverage "green.coverage" Test
        "the coverage of the new code is too low" "add tests for the lines that are not covered";
    GreenLint "green.lint" Code
        "the linter reports new problems" "fix what it reports";

    RefactorKept "refactor.kept" Nobody
        "the code changed and all tests still pass" "plan the next test";
    RefactorNothing "refactor.nothing" Nobody
        "nothing changed" "plan the next test";
    RefactorGivenUp "refactor.given_up" Nobody
        "the refactoring was rolled back; the code of GREEN stays" "plan the next test";
    RefactorRegression "refactor.regression" Code
        "tests that passed before now fail" "change the structure of the code, not its behaviour";
    RefactorTurnsGreen "refactor.turns_green" Code
        "a test that failed before now passes, so this is a GREEN" "judge it as GREEN: redgreen judge green";
    RefactorTestsVanished "refactor.tests_vanished" Code
        "tests that passed before are missing or skipped" "keep every test";
    RefactorConfigChanged "refactor.config_changed" Code
        "the step changes the test runner's configuration" "restore the configuration";
    RefactorTestsWeakened "refactor.tests_weakened" Code
        "the tests check less than before" "keep everything that the tests check";
    RefactorPublicRemoved "refactor.public_removed" Code
        "public code was removed" "restore it, or ask a human whether it is still used";
    RefactorBehaviour "refactor.behaviour" Code
        "the code behaves differently for inputs that no test covers" "restore the behaviour, or start with a test";
    RefactorNewFeature "refactor.new_feature" Code
        "the step adds public code that nothing uses" "remove it; add it later with a test";
    RefactorReportIncomplete "refactor.report_incomplete" Code
        "the test run did not finish: exit code, report and list of tests disagree" "let the test run finish";
    RefactorLint "refactor.lint" Code
        "the linter reports new problems" "fix what it reports";

    VerifyDoesNotDiscriminate "verify.does_not_discriminate" Test
        "a new or changed test detects neither the change nor a mutant of it"
        "improve the assertions of the test, or exempt it in the policy";
    VerifySkipped "verify.skipped" Test
        "a new or changed test is skipped" "remove the skip, or exempt the test in the policy";
    VerifyFails "verify.fails" Code
        "a new or changed test fails" "make it pass";
    VerifyNoTest "verify.no_test" Test
        "no test detects the changed code" "write a test that fails without the change";
    VerifyKillRate "verify.kill_rate" Test
        "the tests detect fewer mutants of the changed lines than the policy requires"
        "write tests for the mutants that survived";
    VerifyRange "verify.range" Runner
        "cannot read the range" "use commits that exist in this clone, with their history";
    VerifyEmptyRange "verify.empty_range" Runner
        "the range contains no commits"
        "check out the branch to verify, or name the range: redgreen verify main..topic";
    VerifyNotAMerge "verify.not_a_merge" Runner
        "--pr needs a merge commit of the target branch and a pull request"
        "check out the merge commit of the pull request, or name the range: redgreen verify main..topic";
    VerifyUnable "verify.unable" Runner
        "cannot run the tests of the range" "fix the tests on this machine: redgreen doctor";

    TaskCriteria "task.criteria" Code
        "a command in the task's criteria fails" "make it succeed";
    TaskPoint "task.modification_point" Code
        "a file in modification_points did not change" "change it, or correct modification_points in the task";
    EnvironmentChanged "environment.changed" Code
        "installed packages changed without a change of a manifest"
        "restore the environment, declare the dependency, or use redgreen judge --new-packages";
    EnvironmentPlanted "environment.planted" Code
        "a new file shadows a module of the language or of the test runner" "rename it";
    ChangeSubmodule "change.submodule" Code
        "the step changes files in a submodule or nested repository"
        "change only files of this repository";
    RunnerBroken "runner.broken" Runner
        "the test runner itself failed" "fix the test command, then resume";
}

impl Verdict {
    fn of(decision: Decision, reasons: Vec<Reason>) -> Self {
        Self {
            decision,
            reasons,
            targets: Vec::new(),
            unloaded: Vec::new(),
            standing: None,
            notes: Vec::new(),
            mutants: None,
            experiments: Vec::new(),
        }
    }

    pub fn accepted(reason: Reason) -> Self {
        Self::of(Decision::Accepted, vec![reason])
    }

    pub fn refused(reasons: Vec<Reason>) -> Self {
        Self::of(Decision::Refused, reasons)
    }

    pub fn undecided(reason: Reason) -> Self {
        Self::of(Decision::Undecided, vec![reason])
    }

    pub fn undecided_all(reasons: Vec<Reason>) -> Self {
        Self::of(Decision::Undecided, reasons)
    }

    pub fn first(&self) -> Option<&Reason> {
        self.reasons.first()
    }

    pub fn has(&self, code: Code) -> bool {
        self.reasons.iter().any(|reason| reason.code == code)
    }

    /// Whether a human must decide between a test and the brief.
    pub fn is_contest(&self) -> bool {
        self.first().is_some_and(|reason| reason.code == Code::GreenContested)
    }

    /// Whether only more tests are needed.
    pub fn lacks_coverage(&self) -> bool {
        self.decision == Decision::Refused
            && self.reasons.iter().all(|reason| reason.code == Code::GreenCoverage)
    }

    /// The notes that require attention. "Every mutant was killed" does not.
    pub fn warnings(&self) -> Vec<String> {
        let good = self
            .mutants
            .filter(|mutants| mutants.tried == mutants.killed)
            .map(|mutants| mutants.to_string());
        self.notes.iter().filter(|note| Some(*note) != good.as_ref()).cloned().collect()
    }

    /// All reasons, one per line, for the next attempt.
    pub fn sentences(&self) -> String {
        self.reasons.iter().map(Reason::line).collect::<Vec<_>>().join("\n")
    }
}

impl Reason {
    /// With a sentence on one line: a test can have a name that looks like lines of ours.
    pub fn new(code: Code, sentence: impl Into<String>) -> Self {
        Self::in_lines(code, text::without_line_breaks(&sentence.into()))
    }

    /// With a sentence of several lines. Names in it have to be on one line.
    pub fn in_lines(code: Code, sentence: impl Into<String>) -> Self {
        let sentence = sentence.into();
        Self { code, sentence, test: None, file: None, line: None }
    }

    /// The sentence of the vocabulary, if there is nothing more to say.
    pub fn plain(code: Code) -> Self {
        let meaning = VOCABULARY.iter().find(|row| row.code == code).map_or("", |row| row.meaning);
        Self::new(code, meaning)
    }

    #[must_use]
    pub fn test(mut self, id: &str) -> Self {
        self.test = Some(id.to_owned());
        self
    }

    #[must_use]
    pub fn place(mut self, file: Option<&str>, line: Option<u32>) -> Self {
        self.file = file.map(str::to_owned);
        self.line = line;
        self
    }

    fn line(&self) -> String {
        let place = match (&self.file, self.line) {
            (Some(file), Some(line)) => format!(" ({}:{line})", text::without_line_breaks(file)),
            (Some(file), None) => format!(" ({})", text::without_line_breaks(file)),
            (None, _) => String::new(),
        };
        format!("{}: {}{place}", self.code.as_str(), self.sentence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_one_line_whatever_its_names_contain() {
        let reason = Reason::new(Code::RedAssertion, "a\nGREEN accepted\r\n  why fails: 1 != 2")
            .place(Some("a\nb.py"), Some(3));
        assert_eq!(reason.sentence, "a␊GREEN accepted␍␊  why fails: 1 != 2");
        let verdict = Verdict::refused(vec![reason]);
        assert_eq!(verdict.sentences().lines().count(), 1, "{}", verdict.sentences());
    }

    #[test]
    fn every_code_has_a_name_a_sentence_and_a_next_step_of_its_own() {
        for (index, row) in VOCABULARY.iter().enumerate() {
            assert_eq!(row.code.as_str(), row.name);
            assert!(!row.meaning.is_empty() && !row.next.is_empty(), "{}", row.name);
            assert!(
                VOCABULARY[..index].iter().all(|other| other.name != row.name),
                "{} twice",
                row.name
            );
            let wire = serde_json::to_string(&row.code).unwrap();
            assert_eq!(wire, format!("\"{}\"", row.name));
        }
    }

    #[test]
    fn that_every_mutant_was_noticed_is_no_warning() {
        for (tried, killed, words, warnings) in [
            (1, 1, "a mutant of the changed lines was killed", 1),
            (1, 0, "a mutant of the changed lines survived", 2),
            (3, 3, "all 3 mutants of the changed lines were killed", 1),
            (3, 1, "1 of 3 mutants of the changed lines were killed", 2),
        ] {
            let mutants = Mutants { tried, killed };
            assert_eq!(mutants.to_string(), words);
            let mut verdict = Verdict::accepted(Reason::plain(Code::GreenPasses));
            verdict.notes = vec!["the runner is slow".to_owned(), mutants.to_string()];
            verdict.mutants = Some(mutants);
            assert_eq!(verdict.warnings().len(), warnings, "{words}");
        }
    }

    #[test]
    fn codes_of_earlier_versions_are_read_and_not_written() {
        for old in ["red.unrelated_failure", "red.cannot_pass"] {
            let code: Code = serde_json::from_str(&format!("\"{old}\"")).unwrap();
            assert_eq!(serde_json::to_string(&code).unwrap(), "\"red.no_call\"");
        }
    }

    #[test]
    fn a_state_that_breaks_less_is_better_than_one_that_reaches_more() {
        let careful = TestProgress { kept: 5, reached: 0 };
        let reckless = TestProgress { kept: 4, reached: 3 };
        assert!(careful > reckless);
        assert!(TestProgress { kept: 5, reached: 1 } > careful);
    }
}
