//! The clean room on real repositories that contain everything that could influence it.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use redgreen::process::{Limits, Stop};
use redgreen::room::{
    ChangeKind, Dependencies, DependencyFolder, DropReason, DroppedFile, FrozenPath, Options,
    Request, Room, RoomEnvironment, Search, Tools,
};
use redgreen::sandbox::{Mechanism, Network, Sandbox};

use super::git::repo::{Repo, files, write};

const LIMITS: Limits = Limits { wall: Duration::from_secs(120), output_bytes_max: 1 << 20 };
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

fn tree(repo: &Repo) -> String {
    repo.git("rev-parse HEAD^{tree}")
}

fn room(repo: &Repo, options: &Options) -> Room {
    room_in(repo, options, RoomEnvironment::default())
}

fn room_in(repo: &Repo, options: &Options, surroundings: RoomEnvironment) -> Room {
    Room::materialise(&repo.open(), &tree(repo), &repo.place("room"), options, surroundings)
        .unwrap()
}

/// The files in the room: `a.txt, src/lib.txt`.
fn listed(room: &Room) -> String {
    files(room.folder()).into_keys().collect::<Vec<_>>().join(", ")
}

fn text(room: &Room, path: &str) -> String {
    fs::read_to_string(room.folder().join(path)).unwrap()
}

fn dropped(room: &Room, why: DropReason) -> Vec<&str> {
    let of_kind = room.facts.dropped.iter().filter(|dropped| dropped.why == why);
    of_kind.filter_map(|dropped: &DroppedFile| dropped.path.to_str()).collect()
}

fn tools(names: &[&str], path: &str, repo: &Repo, refused: &[PathBuf]) -> Tools {
    let search = Search { path: path.as_ref(), folder: &repo.root, home: None, refused };
    Tools::resolve(names, &search, &Stop::default()).unwrap()
}

/// The strongest sandbox of this machine, and one without mounts that has only links.
fn sandboxes() -> Vec<Sandbox> {
    let helper = Path::new(env!("CARGO_BIN_EXE_redgreen"));
    let mut all = vec![Sandbox::probe(helper)];
    all.extend(Sandbox::with(Mechanism::Landlock, helper).ok());
    all
}

fn shell(room: &Room, sandbox: &Sandbox, line: &str) -> (bool, String) {
    let stop = Stop::default();
    let request =
        Request { network: Network::None, outlet: None, extra: &[], limits: LIMITS, stop: &stop };
    let output =
        room.run(sandbox, &room.program("/bin/sh").args(["-c", line]), &request).unwrap().output;
    (output.success(), output.stdout_text() + &output.stderr_text())
}

#[test]
fn a_tree_is_laid_out_as_it_is_stored() {
    let repo = Repo::new();
    repo.file("tool.sh", "#!/bin/sh\n").file("with blank/ü.txt", "x");
    fs::set_permissions(repo.root.join("tool.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("src/lib.txt", repo.root.join("link")).unwrap();
    repo.commit("more");
    let room = room(&repo, &Options::default());
    assert_eq!(files(room.folder()), files(&repo.root));
    assert_eq!(fs::metadata(room.folder().join("tool.sh")).unwrap().mode() & 0o777, 0o755);
    assert_eq!((&room.facts.laid_out, room.facts.written), (&tree(&repo), 5));
    room.remove().unwrap();
    assert!(!repo.place("room").exists());
}

#[test]
fn hooks_filters_attributes_and_configuration_have_no_say() {
    let repo = Repo::new();
    repo.file("a.txt", "one\n$Id$\n").file("secret.py", "real\n").file("crlf.txt", "1\n2\n");
    let attributes = "secret.py export-ignore filter=swap\n*.txt text eol=crlf ident\n";
    repo.file(".gitattributes", attributes).commit("attributes");
    let marks = repo.place("marks");
    repo.hook("post-checkout", &format!("echo hook >> '{}'", marks.display()));
    let smudge = format!("sh -c 'echo filter >> \"{}\"; echo swapped'", marks.display());
    super::git::repo::run(&repo.root, &["config", "filter.swap.smudge", &smudge]);
    repo.git("config core.autocrlf true");
    write(&repo.root.join(".git/info/attributes"), "* filter=swap\n");
    let room = room(&repo, &Options::default());
    assert_eq!(text(&room, "secret.py"), "real\n");
    assert_eq!(text(&room, "a.txt"), "one\n$Id$\n");
    assert_eq!(text(&room, "crlf.txt"), "1\n2\n");
    assert!(!marks.exists(), "{}", fs::read_to_string(&marks).unwrap_or_default());
}

#[test]
fn an_object_that_was_exchanged_is_noticed() {
    let repo = Repo::new();
    let id = repo.git("rev-parse HEAD:a.txt");
    let other = repo.git("rev-parse HEAD:src/lib.txt");
    let object = |id: &str| repo.root.join(".git/objects").join(&id[..2]).join(&id[2..]);
    fs::remove_file(object(&id)).unwrap();
    fs::copy(object(&other), object(&id)).unwrap();
    let made = Room::materialise(
        &repo.open(),
        &tree(&repo),
        &repo.place("room"),
        &Options::default(),
        RoomEnvironment::default(),
    );
    let error = format!("{:#}", made.err().unwrap());
    assert!(error.contains("is corrupt"), "{error}");
}

#[test]
fn links_that_lead_out_are_not_there() {
    let repo = Repo::new();
    symlink("/etc/passwd", repo.root.join("passwd")).unwrap();
    symlink("../../x", repo.root.join("src/up")).unwrap();
    symlink("../a.txt", repo.root.join("src/inside")).unwrap();
    repo.commit("links");
    let room = room(&repo, &Options::default());
    assert_eq!(listed(&room), "a.txt, src/inside, src/lib.txt");
    assert_eq!(dropped(&room, DropReason::LinkOut), ["passwd", "src/up"]);
}

#[test]
fn what_pretends_to_be_installed_or_compiled_is_dropped_and_told() {
    let repo = Repo::new();
    let base = tree(&repo);
    repo.file("calc.py", "").file("calc.pyc", "").file("__pycache__/calc.cpython-311.pyc", "");
    repo.file("evil.pth", "import os")
        .file("evil-1.dist-info/entry_points.txt", "[pytest11]\n")
        .file("pytest.py", "");
    repo.file("rust-toolchain.toml", "[toolchain]\npath = \"tools\"\n")
        .file("pytest.ini", "[pytest]\n");
    repo.commit("planted");
    let room = room(&repo, &Options { base: Some(base), ..Options::default() });
    assert_eq!(
        listed(&room),
        "a.txt, calc.py, pytest.ini, pytest.py, rust-toolchain.toml, src/lib.txt"
    );
    assert_eq!(
        dropped(&room, DropReason::Bytecode),
        ["__pycache__/calc.cpython-311.pyc", "calc.pyc"]
    );
    assert_eq!(
        dropped(&room, DropReason::Installed),
        ["evil-1.dist-info/entry_points.txt", "evil.pth"]
    );
    assert_eq!(room.facts.planted, [PathBuf::from("pytest.py")]);
    let obeyed: Vec<_> = room
        .facts
        .configuration
        .iter()
        .map(|told| (told.path.to_str().unwrap(), told.changed))
        .collect();
    assert_eq!(obeyed, [("pytest.ini", true), ("rust-toolchain.toml", true)]);
}

#[test]
fn frozen_files_are_as_another_tree_has_them() {
    let repo = Repo::new();
    repo.file("tests/test_a.py", "red").file("pytest.ini", "red").commit("red");
    let red = tree(&repo);
    fs::remove_dir_all(repo.root.join("tests")).unwrap();
    symlink("src", repo.root.join("tests")).unwrap();
    repo.file("pytest.ini", "evil")
        .file("conftest.py", "evil")
        .file("a.txt", "two\n")
        .commit("green");
    let frozen = |path: &str| FrozenPath { tree: red.clone(), path: path.into() };
    let frozen = vec![frozen("tests"), frozen("pytest.ini"), frozen("conftest.py")];
    let room =
        room(&repo, &Options { base: Some(red.clone()), frozen, removed: vec!["src".into()] });
    assert_eq!(listed(&room), "a.txt, pytest.ini, tests/test_a.py");
    assert_eq!(
        (text(&room, "pytest.ini"), text(&room, "tests/test_a.py")),
        ("red".into(), "red".into())
    );
    assert_eq!(text(&room, "a.txt"), "two\n");
}

#[test]
fn a_neighbouring_tree_costs_only_what_differs() {
    let repo = Repo::new();
    let first = tree(&repo);
    let mut room = room(&repo, &Options::default());
    let inode = |room: &Room, path: &str| fs::metadata(room.folder().join(path)).unwrap().ino();
    let modified = |room: &Room, path: &str| {
        fs::metadata(room.folder().join(path)).unwrap().modified().unwrap()
    };
    let kept =
        (inode(&room, "src/lib.txt"), modified(&room, "src/lib.txt"), modified(&room, "a.txt"));
    repo.file("a.txt", "two\n").file("b/c.txt", "new").commit("second");
    room.change_to(&repo.open(), &tree(&repo), &Options::default()).unwrap();
    assert_eq!((listed(&room).as_str(), room.facts.written), ("a.txt, b/c.txt, src/lib.txt", 2));
    assert_eq!((inode(&room, "src/lib.txt"), modified(&room, "src/lib.txt")), (kept.0, kept.1));
    assert!(modified(&room, "a.txt") > kept.2);
    // Change back after a run that left files behind and changed others, one of which got its old
    // timestamp back.
    let lib = room.folder().join("src/lib.txt");
    fs::write(&lib, "LIB\n").unwrap();
    fs::File::options().write(true).open(&lib).unwrap().set_modified(kept.1).unwrap();
    write(&room.folder().join("litter/deep/x"), "x");
    write(&room.folder().join("src/__pycache__/x.pyc"), "x");
    fs::set_permissions(room.folder().join("src"), fs::Permissions::from_mode(0o500)).unwrap();
    room.change_to(&repo.open(), &first, &Options::default()).unwrap();
    assert_eq!((listed(&room).as_str(), room.facts.written), ("a.txt, src/lib.txt", 2));
    assert_eq!(
        (text(&room, "a.txt"), text(&room, "src/lib.txt")),
        ("one\n".into(), "lib\n".into())
    );
    assert!(!room.folder().join("litter").exists() && !room.folder().join("b").exists());
}

#[test]
fn programs_in_the_room_know_nothing_of_the_user() {
    let repo = Repo::new();
    let home = repo.place("home");
    write(&home.join(".netrc"), "password");
    for sandbox in sandboxes() {
        let tools = tools(&["sh"], PATH, &repo, &[]);
        let hidden = vec![home.clone(), repo.root.clone()];
        let room = room_in(
            &repo,
            &Options::default(),
            RoomEnvironment { tools, hidden, ..RoomEnvironment::default() },
        );
        let (_, seen) = shell(&room, &sandbox, "env | sort | cut -d= -f1 | tr '\\n' ' '; pwd");
        let names = "CARGO_NET_OFFLINE HOME LANG LC_ALL PATH PWD PYTHONNOUSERSITE TERM TMPDIR ";
        assert_eq!(seen, format!("{names}{}\n", room.folder().display()), "{:?}", sandbox.by());
        for line in [
            format!("cat '{}'", home.join(".netrc").display()),
            format!("cat '{}'", repo.root.join(".git/HEAD").display()),
            format!("echo x > '{}'", repo.root.join("a.txt").display()),
        ] {
            assert!(!shell(&room, &sandbox, &line).0, "{:?}: {line}", sandbox.by());
        }
        let (works, words) =
            shell(&room, &sandbox, "echo x > a.txt && echo x > ~/x && echo x > $TMPDIR/x");
        assert!(works, "{:?}: {words}", sandbox.by());
        assert_eq!(fs::read_to_string(repo.root.join("a.txt")).unwrap(), "one\n");
    }
}

#[test]
fn nothing_that_a_run_leaves_is_there_for_the_next() {
    const LEAVE: &str = r#"
        mkdir -p ~/.cache/x sub/new && echo x | tee ~/.cache/x/y ~/z $TMPDIR/x new sub/new/x > a.txt
        for folder in /tmp /var/tmp /dev/shm /dev/mqueue; do echo x > $folder/redgreen-test; done
        touch -d @86400 . sub sub/inner
        /usr/bin/python3 -c "import os; os.setxattr('sub', 'user.x', b'x'); os.setxattr('.', 'user.x', b'x')"
        chmod 700 sub; true"#;
    const LOOK: &str = r#"
        find . ~ $TMPDIR -mindepth 1 | sed "s|$HOME|HOME|; s|$TMPDIR|TMPDIR|" | sort
        cat a.txt
        for folder in /tmp /var/tmp /dev/shm /dev/mqueue; do cat $folder/redgreen-test; done 2> /dev/null
        find . ! -newermt @99999
        /usr/bin/python3 -c "import os; print(os.listxattr('sub'), os.listxattr('.'))"
        stat -c %a sub"#;
    let repo = Repo::new();
    write(&repo.root.join("sub/b.txt"), "two\n");
    write(&repo.root.join("sub/inner/c.txt"), "three\n");
    repo.commit("folders");
    let git = repo.open();
    // Without mounts, a sandbox shares its shared memory with other programs.
    for sandbox in sandboxes().into_iter().filter(Sandbox::binds) {
        let tools = tools(&["sh"], PATH, &repo, &[]);
        let mut room = room_in(
            &repo,
            &Options::default(),
            RoomEnvironment { tools, ..RoomEnvironment::default() },
        );
        let (_, before) = shell(&room, &sandbox, LOOK);
        let (worked, words) = shell(&room, &sandbox, LEAVE);
        assert!(worked, "{words}");
        let left = shell(&room, &sandbox, LOOK).1;
        assert!(left.contains("HOME/.cache/x/y") && left.contains("user.x"), "{left}");
        room.change_to(&git, &tree(&repo), &Options::default()).unwrap();
        assert_eq!(shell(&room, &sandbox, LOOK).1, before, "{:?}", sandbox.by());
        assert_eq!(text(&room, "sub/inner/c.txt"), "three\n");
        let written = room.facts.written;
        assert_eq!(written, 1, "only the file that was changed is written again");
    }
}

#[test]
fn packages_are_brought_in_unchangeable_and_checked() {
    for sandbox in sandboxes() {
        let repo = Repo::new();
        let from = repo.place("checkout/node_modules");
        write(&from.join("pkg/index.js"), "real");
        write(&from.join(".bin/tool"), "real");
        repo.file("node_modules/pkg/index.js", "evil").commit("shadow");
        let folder = DependencyFolder { place: Some("node_modules".into()), from: from.clone() };
        let dependencies = Dependencies::look(vec![folder], None).unwrap();
        let fingerprint = dependencies.fingerprint();
        let hidden = vec![repo.place("checkout")];
        let tools = tools(&["sh"], PATH, &repo, &[]);
        let surroundings =
            RoomEnvironment { tools, dependencies, hidden, ..RoomEnvironment::default() };
        let room = room_in(&repo, &Options::default(), surroundings);
        assert_eq!(dropped(&room, DropReason::InTheWay), ["node_modules/pkg/index.js"]);
        let (works, words) = shell(
            &room,
            &sandbox,
            "cat node_modules/pkg/index.js; echo x > node_modules/.bin/tool",
        );
        assert!(!works && words.starts_with("real"), "{:?}: {words}", sandbox.by());
        assert_eq!(room.dependency_changes().unwrap(), []);
        write(&from.join(".bin/tool"), "evil");
        let changes = room.dependency_changes().unwrap();
        assert_eq!(
            changes.iter().map(|change| change.how).collect::<Vec<_>>(),
            [ChangeKind::Modified]
        );
        let folder = DependencyFolder { place: Some("node_modules".into()), from };
        assert_ne!(Dependencies::look(vec![folder], None).unwrap().fingerprint(), fingerprint);
    }
}

#[test]
fn tools_are_found_behind_their_stand_ins_and_never_in_an_agents_folder() {
    let repo = Repo::new();
    let agents = repo.place("worktree");
    let planted = agents.join("bin/ls");
    write(&planted, "#!/bin/sh\n");
    fs::set_permissions(&planted, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:relative:{PATH}", agents.join("bin").display());
    let found = tools(&["ls", "sh", "no-such-tool"], &path, &repo, &[agents]);
    assert_eq!(found.refused, [("ls".to_owned(), planted)]);
    assert_eq!(found.missing, ["no-such-tool"]);
    assert!(found.get("sh").unwrap().path.is_absolute());
    assert!(
        found
            .path
            .iter()
            .all(|folder| folder.is_absolute() && !folder.starts_with(repo.place("worktree")))
    );
}

/// The cheat: the tree contains a toolchain whose cargo always reports success.
#[test]
fn a_toolchain_in_the_tree_is_not_obeyed() {
    let repo = Repo::new();
    let path = users_path();
    let before = tools(&["cargo"], &path, &repo, &[]);
    let Some(cargo) = before.get("cargo").cloned() else {
        return;
    };
    repo.file("rust-toolchain.toml", "[toolchain]\npath = \"/proc/self/cwd/tools/tc\"\n");
    repo.file("tools/tc/bin/cargo", "#!/bin/sh\necho planted\n").commit("toolchain");
    fs::set_permissions(repo.root.join("tools/tc/bin/cargo"), fs::Permissions::from_mode(0o755))
        .unwrap();
    let sandbox = &sandboxes()[0];
    let surroundings = RoomEnvironment {
        tools: before,
        hidden: vec![repo.root.clone()],
        ..RoomEnvironment::default()
    };
    let room = room_in(&repo, &Options::default(), surroundings);
    let (works, words) = shell(&room, sandbox, "cargo --version && rustc --version");
    assert!(works && words.starts_with("cargo 1.") && words.contains("rustc 1."), "{words}");
    let stop = Stop::default();
    let request =
        Request { network: Network::None, outlet: None, extra: &[], limits: LIMITS, stop: &stop };
    let direct =
        room.run(sandbox, &room.program("cargo").arg("--version"), &request).unwrap().output;
    assert!(direct.stdout_text().starts_with("cargo 1."), "{}", direct.stderr_text());
    assert!(room.facts.tools.contains(&("cargo".to_owned(), cargo.path)));
}

#[test]
#[ignore = "measures: cargo test --release --test it -- --ignored --nocapture cost"]
fn cost_of_a_room() {
    use std::io::Write;
    const FILES: usize = 2000;
    let repo = Repo::new();
    for number in 0..FILES {
        repo.file(&format!("d{}/f{number}.py", number % 50), &format!("# {number}\n").repeat(200));
    }
    repo.commit("many");
    let mut said = String::new();
    let mut time = |what: &str, act: &mut dyn FnMut()| {
        let started = std::time::Instant::now();
        act();
        said.push_str(&format!("{what}: {:?}\n", started.elapsed()));
    };
    let mut made = None;
    time("fresh, 2000 files", &mut || made = Some(room(&repo, &Options::default())));
    let mut made = made.unwrap();
    repo.file("d1/f1.py", "changed\n").commit("one");
    let next = tree(&repo);
    let git = repo.open();
    time("neighbour, 1 file", &mut || made.change_to(&git, &next, &Options::default()).unwrap());
    let folder = DependencyFolder { place: Some("x".into()), from: made.folder().to_owned() };
    let mut seen = None;
    time("fingerprint, 2000 files", &mut || {
        seen = Some(Dependencies::look(vec![folder.clone()], None).unwrap());
    });
    time("compare, 2000 files", &mut || drop(seen.as_ref().unwrap().changes().unwrap()));
    writeln!(std::io::stderr(), "{said}").ok();
}

fn users_path() -> String {
    #[expect(clippy::disallowed_methods, reason = "tests")]
    std::env::var("PATH").unwrap_or_default()
}
