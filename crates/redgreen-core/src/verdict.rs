//! What a change means for its phase: accepted, refused or undecided, with every reason. The codes are public API.

use std::fmt;

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    pub decision: Decision,
    pub reasons: Vec<Reason>,
    /// RED: the tests that fail now and must pass at GREEN. Empty when they do not compile yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    /// How far the work is; `None` when it may not be built upon and has to be rolled back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standing: Option<Standing>,
    /// What a reader should know beside the reasons: what could not be tried, what the tests did not notice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// GREEN: what the tests noticed; `None` where nothing was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults: Option<Faults>,
    /// The experiments that led to it, in the order in which they were made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub experiments: Vec<Made>,
}

/// An experiment that was made, for a person.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Made {
    /// What it was to find out.
    pub question: String,
    pub what: String,
    /// On which tree.
    pub tree: String,
    /// Files that were laid over the tree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub laid: Vec<String>,
    pub saw: String,
    /// What was run; empty where a program of redgreen's own made calls.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub command: String,
    /// What to type to see it again, where that was asked for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub again: String,
}

impl Made {
    /// In a few lines, for a person.
    pub fn told(&self, number: usize) -> String {
        let mut text = format!("{number}. {}\n   {}: {}", self.question, self.what, self.saw);
        if !self.again.is_empty() {
            text.push_str(&format!("\n   {}", self.again));
        }
        text
    }
}

/// The kill rate: faults put into the changed lines, each for one run of the tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Faults {
    pub tried: u16,
    pub noticed: u16,
}

impl fmt::Display for Faults {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tried, noticed } = self;
        match (tried, noticed) {
            (1, 1) => write!(out, "a fault put into the changed lines was noticed"),
            (1, _) => write!(out, "a fault put into the changed lines was not noticed"),
            _ if tried == noticed => write!(out, "all {tried} faults put into the changed lines were noticed"),
            _ => write!(out, "{noticed} of {tried} faults put into the changed lines were noticed"),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    Accepted,
    Refused,
    /// Could not find out; a human has to look.
    Undecided,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reason {
    pub code: Code,
    pub sentence: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// How good a state of GREEN is; the greater one is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Standing {
    /// Tests that passed before and pass now: fewer of them is always worse.
    pub kept: usize,
    /// Of the tests RED added, those that pass.
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
    /// The next legal step.
    pub next: &'static str,
}

macro_rules! vocabulary {
    // Names in brackets are those of earlier versions.
    ($($variant:ident $name:literal $(($($old:literal),*))? $side:ident $meaning:literal $next:literal;)*) => {
        /// Why a verdict is what it is.
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
        "the planner named the next test of the list" "write that test";
    PlanFinished "plan.finished" Nobody
        "the planner says nothing is left, and every box is ticked" "review the result";
    PlanNoAnswer "plan.no_answer" Plan
        "the planner's answer does not hold the JSON object that names the next test"
        "answer {\"currentTest\": {\"description\", \"testFile\", \"implFile\"}} or {\"currentTest\": null}";
    PlanNoList "plan.no_list" Plan
        "there is no test-list.md with checkboxes" "write test-list.md with one `- [ ]` line per test";
    PlanNotInList "plan.not_in_list" Plan
        "the test the planner named is not an open item of test-list.md" "name an open item of the list, word for word";
    PlanUnfinished "plan.unfinished" Plan
        "the planner says nothing is left, but boxes of test-list.md are open" "name one of the open items";
    PlanTicked "plan.ticked" Plan
        "the planner changed boxes that only an accepted cycle changes" "leave the boxes alone; drop an item that is not needed";
    PlanTouchesCode "plan.touches_code" Plan
        "planning changed something other than the list and documentation" "change test-list.md only";

    RedAssertion "red.assertion" Nobody
        "the new test runs, and its assertion fails" "make it pass";
    RedMissingSymbol "red.missing_symbol" Nobody
        "the new test asks for something that does not exist yet" "make it exist, and the test pass";
    RedNotImplemented "red.not_implemented" Nobody
        "the new test reaches code that says it is not implemented" "implement it";
    RedError "red.error" Nobody
        "the new test runs, and ends with an error in the code it calls" "make it pass";
    RedPasses "red.passes" Test
        "the new test passes already: it does not ask for anything new" "look at the assertion: it must fail first";
    RedNoTests "red.no_tests" Test
        "no new or changed test was collected" "write one test where the runner finds it";
    RedSkipped "red.skipped" Test
        "the new test is skipped: it asks for nothing" "take the skip away";
    RedSyntax "red.syntax" Test
        "the test file cannot be parsed" "correct the syntax of the test";
    RedDoesNotLoad "red.does_not_load" Test
        "the test file cannot be loaded, for a reason other than a missing piece of the feature"
        "make the test load";
    RedTimedOut "red.timed_out" Test
        "the suite did not end within its time limit" "make the test end by itself";
    RedCrashed "red.crashed" Test
        "the run ended before every test had a result" "write a test that fails instead of ending the run";
    RedOthersFail "red.others_fail" Test
        "tests that passed before fail now, or are skipped" "leave the other tests and their code as they were";
    RedTestsVanished "red.tests_vanished" Test
        "tests that passed before are gone" "bring them back";
    RedTouchesImplementation "red.touches_implementation" Test
        "code was written before its test was accepted" "change tests only; the code comes next";

    RedUnrelatedSymbol "red.unrelated_symbol" Test
        "the test asks for something that is no part of the feature and does not exist"
        "use only what the project has, or what the brief asks for";
    RedNoCall "red.no_call" ("red.unrelated_failure", "red.cannot_pass") Test
        "the new test does not call the code it is about" "call the code, and look at what it gives back";
    RedNoAssertion "red.no_assertion" Test
        "the new test passes with code that does nothing" "assert what the code has to do";
    RedFlaky "red.flaky" Test
        "the new test fails at one time and passes at another" "write a test whose result does not change by itself";

    RedWrongCount "red.wrong_count" Test
        "the number of new tests is not the one that is asked for" "write every test case that is asked for, once";

    RedCaseMissing "red.case_missing" Test
        "no test says that it covers a test case of the specification"
        "write the test, with the case's id in its name, docstring or comment";

    GreenPasses "green.passes" Nobody
        "every test of the run passes, and none is missing" "improve the code, or leave it";
    GreenNothingRed "green.nothing_red" Test
        "no test fails at the base, so there is nothing to make pass"
        "if tests and code changed together: redgreen verify; if the test has a commit of its own, judge that first (redgreen judge red) and use it as --base; if only the form of the code changed: redgreen judge refactor";
    GreenStillFailing "green.still_failing" Code
        "a test that has to pass still fails" "make it pass";
    GreenDoesNotCompile "green.does_not_compile" Code
        "the code cannot be built or loaded" "make it build";
    GreenRegression "green.regression" Code
        "tests that passed before fail now" "find another way that keeps them passing";
    GreenTestsChanged "green.tests_changed" Code
        "tests were changed while making them pass" "leave the tests as they are and change the code";
    GreenTestsVanished "green.tests_vanished" Code
        "tests that have to pass are gone" "bring them back";
    GreenNewlySkipped "green.newly_skipped" Code
        "tests that have to pass are skipped" "take the skip away and make them pass";
    GreenConfigChanged "green.config_changed" Code
        "the test runner's configuration was changed while making tests pass" "leave the configuration as it is";
    GreenReportIncomplete "green.report_incomplete" Code
        "exit code, report and list of tests do not agree that the run finished" "let the run come to its end";
    GreenNotDiscriminating "green.not_discriminating" Code
        "the tests do not tell right from wrong any more: they pass where they have to fail"
        "let the code give plain values that a test can compare, and leave the test runner alone";
    GreenSuspicious "green.suspicious" Code
        "the code looks at who is asking: at the tests, the test runner or the call stack" "write code that does not know of its tests";
    GreenExamplesDiffer "green.examples_differ" Code
        "an example that the brief withholds is not met" "write code for every value, not only for those of the tests";
    GreenOverfits "green.overfits" Code
        "the code passes the tests it was written for, and fails one of those that were withheld"
        "write code for every value, not only for those of the tests";
    GreenExamplesUnasked "green.examples_unasked" Nobody
        "an example that the brief withholds cannot be put to the code: there is no such function, or it takes something else"
        "a human corrects the examples, or has the code put where they look for it";
    GreenContested "green.contested" Test
        "whoever writes the code says that a test contradicts the brief"
        "a human compares both texts, then rolls back to write the test anew, resumes (the test stands) or aborts";
    GreenTimedOut "green.timed_out" Code
        "the suite did not end within its time limit" "make the code end";
    GreenCoverage "green.coverage" Test
        "the tests reach fewer lines of the new code than is asked for" "add tests for the lines that are not reached";
    GreenLint "green.lint" Code
        "the project's linter finds something it did not find before" "correct what it says";

    RefactorKept "refactor.kept" Nobody
        "the code changed, and every test still passes" "plan the next test";
    RefactorNothing "refactor.nothing" Nobody
        "nothing needed changing" "plan the next test";
    RefactorGivenUp "refactor.given_up" Nobody
        "the refactoring was rolled back; the green code stays" "plan the next test";
    RefactorRegression "refactor.regression" Code
        "tests that passed before fail now" "change the form, not what the code does";
    RefactorTurnsGreen "refactor.turns_green" Code
        "a test that failed before passes now: that is a GREEN" "judge it as GREEN: redgreen judge green";
    RefactorTestsVanished "refactor.tests_vanished" Code
        "tests that passed before are gone or skipped" "keep every test";
    RefactorConfigChanged "refactor.config_changed" Code
        "the test runner's configuration was changed" "leave the configuration as it is";
    RefactorTestsWeakened "refactor.tests_weakened" Code
        "the tests ask for less than before" "keep what the tests ask for, in whatever form";
    RefactorPublicRemoved "refactor.public_removed" Code
        "public code is gone" "keep it, or let a human say whether anybody uses it";
    RefactorBehaviour "refactor.behaviour" Code
        "the code answers otherwise than before where no test looks" "keep what the code does, or begin with a test";
    RefactorNewFeature "refactor.new_feature" Code
        "public code is new, and nothing uses it" "leave it out; a later test can ask for it";
    RefactorReportIncomplete "refactor.report_incomplete" Code
        "exit code, report and list of tests do not agree that the run finished" "let the run come to its end";
    RefactorLint "refactor.lint" Code
        "the project's linter finds something it did not find before" "correct what it says";

    VerifyDoesNotDiscriminate "verify.does_not_discriminate" Test
        "a new or changed test notices nothing: neither the change nor a fault in the code"
        "look at what the test compares, or exempt it in the policy";
    VerifySkipped "verify.skipped" Test
        "a new or changed test is skipped" "take the skip away, or exempt the test in the policy";
    VerifyFails "verify.fails" Code
        "a new or changed test does not pass" "make it pass";
    VerifyNoTest "verify.no_test" Test
        "changed code that no test notices" "write a test that fails without the change";
    VerifyKillRate "verify.kill_rate" Test
        "the tests notice fewer faults in the changed lines than the policy asks for"
        "write tests for the faults that were not noticed";
    VerifyRange "verify.range" Runner
        "the range cannot be looked at" "name commits that are here, with their history";
    VerifyUnable "verify.unable" Runner
        "the tests of the range could not be run" "make them run here: redgreen doctor";

    TaskCriteria "task.criteria" Code
        "a command that has to end well by the task's own criteria ends with an error" "make it end well";
    TaskPoint "task.modification_point" Code
        "a file that the task says is changed was not touched" "change it, or correct modification_points of the task";
    EnvironmentChanged "environment.changed" Code
        "installed packages are not what they were before the work, and no manifest says why"
        "put the environment back, or declare the dependency";
    EnvironmentPlanted "environment.planted" Code
        "a new file takes the place of a part of the language or of the test runner" "give it another name";
    ChangeSubmodule "change.submodule" Code
        "the change is inside a submodule or a nested repository, which this repository cannot hold"
        "keep the change inside this repository";
    RunnerBroken "runner.broken" Runner
        "the test runner itself could not work" "make the test command run, then resume";
}

impl Verdict {
    fn of(decision: Decision, reasons: Vec<Reason>) -> Self {
        Self {
            decision,
            reasons,
            targets: Vec::new(),
            standing: None,
            notes: Vec::new(),
            faults: None,
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

    /// A human has to decide between a test and the brief.
    pub fn is_contest(&self) -> bool {
        self.first().is_some_and(|reason| reason.code == Code::GreenContested)
    }

    /// Nothing is wrong but that more tests are needed.
    pub fn lacks_coverage(&self) -> bool {
        self.decision == Decision::Refused && self.reasons.iter().all(|reason| reason.code == Code::GreenCoverage)
    }

    /// The notes that somebody should do something about: that every fault was noticed is good news.
    pub fn warnings(&self) -> Vec<String> {
        let good = self.faults.filter(|faults| faults.tried == faults.noticed).map(|faults| faults.to_string());
        self.notes.iter().filter(|note| Some(*note) != good.as_ref()).cloned().collect()
    }

    /// All reasons, a line each, as they are told to the next try.
    pub fn sentences(&self) -> String {
        self.reasons.iter().map(Reason::line).collect::<Vec<_>>().join("\n")
    }
}

impl Reason {
    pub fn new(code: Code, sentence: impl Into<String>) -> Self {
        Self { code, sentence: sentence.into(), test: None, file: None, line: None }
    }

    /// The sentence of the vocabulary, where there is nothing more to say.
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
            (Some(file), Some(line)) => format!(" ({file}:{line})"),
            (Some(file), None) => format!(" ({file})"),
            (None, _) => String::new(),
        };
        format!("{}: {}{place}", self.code.as_str(), self.sentence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_name_a_sentence_and_a_next_step_of_its_own() {
        for (index, row) in VOCABULARY.iter().enumerate() {
            assert_eq!(row.code.as_str(), row.name);
            assert!(!row.meaning.is_empty() && !row.next.is_empty(), "{}", row.name);
            assert!(VOCABULARY[..index].iter().all(|other| other.name != row.name), "{} twice", row.name);
            let wire = serde_json::to_string(&row.code).unwrap();
            assert_eq!(wire, format!("\"{}\"", row.name));
        }
    }

    #[test]
    fn that_every_fault_was_noticed_is_no_warning() {
        for (tried, noticed, words, warnings) in [
            (1, 1, "a fault put into the changed lines was noticed", 1),
            (1, 0, "a fault put into the changed lines was not noticed", 2),
            (3, 3, "all 3 faults put into the changed lines were noticed", 1),
            (3, 1, "1 of 3 faults put into the changed lines were noticed", 2),
        ] {
            let faults = Faults { tried, noticed };
            assert_eq!(faults.to_string(), words);
            let mut verdict = Verdict::accepted(Reason::plain(Code::GreenPasses));
            verdict.notes = vec!["the runner is slow".to_owned(), faults.to_string()];
            verdict.faults = Some(faults);
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
        let careful = Standing { kept: 5, reached: 0 };
        let reckless = Standing { kept: 4, reached: 3 };
        assert!(careful > reckless);
        assert!(Standing { kept: 5, reached: 1 } > careful);
    }
}
