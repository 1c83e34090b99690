//! The secrets, where they are planted, and the script that looks for them.

use std::fs;
use std::io::Write;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::thread;

use crate::story::Story;

pub(super) const PYTHON: &str = "/usr/bin/python3";
/// Asks a socket. In one line, because the script is quoted in several languages.
const ASK: &str = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.settimeout(5); s.connect(sys.argv[1]); \
                   print(s.recv(99).decode())";

/// Where a secret is planted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TestStage {
    /// A file that git tracks.
    Tracked(&'static str),
    /// A file of the checkout that git does not track.
    Checkout(&'static str),
    /// A deleted file that is still in git's history.
    History(&'static str),
    /// A file that exists only on another branch of the user's.
    Branch(&'static str),
    /// A change that the user put on the stash.
    Stash(&'static str),
    /// A file in git's folder.
    GitFolder(&'static str),
    /// A setting of the repository, with the secret as its value.
    GitConfig(&'static str, &'static str),
    Home(&'static str),
    /// A file beside the project: another checkout, a document in `/tmp`.
    Beside(&'static str),
    /// A socket in the home, on which a program tells the secret to everybody who connects.
    Socket(&'static str),
    /// An absolute path, which is skipped if it is not writable.
    Machine(&'static str),
    Variable(&'static str),
}

use TestStage::{
    Beside, Branch, Checkout, GitConfig, GitFolder, History, Home, Machine, Socket, Stash, Tracked,
    Variable,
};

pub(super) const PLANTED: &[TestStage] = &[
    Tracked("secrets.yaml"),
    Tracked("deploy/.env.production"),
    Tracked("certs/server.key"),
    Tracked("deploy/.ssh/config"),
    Checkout(".env"),
    Checkout("notes.txt"),
    History(".env.old"),
    Branch("plans.txt"),
    Stash("pytest.ini"),
    GitFolder("redgreen/runs/20200101-000000/journal.jsonl"),
    GitFolder("hooks/post-commit.local"),
    GitConfig("remote.origin.url", "https://ada:{}@git.example.com/a.git"),
    GitConfig("http.https://git.example.com/.extraheader", "Authorization: Basic {}"),
    GitConfig("credential.https://git.example.com.username", "{}"),
    GitConfig("alias.deploy", "!deploy --password {}"),
    Home(".ssh/id_ed25519"),
    Home(".ssh/config"),
    Home(".aws/credentials"),
    Home(".netrc"),
    Home(".config/gh/hosts.yml"),
    Home(".config/gcloud/application_default_credentials.json"),
    Home(".config/redgreen/config.toml.bak"),
    Home(".docker/config.json"),
    Home(".kube/config"),
    Home(".gnupg/private-keys-v1.d/key"),
    Home(".git-credentials"),
    Home(".gitconfig"),
    Home(".npmrc"),
    Home(".pypirc"),
    Home(".pgpass"),
    Home(".vault-token"),
    Home(".cargo/credentials.toml"),
    Home(".cargo/config.toml"),
    Home(".bash_history"),
    Home(".zsh_history"),
    Home(".python_history"),
    Home(".claude.json"),
    Home(".claude/.credentials.json"),
    Home(".codex/auth.json"),
    Home(".local/share/keyrings/login.keyring"),
    Home(".local/share/uv/credentials/credentials.toml"),
    Home(".m2/settings.xml"),
    Home(".gradle/gradle.properties"),
    Home(".gem/credentials"),
    Home(".mozilla/firefox/x/logins.json"),
    Home("Documents/diary.md"),
    Home("other/.env"),
    Home(".spy/login.json"),
    Home(".spy/settings.toml"),
    Home(".spy/history"),
    Beside("sibling/.env"),
    Beside("sibling/.git/config"),
    Beside("sibling/src/main.py"),
    Beside("scratch.txt"),
    Machine("/var/tmp/redgreen-leak-test"),
    Machine("/dev/shm/redgreen-leak-test"),
    Socket(".gnupg/S.gpg-agent"),
    Socket(".docker/desktop/docker.sock"),
    Variable("DATABASE_URL"),
    Variable("AWS_SECRET_ACCESS_KEY"),
    Variable("GITHUB_TOKEN"),
    Variable("PLAIN_SETTING"),
    Variable("SSH_AUTH_SOCK"),
];

/// Without mounts, all users share this folder, and programs need it for locks.
pub(super) const OPEN_TO_LANDLOCK: &[TestStage] = &[Machine("/dev/shm/redgreen-leak-test")];
/// Tests run on the whole tree, with every file that git tracks.
pub(super) const OPEN_TO_TESTS: fn(&TestStage) -> bool = |at| matches!(at, Tracked(_));

/// Every reader must find this text: a reader that finds nothing did not look.
pub(super) const CANARY: &str = "planted-for-all-to-see";
/// The same for readers that use git.
pub(super) const GIT_CANARY: &str = "planted-in-the-log";

/// The secret of a row. It does not look like a credential, so only its location can protect it.
pub(super) fn secret(at: &TestStage) -> String {
    let number = PLANTED.iter().position(|one| one == at).unwrap();
    format!("planted{number:02}end")
}

/// A project with everything planted in and around it.
pub(super) fn plant() -> Story {
    let story = Story::pytest();
    let home = story.place("home");
    let cargo = home.join(".cargo").display().to_string();
    let mut story = story.env("CARGO_HOME", &cargo);
    story.file("README.md", &format!("{CANARY}\n"));
    story.file(".gitignore", "__pycache__/\n.env\n.env.old\nnotes.txt\n");
    let put = |path: &Path, secret: &str| {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("token = \"{secret}\"\n")).unwrap();
    };
    // Plant the history first: every later file that is not committed belongs to the checkout.
    for at in PLANTED {
        if let History(path) = at {
            put(&story.root.join(path), &secret(at));
            story.git(&format!("add --force {path}"));
            story.commit("a mistake");
            story.git(&format!("rm --quiet {path}"));
            story.commit("mend it");
        }
    }
    for at in PLANTED {
        if let Tracked(path) = at {
            put(&story.root.join(path), &secret(at));
            story.git(&format!("add --force {path}"));
        }
    }
    story.commit(GIT_CANARY);
    for at in PLANTED {
        match at {
            Branch(path) => {
                story.git("checkout --quiet -b plans");
                put(&story.root.join(path), &secret(at));
                story.commit("plans");
                story.git("checkout --quiet main");
            }
            Stash(path) => {
                let old = fs::read_to_string(story.root.join(path)).unwrap();
                story.file(path, &format!("{old}# {}\n", secret(at)));
                story.git("stash --quiet");
            }
            _ => {}
        }
    }
    for at in PLANTED {
        let value = secret(at);
        match at {
            Checkout(path) => put(&story.root.join(path), &value),
            GitFolder(path) => put(&story.root.join(".git").join(path), &value),
            GitConfig(key, text) => {
                let set = story
                    .command("git")
                    .args(["config", key, &text.replace("{}", &value)])
                    .output()
                    .unwrap();
                assert!(set.status.success(), "{key}");
            }
            Home(path) => put(&home.join(path), &value),
            Beside(path) => put(&story.place(path), &value),
            Socket(path) => tell(&home.join(path), value),
            Machine(path) => drop(fs::write(path, format!("{value}\n"))),
            Variable(name) => story = story.env(name, &value),
            Tracked(_) | History(_) | Branch(_) | Stash(_) => {}
        }
    }
    story
}

/// Looks for every secret, and prints the name of each one it found.
pub(super) fn probe(story: &Story) -> String {
    let quoted = |path: PathBuf| format!("'{}'", path.display());
    let files = PLANTED.iter().filter_map(|at| match at {
        Tracked(path) | Checkout(path) => {
            Some(format!("{} '{path}'", quoted(story.root.join(path))))
        }
        GitFolder(path) => Some(quoted(story.root.join(".git").join(path))),
        Home(path) => Some(quoted(story.place("home").join(path))),
        Beside(path) => Some(quoted(story.place(path))),
        Machine(path) => Some(quoted(path.into())),
        History(_) | Branch(_) | Stash(_) | GitConfig(..) | Variable(_) | Socket(_) => None,
    });
    let files = files.collect::<Vec<_>>().join(" ");
    let sockets = PLANTED.iter().filter_map(|at| match at {
        Socket(path) => Some(quoted(story.place("home").join(path))),
        _ => None,
    });
    let sockets = sockets.collect::<Vec<_>>().join(" ");
    let (root, config) = (quoted(story.place("")), quoted(story.root.join(".git/config")));
    format!(
        "{{ cat {files} README.md {config}; env; cat /proc/*/environ /proc/[0-9]*/cmdline; \
         git config --list; git --no-pager log --all -p; git stash show -p; \
         git show HEAD:secrets.yaml main:secrets.yaml; git cat-file --batch-all-objects --batch --unordered; \
         find {root} ~ -type f -exec cat {{}} +; \
         for socket in {sockets}; do {PYTHON} -c '{ASK}' \"$socket\"; done; \
         cat \"$(git rev-parse --git-common-dir)/config\" ; }} 2>/dev/null \
         | grep -ao -e 'planted[0-9]*end' -e '{CANARY}' -e '{GIT_CANARY}' | sort -u"
    )
}

/// Tells the secret to everybody who connects, until the tests end.
fn tell(path: &Path, secret: String) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let listener = UnixListener::bind(path).unwrap();
    thread::spawn(move || {
        for client in listener.incoming() {
            // A client that is gone does not hear it.
            client.and_then(|mut client| client.write_all(secret.as_bytes())).ok();
        }
    });
}
