//! A review that asks for another form of the code: redgreen repeats the last REFACTOR with it.

use super::{Server, id, status};
use crate::story::Story;
use crate::story::scripts::{DONE, GREEN, PLAN, RED, turn};
use crate::story::steer::{agent_output, events, heard, run_folder, until};

#[test]
fn a_finished_run_is_refactored_again_with_the_comments() {
    let story = Story::new().quick();
    let first = turn("refactor", r#"{ append = "calc.py", text = "\nTOTAL = None\n" }"#);
    let code = r#"{ write = "calc.py", text = "def add(one, other):\n    return one + other\n" }"#;
    let second = turn("refactor", &[agent_output(&story, "refactor"), code.to_owned()].join(", "));
    story.script("kata.toml", &[PLAN, RED, GREEN, &first, DONE, &second, DONE].concat());
    story.redgreen("run --script @kata.toml --pause-after red \"an adder\"").exits(3);
    let server = Server::start(&story, "");
    let id = id(&story);
    let page = format!("/runs/{id}");
    let request = format!("/runs/{id}/request-refactoring");
    assert!(!server.get(&page).contains(&request), "there is no code yet");
    status(&server.post(&request, "words=shorter"), 303);
    assert!(server.get(&page).contains("has no code to refactor yet"));
    story.redgreen("resume --pause-after none").exits(3).says("waiting for a human");

    assert!(server.get(&page).contains(&request));
    status(&server.post(&request, "words="), 303);
    assert!(server.get(&page).contains("nothing to request yet"));
    let view = server.get(&page);
    let tree = view.split("data-to=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let comment =
        format!("id=0&file=calc.py&side=new&line=1&code=x&tree={tree}&body=say+one+and+other");
    status(&server.post(&format!("{page}/comments"), &comment), 200);
    status(&server.post(&request, "words="), 303);
    until("the second refactoring", || {
        let status = story.redgreen("status --json").json();
        status["runs"][0]["situation"] == "waiting" && status["runs"][0]["atWork"] == false
    });
    assert!(heard(&story, "refactor").contains("calc.py:1"), "{}", heard(&story, "refactor"));
    assert!(heard(&story, "refactor").contains("say one and other"));
    let code = story.git(&format!("show {}:calc.py", story.branch()));
    assert_eq!(code, "def add(one, other):\n    return one + other");
    assert_eq!(events(&run_folder(&story), "rolled-back").len(), 1);
    let view = server.get(&page);
    assert!(view.contains("addressed: the code changed here"), "{view}");
    assert!(
        story.salvages().iter().any(|name| name.ends_with("-rolled-back")),
        "{:?}",
        story.salvages()
    );
    story.redgreen("approve").exits(0);
}
