//! Notes: none is lost, and a broken ref is distinguished from a missing one.

use std::fs;
use std::thread;

use redgreen::git::Health;

use redgreen_core::names::Oid;

use super::repo::{Repo, told};

const NOTES: &str = "refs/notes/tdd-handoffs";

#[test]
fn a_note_is_read_as_written_and_overwritten() {
    let repo = Repo::new();
    let notes = repo.open();
    let notes = notes.notes();
    assert_eq!(notes.read("main").unwrap(), None);
    let text = "{\"a\": 1}\n\n\n  # kept \t\nä\n";
    notes.write("main", text).unwrap();
    assert_eq!(notes.read("main").unwrap().unwrap(), text);
    assert_eq!(repo.git("notes --ref tdd-handoffs show main"), text.trim());
    notes.write("main", "second").unwrap();
    notes.write("main", "second").unwrap();
    assert_eq!(notes.read("main").unwrap().unwrap(), "second\n");
    assert_eq!(repo.git("for-each-ref refs/notes --format=%(refname)"), NOTES);
    notes.remove("main").unwrap();
    notes.remove("main").unwrap();
    assert_eq!(notes.read("main").unwrap(), None);
    assert_eq!(notes.all().unwrap(), []);
}

#[test]
fn a_text_keeps_every_byte() {
    let repo = Repo::new();
    let git = repo.open();
    for text in [
        "a\n",
        "a \n",
        "a\t\nb\n",
        "a\r\n",
        "\na\n",
        "a\n\n",
        "a\n\nb\n",
        "a\n\n\nb\n",
        "# a\n",
        " a\n",
        "a\u{b}\n",
    ] {
        git.notes().write("main", text).unwrap();
        assert_eq!(git.notes().all().unwrap()[0].text, text, "{text:?}");
    }
}

#[test]
fn reading_says_what_is_wrong_with_the_notes() {
    let repo = Repo::new();
    let git = repo.open();
    let (first, second) = (git.head().unwrap().commit, repo.file("b.txt", "b\n").commit("second"));
    let check = |expected: Health, texts: &[&str]| {
        let (notes, health) = git.notes().read_and_check(&[&first, &second]).unwrap();
        assert_eq!(health, expected);
        assert_eq!(notes.iter().map(|note| note.text.as_str()).collect::<Vec<_>>(), texts);
        assert_eq!(git.notes().read_and_check(&[]).unwrap(), (Vec::new(), expected));
    };
    check(Health::Absent, &[]);
    git.notes().write(&first, "one").unwrap();
    check(Health::Fine, &["one\n"]);
    git.notes().write(&second, "two").unwrap();
    check(Health::Fine, &["one\n", "two\n"]);
    let loose = repo.root.join(".git").join(NOTES);
    fs::write(&loose, "1234567890123456789012345678901234567890\n").unwrap();
    check(Health::Dangling, &[]);
    fs::remove_file(&loose).unwrap();
    check(Health::Absent, &[]);
}

#[test]
fn sixteen_writers_at_once_lose_nothing() {
    const WRITERS: usize = 16;
    const NOTES_EACH: usize = 5;
    let repo = Repo::new();
    let git = repo.open();
    let tree = git.tree_of("main").unwrap();
    let commit = |writer: usize, note: usize| {
        git.commit_tree(&tree, &[], &format!("{writer} {note}"), 1).unwrap()
    };
    let commits: Vec<Vec<Oid>> = (0..WRITERS)
        .map(|writer| (0..NOTES_EACH).map(|note| commit(writer, note)).collect())
        .collect();
    thread::scope(|scope| {
        for commits in &commits {
            let git = &git;
            scope.spawn(move || {
                for commit in commits {
                    git.notes().write(commit, commit).unwrap();
                }
            });
        }
    });
    let all = git.notes().all().unwrap();
    assert_eq!(all.len(), WRITERS * NOTES_EACH);
    assert!(all.iter().all(|note| note.text.trim_end() == note.commit));
    let asked: Vec<&str> = commits.iter().flatten().map(Oid::as_str).collect();
    let read = git.notes().read_many(&asked).unwrap();
    assert_eq!(read.iter().map(|note| note.commit.as_str()).collect::<Vec<_>>(), asked);
}

#[test]
fn recent_notes_come_newest_first() {
    let repo = Repo::new();
    let git = repo.open();
    let tree = git.tree_of("main").unwrap();
    let mut parent = git.head().unwrap().commit;
    for number in 0..6_i64 {
        parent = git
            .commit_tree(&tree, &[&parent], &format!("step {number}"), 2_000_000_000 + number)
            .unwrap();
        if number % 2 == 0 {
            git.notes().write(&parent, &format!("note {number}")).unwrap();
        }
    }
    let recent = git.notes().recent(2, &[&parent, "refs/heads/absent"]).unwrap();
    let rows: Vec<_> =
        recent.iter().map(|one| (one.subject.as_str(), one.date, one.text.as_str())).collect();
    assert_eq!(
        rows,
        [("step 4", 2_000_000_004, "note 4\n"), ("step 2", 2_000_000_002, "note 2\n")]
    );
    assert_eq!(git.notes().recent(9, &[&parent]).unwrap().len(), 3);
    assert_eq!(git.notes().recent(9, &["refs/heads/absent"]).unwrap(), []);
}

/// A dangling ref is detected, reported by name, and can be deleted.
fn check_dangling(repo: &Repo) {
    let git = repo.open();
    assert_eq!(git.notes().health().unwrap(), Health::Dangling);
    let (what, next) = told(git.notes().write("main", "x"));
    assert!(what.contains("points to nothing") && next.contains("git fetch"), "{what}, {next}");
    git.notes().delete_ref().unwrap();
    assert_eq!(git.notes().health().unwrap(), Health::Absent);
    git.notes().write("main", "x").unwrap();
    assert_eq!(git.notes().health().unwrap(), Health::Fine);
}

#[test]
fn a_dangling_ref_differs_from_an_absent_one() {
    let repo = Repo::new();
    assert_eq!(repo.open().notes().health().unwrap(), Health::Absent);
    let loose = repo.root.join(".git").join(NOTES);
    let missing = "1234567890123456789012345678901234567890";
    fs::create_dir_all(loose.parent().unwrap()).unwrap();
    for content in [missing, "garbage"] {
        fs::write(&loose, format!("{content}\n")).unwrap();
        check_dangling(&repo);
    }
    repo.open().notes().delete_ref().unwrap();
    fs::write(repo.root.join(".git/packed-refs"), format!("{missing} {NOTES}\n")).unwrap();
    check_dangling(&repo);
    // A ref to an existing object that contains no notes.
    let blob = repo.git("hash-object -w a.txt");
    fs::write(&loose, format!("{blob}\n")).unwrap();
    check_dangling(&repo);
}

#[test]
fn a_note_of_no_commit_and_a_note_git_cannot_write_leave_nothing() {
    let repo = Repo::new();
    let git = repo.open();
    assert!(git.notes().write("nope", "x").is_err());
    assert_eq!(repo.git("for-each-ref refs/notes"), "");
    fs::remove_dir_all(repo.root.join(".git/refs/notes")).unwrap();
    fs::write(repo.root.join(".git/refs/notes"), "in the way").unwrap();
    let error = format!("{:#}", git.notes().write("main", "x").err().unwrap());
    assert!(error.starts_with("write the note of main: "), "{error}");
    fs::remove_file(repo.root.join(".git/refs/notes")).unwrap();
    assert_eq!(git.notes().health().unwrap(), Health::Absent);
}

#[test]
#[expect(clippy::print_stderr, reason = "shows what it measured")]
#[ignore = "measures: cargo test -- --ignored --nocapture notes_cost"]
fn notes_cost_the_same_however_many_there_are() {
    let repo = Repo::new();
    let git = repo.open();
    let mut parent = git.head().unwrap().commit;
    let mut stream = String::new();
    for number in 0..10_000 {
        stream += &format!(
            "commit refs/heads/many\nmark :{}\ncommitter A <a@b> {} +0000\ndata 1\nx\n",
            number + 1,
            1_000_000 + number
        );
    }
    stream += "commit refs/notes/tdd-handoffs\ncommitter A <a@b> 1 +0000\ndata 1\nx\n";
    for number in 0..10_000 {
        stream += &format!("N inline :{}\ndata 5\n{number:05}\n", number + 1);
    }
    fs::write(repo.place("stream"), stream).unwrap();
    let measure = |what: &str, parent: &mut Oid| {
        let tree = git.tree_of("main").unwrap();
        let started = std::time::Instant::now();
        for number in 0..10 {
            *parent =
                git.commit_tree(&tree, &[parent], &format!("{number}"), 2_000_000_000).unwrap();
            git.notes().write(parent, "x").unwrap();
        }
        let written = started.elapsed() / 10;
        let started = std::time::Instant::now();
        assert_eq!(git.notes().recent(5, &[parent]).unwrap().len(), 5);
        let recent = started.elapsed();
        let started = std::time::Instant::now();
        git.notes().read(parent).unwrap().unwrap();
        let read = started.elapsed();
        let started = std::time::Instant::now();
        let count = git.notes().all().unwrap().len();
        let all = started.elapsed();
        eprintln!(
            "{what}: commit and write {written:?}, recent {recent:?}, read {read:?}, all {count} {all:?}"
        );
    };
    measure("few notes", &mut parent);
    git.notes().delete_ref().unwrap();
    super::repo::shell(
        &repo.root,
        &format!("git fast-import --quiet < '{}'", repo.place("stream").display()),
    );
    measure("10000 notes", &mut parent);
}
