//! The checklist of stage 6, GREEN: implementation.

use super::{
    RUN_TASK, TASK, TASK_SCRIPT, artifact, codes, json, model_run, names, role, spec_run,
    tool_results,
};
use crate::story::doors::story;

/// The GREEN steps of the shared run, one per try.
fn greens() -> Vec<serde_json::Value> {
    spec_run().steps().into_iter().filter(|step| step["phase"] == "GREEN").collect()
}

#[test]
fn test_reads_test_files_first() {
    let server = &model_run().1;
    let requests = server.requests();
    let first = requests.iter().find(|seen| role(seen) == "green").unwrap();
    assert_eq!(first.answers(), 0);
    let told = first.body["messages"].to_string();
    for words in [
        "--- tests/test_receipt.py",
        "--- tests/test_till.py",
        "assert till.total() == 7",
        "No module named 'shop'",
    ] {
        assert!(told.contains(words), "{words:?} is not in {told}");
    }
    let read = tool_results(server, "green", 1);
    assert!(read.len() == 2 && read[0].contains("def test_tc002_prices_are_added"), "{read:?}");
}

#[test]
fn test_creates_implementation_files() {
    let told = spec_run();
    let tree = told.story.git(&format!("show --format= --name-only {}", told.commits()[1]));
    assert_eq!(tree, "shop/__init__.py\nshop/receipt.py\nshop/till.py");
    assert!(told.file("shop/till.py").contains("class Till:"));
}

#[test]
fn test_runs_tests_after_changes() {
    let server = &model_run().1;
    let ran = tool_results(server, "green", 2);
    assert!(ran[2].contains("2 passed") && ran[2].contains("shop.receipt"), "{ran:?}");
    assert!(tool_results(server, "green", 3)[1].contains("3 passed, 0 failed"));
    assert!(
        greens().iter().all(|step| step["ran"].as_str().unwrap().starts_with("python -m pytest: "))
    );
}

#[test]
fn test_iterates_until_tests_pass() {
    let decisions: Vec<String> = greens()
        .iter()
        .map(|step| step["verdict"]["decision"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(decisions, ["refused", "refused", "accepted"]);
    let green = json(&spec_run().story, "cycle-1/green.json");
    assert_eq!(
        (green["all_tests_pass"].as_bool(), green["iterations"].as_u64()),
        (Some(true), Some(3)),
        "{green}"
    );
    spec_run().shows("Green phase iterations: 3/20");
}

#[test]
fn test_stops_at_max_iterations() {
    let (red, green) = TASK_SCRIPT.split_once("[[green]]").unwrap();
    let wrong = |number: u32| format!("[[green]]{}", green.replace("+ 32", &format!("+ {number}")));
    let task = TASK.replace("\"max_iterations\": 3", "\"max_iterations\": 2");
    let story =
        story("task.json", &task, &format!("{red}{}\n{}\n{}", wrong(1), wrong(2), wrong(3)));
    let said =
        story.redgreen(RUN_TASK).exits(1).says("Max iterations (2) reached without passing tests");
    assert_eq!(said.stderr.matches("GREEN     refused").count(), 2, "{}", said.stderr);
    let green = json(&story, "cycle-1/green.json");
    assert_eq!(
        (green["iterations"].as_u64(), green["all_tests_pass"].as_bool()),
        (Some(2), Some(false)),
        "{green}"
    );
    assert!(green["error"].is_string(), "{green}");
}

#[test]
fn test_signals_completion_when_done() {
    let (told, server) = model_run();
    let greens = server.requests().iter().filter(|seen| role(seen) == "green").count();
    assert_eq!(greens, 4, "nothing is asked after Complete");
    let work = told.steps()[1]["turns"][0].clone();
    assert_eq!(
        (work["role"].as_str(), work["said"].as_str()),
        (Some("implementing"), Some("the till adds up"))
    );
    let note = told.note(&told.commits()[1]);
    assert_eq!(
        (note["testResult"].as_str(), note["nextPhase"].as_str()),
        (Some("PASS"), Some("REFACTOR"))
    );
}

#[test]
fn test_tracks_implementation_files() {
    for told in [spec_run(), &model_run().0] {
        let green = json(&told.story, "cycle-1/green.json");
        assert_eq!(
            names(&green["implementation_files"]),
            ["shop/__init__.py", "shop/receipt.py", "shop/till.py"],
            "{green}"
        );
        told.shows("Files modified: shop/__init__.py, shop/receipt.py, shop/till.py, tests/test_receipt.py");
    }
    assert!(artifact(&spec_run().story, "cycle-1/green.yaml").contains("all_tests_pass: true"));
}

#[test]
fn test_makes_progress_each_iteration() {
    let ran: Vec<String> =
        greens().iter().map(|step| step["ran"].as_str().unwrap().to_owned()).collect();
    assert!(ran[0].contains("3 passed, 1 not loaded"), "the till and what was there: {ran:?}");
    assert!(ran[2].contains("4 passed (exit 0"), "everything: {ran:?}");
    // The next try keeps the files of the previous one: the script writes the till only once.
    assert_eq!(spec_run().story.git(&format!("log --format=%s -- {}", "shop/till.py")), "");
    let first = artifact(&spec_run().story, "cycle-1/green-fix-iteration-1.md");
    assert!(first.contains("the receipt is missing"), "{first}");
}

#[test]
fn test_handles_regression() {
    let told = spec_run();
    assert!(codes(&greens()[1]).contains(&"green.regression"), "{:?}", greens()[1]);
    told.shows("reverted");
    let second = artifact(&told.story, "cycle-1/green-fix-iteration-2.md");
    assert!(
        second.contains("tests/test_old.py::test_old") && second.contains("one is one"),
        "{second}"
    );
    assert_eq!(
        told.file("old.py"),
        "ONE = 1",
        "the test that broke passes again, because its code is back"
    );
}

#[test]
fn test_red_to_green_flow() {
    let told = spec_run();
    let notes: Vec<_> = told.commits().iter().map(|commit| told.note(commit)).collect();
    let results: Vec<_> =
        notes.iter().map(|note| (note["phase"].as_str(), note["testResult"].as_str())).collect();
    assert_eq!(
        results,
        [
            (Some("RED"), Some("FAIL")),
            (Some("GREEN"), Some("PASS")),
            (Some("REFACTOR"), Some("PASS"))
        ]
    );
    assert_eq!(notes[2]["completedTests"].as_array().unwrap().len(), 3);
    told.shows("Test results: 4/4 passed (100%)");
}

#[test]
fn test_complex_implementation() {
    let green = json(&spec_run().story, "cycle-1/green.json");
    assert_eq!(
        (green["components"][0]["name"].as_str(), green["components"][1]["name"].as_str()),
        (Some("Till"), Some("receipt"))
    );
    assert_eq!(green["passing_tests"], 4, "{green}");
    let prompt = model_run()
        .1
        .requests()
        .iter()
        .find(|seen| role(seen) == "green")
        .unwrap()
        .body
        .to_string();
    assert!(
        prompt.contains("Component Till (class) in shop/till.py")
            && prompt.contains("Order:\\n- 1: the till"),
        "{prompt}"
    );
}

#[test]
fn test_handles_import_dependencies() {
    let told = spec_run();
    assert_eq!(codes(&greens()[0]), ["green.does_not_compile"]);
    let first = artifact(&told.story, "cycle-1/green-fix-iteration-1.md");
    assert!(first.contains("No module named 'shop.receipt'"), "{first}");
    assert!(
        told.file("tests/test_receipt.py")
            .contains("from shop.receipt import receipt\nfrom shop.till import Till")
    );
}
