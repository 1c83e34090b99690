//! Requests without the token, from other pages, or for other hosts are refused.

use std::fs;

use super::{Server, id, status};
use crate::story::Story;
use crate::story::scripts::{DONE, GREEN, PLAN, RED};
use crate::story::steer::{events, run_folder};

fn paused() -> Story {
    let story = Story::new().quick();
    story.script("kata.toml", &[PLAN, RED, GREEN, DONE].concat());
    story.redgreen("run --script @kata.toml --pause-after red \"an <b>adder</b>\"").exits(3);
    story
}

#[test]
fn other_pages_other_hosts_and_strangers_are_refused() {
    let story = paused();
    let server = Server::start(&story, "");
    let (host, cookie) = (format!("Host: {}", server.host()), server.cookie());
    let own = format!("Origin: http://{}", server.host());
    let id = id(&story);
    let abort = format!("POST /runs/{id}/abort");
    let wrong = format!("Cookie: redgreen-{}={}", server.port, "0".repeat(64));
    let get = "GET /";
    for (head, headers, code) in [
        (get, vec![&*host, &*cookie], 200),
        (get, vec![&*host], 403),
        (get, vec![&*host, &*wrong], 403),
        (get, vec!["Host: evil.example", &*cookie], 403),
        ("GET /?token=0000", vec![&*host], 403),
        ("GET /assets/ui.js", vec![&*host], 403),
        ("GET /follow/", vec![&*host], 403),
        (&abort, vec![&*host, &*cookie], 403),
        (&abort, vec![&*host, &*cookie, "Origin: http://evil.example"], 403),
        (&abort, vec![&*host, &*cookie, "Origin: null"], 403),
        (&abort, vec![&*host, &*own], 403),
        (&abort, vec![&*host, &*cookie, &*own, "Sec-Fetch-Site: same-site"], 403),
        ("DELETE /", vec![&*host, &*cookie], 405),
        ("GET /nothing", vec![&*host, &*cookie], 404),
        ("GET /runs/../../etc/passwd", vec![&*host, &*cookie], 404),
    ] {
        status(&server.raw(head, &headers, ""), code);
    }
    story.redgreen("status").exits(0).says("waiting for you");
    let answer = server.raw(&format!("GET /?token={}", server.token), &[&host], "");
    status(&answer, 303);
    let answer = answer.to_lowercase();
    assert!(
        answer.contains("; httponly; samesite=strict") && answer.contains("location: /\r\n"),
        "{answer}"
    );
    status(&server.post(&format!("/runs/{id}/abort"), ""), 303);
    story.redgreen("status").exits(0).says("aborted");
}

#[test]
fn a_server_that_only_shows_changes_nothing() {
    let story = paused();
    let server = Server::start(&story, "--read-only");
    let id = id(&story);
    let page = server.get(&format!("/runs/{id}"));
    status(&page, 200);
    assert!(page.contains("read only") && !page.contains("<form method=\"post\""), "{page}");
    for verb in ["abort", "approve", "resume", "say", "comments", "request-changes"] {
        status(&server.post(&format!("/runs/{id}/{verb}"), "words=x"), 403);
    }
    story.redgreen("status").exits(0).says("waiting for you");
}

#[test]
fn pages_escape_what_came_from_outside_and_allow_no_foreign_script() {
    let story = paused();
    let server = Server::start(&story, "");
    let id = id(&story);
    let list = server.get("/");
    assert!(list.contains("an &lt;b&gt;adder&lt;/b&gt;") && !list.contains("<b>adder"), "{list}");
    let head = list.split("\r\n\r\n").next().unwrap().to_lowercase();
    for words in [
        "default-src 'none'; script-src 'self'",
        "nosniff",
        "frame-ancestors 'none'",
        "cache-control: no-store",
    ] {
        assert!(head.contains(words), "{words} is not in\n{head}");
    }
    let page = server.get(&format!("/runs/{id}"));
    for words in [
        "Failed in RED",
        "test_add",
        "<span class=\"hk\">def</span>",
        "Accept and continue",
        "Reject the test",
    ] {
        assert!(page.contains(words), "{words} is not in\n{page}");
    }
    assert!(!page.contains("style=") && !page.contains("onclick"), "{page}");
    let refused =
        server.post(&format!("/runs/{id}/comments"), "file=../x&line=1&tree=main&body=hello");
    status(&refused, 422);
    assert!(!run_folder(&story).join("comments.json").exists());
    fs::write(run_folder(&story).join("comments.json"), "{ rubbish").unwrap();
    let broken = server.get(&format!("/runs/{id}"));
    status(&broken, 404);
    assert!(broken.contains("cannot read"), "{broken}");
}

#[test]
fn words_from_the_browser_are_messages_and_a_rejected_test_is_written_anew() {
    let story = Story::new().quick();
    let red = r#"
[[red]]
do = [{ write = "test_add.py", text = "import unittest\nfrom calc import add\n\n\nclass Tests(unittest.TestCase):\n    def test_adds_more(self):\n        assert add(2, 2) == 4\n" }]
"#;
    story.script("kata.toml", &[PLAN, RED, red, GREEN, DONE].concat());
    story.redgreen("run --script @kata.toml --pause-after red \"an adder\"").exits(3);
    let server = Server::start(&story, "");
    let id = id(&story);
    let page = server.get(&format!("/runs/{id}"));
    let tree = page.split("data-to=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    status(&server.post(&format!("/runs/{id}/say"), "words=keep+it+short"), 303);
    let comment = format!(
        "id=0&file=test_add.py&side=new&line=5&code=x&tree={tree}&body=test+larger+numbers"
    );
    let saved = server.post(&format!("/runs/{id}/comments"), &comment);
    assert!(saved.ends_with("\r\n\r\n1"), "{saved}");
    status(&server.post(&format!("/runs/{id}/request-changes"), "words="), 303);
    crate::story::steer::until("the second test", || {
        let status = story.redgreen("status --json").json();
        let is_paused =
            status["runs"][0]["situation"] == "paused" && status["runs"][0]["atWork"] == false;
        is_paused && events(&run_folder(&story), "judged").len() == 3
    });
    let page = server.get(&format!("/runs/{id}"));
    for words in [
        "test larger numbers",
        "addressed: the code changed here",
        "keep it short",
        "The test was rejected",
    ] {
        assert!(page.contains(words), "{words} is not in\n{page}");
    }
}
