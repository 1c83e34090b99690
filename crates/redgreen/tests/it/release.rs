//! The release machinery: the contents of the archives, the installers, and the same version
//! everywhere. The lane `release` of `scripts/test` does the same with the real static program.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use redgreen::process::{Limits, Output, Program, Stop};
use redgreen_core::hook::Host;
use redgreen_core::install::{added, parts};

use crate::runner::is_installed;

const LIMITS: Limits = Limits { wall: Duration::from_secs(120), output_bytes_max: 4 << 20 };
const VERSION: &str = env!("CARGO_PKG_VERSION");
const TARGETS: [&str; 4] = [
    "x86_64-unknown-linux-musl",
    "aarch64-unknown-linux-musl",
    "x86_64-apple-darwin",
    "aarch64-apple-darwin",
];
/// A stand-in for the program, because the real one takes minutes to build.
const PROGRAM: &str = r#"#!/bin/sh
case $1 in
--version) echo redgreen 9.9 ;;
man | completions) echo "a page" ;;
*) echo "got: $*" && exit 3 ;;
esac
"#;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn run(program: &Program) -> Output {
    program.output(LIMITS, &Stop::default()).unwrap()
}

#[track_caller]
fn release(words: &[&str]) -> Output {
    let script = root().join("scripts/release");
    run(&Program::new(script).args(words.iter().copied()))
}

/// A folder with all files of a release.
fn released() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program");
    fs::write(&program, PROGRAM).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let (program, out) =
        (program.display().to_string(), folder.path().join("out").display().to_string());
    for target in TARGETS {
        let packed = release(&["pack", target, &program, &out]);
        assert!(packed.success(), "{}", packed.stderr_text());
    }
    let finished = release(&["finish", &out, "ada/redgreen"]);
    assert!(finished.success(), "{}", finished.stderr_text());
    folder
}

#[test]
fn every_place_names_the_same_version() {
    assert!(read("Cargo.toml").contains(&format!("\nversion = \"{VERSION}\"\n")));
    for member in ["redgreen-core", "redgreen-serve"] {
        let wanted =
            format!("{member} = {{ path = \"crates/{member}\", version = \"={VERSION}\" }}");
        assert!(read("Cargo.toml").contains(&wanted), "Cargo.toml needs: {wanted}");
    }
    assert!(
        read("CHANGELOG.md").contains(&format!("\n## [{VERSION}] - 20")),
        "CHANGELOG.md has no section"
    );
    let plugin = read("plugin/redgreen/.claude-plugin/plugin.json");
    assert!(plugin.contains(&format!("\"version\": \"{VERSION}\"")), "{plugin}");
    assert!(read("docs/book/comparison.md").contains(&format!("| redgreen | {VERSION} |")));
    assert_eq!(release(&["version"]).stdout_text().trim(), VERSION);
}

/// Users choose between the plugin and `redgreen init --with claude`.
#[test]
fn the_plugin_is_what_init_installs() {
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    let files = ["plugin/redgreen/hooks/hooks.json", "plugin/redgreen/.mcp.json"];
    let parts = parts(Host::Claude);
    assert_eq!(parts.len(), files.len());
    for (part, file) in parts.iter().zip(files) {
        assert_eq!(json(&read(file)), json(&added(part, None).unwrap()), "{file}");
    }
    let market = json(&read(".claude-plugin/marketplace.json"));
    let plugin = json(&read("plugin/redgreen/.claude-plugin/plugin.json"));
    assert_eq!(market["plugins"][0]["name"], plugin["name"]);
    assert_eq!(market["plugins"][0]["source"], "./plugin/redgreen");
    let skill = read("plugin/redgreen/skills/redgreen/SKILL.md");
    assert!(skill.lines().count() < 60 && skill.contains("redgreen session dispute"), "{skill}");
}

#[test]
fn a_release_needs_its_tag_and_its_repository() {
    let check = |tag: &str, repository: &str| release(&["check", tag, repository]).stderr_text();
    assert!(check("v9.9.9", "OWNER/redgreen").contains("the tag is v9.9.9, but Cargo.toml says"));
    let tag = format!("v{VERSION}");
    assert!(check(&tag, "somebody/else").contains("Cargo.toml names another repository"));
    assert!(check(&tag, "not a repository").contains("not a repository"));
    let named = read("Cargo.toml");
    let named = named
        .lines()
        .find_map(|line| line.strip_prefix("repository = \"https://github.com/"))
        .unwrap();
    assert_eq!(check(&tag, named.trim_end_matches('"')), "");
}

#[test]
fn the_notes_of_a_release_are_its_section_of_the_changelog() {
    let notes = release(&["notes"]).stdout_text();
    assert!(notes.contains("### Added") && !notes.contains("\n## ["), "{notes}");
}

#[test]
fn an_archive_is_reproducible_and_complete() {
    let (one, other) = (released(), released());
    let name = format!("out/redgreen-{VERSION}-x86_64-unknown-linux-musl.tar.gz");
    let bytes = |folder: &tempfile::TempDir| fs::read(folder.path().join(&name)).unwrap();
    assert_eq!(bytes(&one), bytes(&other), "the same input made two archives");
    let listed = run(&Program::new("tar").arg("-tzf").arg(one.path().join(&name))).stdout_text();
    for file in
        ["redgreen", "redgreen.1", "LICENSE-MIT", "LICENSE-APACHE", "completions/redgreen.zsh"]
    {
        assert!(
            listed.lines().any(|line| line.ends_with(&format!("musl/{file}"))),
            "{file} is missing:\n{listed}"
        );
    }
    let formula = fs::read_to_string(one.path().join("out/redgreen.rb")).unwrap();
    assert!(!formula.contains('@'), "{formula}");
    let sums = fs::read_to_string(one.path().join("out/SHA256SUMS")).unwrap();
    for target in TARGETS {
        let sum =
            sums.lines().find(|line| line.contains(target)).unwrap().split(' ').next().unwrap();
        assert!(
            formula.contains(&format!("-{target}.tar.gz\"\n      sha256 \"{sum}\"")),
            "{target}: {formula}"
        );
    }
}

#[test]
fn a_release_without_one_of_its_archives_is_not_finished() {
    let folder = released();
    let out = folder.path().join("out");
    fs::remove_file(out.join(format!("redgreen-{VERSION}-aarch64-apple-darwin.tar.gz"))).unwrap();
    let finished = release(&["finish", &out.display().to_string(), "ada/redgreen"]);
    assert!(
        finished.stderr_text().contains("aarch64-apple-darwin.tar.gz is missing"),
        "{}",
        finished.stderr_text()
    );
}

#[test]
fn the_installer_installs_what_it_checked() {
    if !is_installed("curl") {
        return;
    }
    let folder = released();
    let url = serve(folder.path().join("out"));
    let home = folder.path().join("home");
    let install = || {
        let script = folder.path().join("out/install.sh");
        run(&Program::new("sh").arg(script).env("HOME", &home).env("REDGREEN_DOWNLOAD_URL", &url))
    };
    fs::create_dir(&home).unwrap();
    let installed = install();
    assert!(installed.success(), "{}", installed.stderr_text());
    assert!(
        installed.stderr_text().contains("installed redgreen 9.9 in"),
        "{}",
        installed.stderr_text()
    );
    let program = home.join(".local/bin/redgreen");
    assert_eq!(run(&Program::new(&program).arg("a")).stdout_text(), "got: a\n");
    assert_eq!(fs::read_dir(home.join(".local/bin")).unwrap().count(), 1, "something else is left");

    // An archive that does not match its checksum is not installed, and the old program stays.
    fs::write(&program, "old").unwrap();
    for target in TARGETS {
        fs::write(folder.path().join(format!("out/redgreen-{VERSION}-{target}.tar.gz")), "evil")
            .unwrap();
    }
    let refused = install();
    assert!(
        refused.stderr_text().contains("wrong checksum of redgreen-"),
        "{}",
        refused.stderr_text()
    );
    assert!(!refused.success());
    assert_eq!(fs::read_to_string(&program).unwrap(), "old");
    fs::remove_file(folder.path().join("out/SHA256SUMS")).unwrap();
    assert!(install().stderr_text().contains("cannot download"));
}

#[test]
fn the_npm_package_starts_the_program_of_the_platform() {
    if !is_installed("npm") || !cfg!(target_os = "linux") {
        return;
    }
    let folder = released();
    let packages = folder.path().join("out/npm");
    let processor = if cfg!(target_arch = "x86_64") { "x64" } else { "arm64" };
    let project = folder.path().join("project");
    fs::create_dir(&project).unwrap();
    fs::write(project.join("package.json"), "{}\n").unwrap();
    let install = |names: &[String]| {
        let files = names.iter().map(|name| packages.join(format!("{name}-{VERSION}.tgz")));
        let npm = Program::new("npm").args([
            "install",
            "--silent",
            "--offline",
            "--no-audit",
            "--no-fund",
        ]);
        run(&npm.args(files).cwd(&project).env("HOME", folder.path()))
    };
    // Without the platform's package, the message names it.
    let installed = install(&["redgreen".to_owned()]);
    assert!(installed.success(), "{}", installed.stderr_text());
    let program = project.join("node_modules/.bin/redgreen");
    let missing = run(&Program::new(&program).arg("a"));
    assert!(
        missing.stderr_text().contains(&format!("redgreen-linux-{processor} is not installed")),
        "{missing:?}"
    );
    let installed = install(&[format!("redgreen-linux-{processor}"), "redgreen".to_owned()]);
    assert!(installed.success(), "{}", installed.stderr_text());
    let ran = run(&Program::new(&program).args(["a", "b c"]));
    assert_eq!(ran.stdout_text(), "got: a b c\n");
    assert_eq!(ran.exit, redgreen_core::report::Exit::Code(3), "the exit code is an interface");
}

/// Cargo leaves out ignored files and folders with a Cargo.toml of their own. Without such a file,
/// the crate would not build.
#[test]
fn a_published_crate_contains_every_file_that_its_code_includes() {
    for name in ["redgreen", "redgreen-core", "redgreen-serve"] {
        let cargo = Program::new("cargo").args([
            "package",
            "--list",
            "--allow-dirty",
            "--offline",
            "--locked",
        ]);
        let listed = run(&cargo.args(["--package", name]).cwd(root()));
        assert!(listed.success(), "{}", listed.stderr_text());
        let listed: BTreeSet<PathBuf> = listed.stdout_text().lines().map(PathBuf::from).collect();
        let folder = root().join("crates").join(name);
        for wanted in ["LICENSE-MIT", "LICENSE-APACHE"] {
            assert!(listed.contains(Path::new(wanted)), "{name}: {wanted}");
        }
        for source in listed
            .iter()
            .filter(|path| path.starts_with("src") && path.extension().is_some_and(|e| e == "rs"))
        {
            let text = fs::read_to_string(folder.join(source)).unwrap();
            let is_test = source.iter().any(|part| part == "tests" || part == "tests.rs");
            for included in text.split("include_str!(\"").skip(1).filter(|_| !is_test) {
                let included = included.split('"').next().unwrap();
                let path = normal(&source.parent().unwrap().join(included));
                assert!(
                    listed.contains(&path),
                    "{name}: {} includes {}",
                    source.display(),
                    path.display()
                );
            }
        }
    }
}

/// Resolves `..`: `a/b/../c` becomes `a/c`.
fn normal(path: &Path) -> PathBuf {
    path.iter().fold(PathBuf::new(), |mut whole, part| {
        if part == ".." {
            assert!(whole.pop(), "{} leads out of the crate", path.display());
        } else {
            whole.push(part);
        }
        whole
    })
}

/// A tag of an action can be moved to other code; a commit cannot.
#[test]
fn workflows_pin_actions_and_ask_for_little() {
    for entry in fs::read_dir(root().join(".github/workflows")).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let name = path.display();
        for used in text
            .lines()
            .filter_map(|line| line.trim().trim_start_matches("- ").strip_prefix("uses: "))
        {
            let (pin, version) =
                used.split_once('@').unwrap().1.split_once(" # v").unwrap_or(("", ""));
            let is_commit = pin.len() == 40 && pin.bytes().all(|byte| byte.is_ascii_hexdigit());
            assert!(is_commit && !version.is_empty(), "{name}: {used}");
        }
        assert!(text.contains("\npermissions:\n  contents: read\n"), "{name}");
        let jobs = text.matches("\n    runs-on: ").count();
        assert_eq!(
            jobs,
            text.matches("\n    timeout-minutes: ").count(),
            "{name}: every job has a time limit"
        );
    }
}

/// Serves the files of a folder on loopback and returns the address. The thread ends with the
/// tests.
fn serve(folder: PathBuf) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines =
                BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
            let first = lines.next().unwrap_or_default();
            lines.take_while(|line| !line.is_empty()).for_each(drop);
            let name =
                first.split(' ').nth(1).unwrap_or_default().trim_start_matches('/').to_owned();
            let (status, body) = match fs::read(folder.join(&name)) {
                Ok(body) if !name.contains("..") => ("200 OK", body),
                _ => ("404 Not Found", Vec::new()),
            };
            write!(
                stream,
                "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                body.len()
            )
            .ok();
            stream.write_all(&body).ok();
        }
    });
    url
}
