//! The program's dependencies: where they come from, and their licences. `cargo deny` checks more
//! (above all advisories) but is not installed everywhere; this runs wherever the tests run.

use redgreen::process::{Limits, Program, Stop};

use super::{GIT_LIMITS, clean, file, root};

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";
/// Enough for the licences and sources of a few hundred packages.
const METADATA: Limits = Limits { output_bytes_max: 64 << 20, ..GIT_LIMITS };

/// The licences that `deny.toml` allows.
fn allowed() -> Vec<String> {
    let deny: toml::Table = file("deny.toml").text.parse().unwrap();
    let licences = deny["licenses"]["allow"].as_array().unwrap();
    licences.iter().map(|licence| licence.as_str().unwrap().to_owned()).collect()
}

/// Whether these licences satisfy an SPDX expression. `A OR B AND C` is read as `(A OR B) AND C`,
/// which is stricter than necessary.
fn is_met(expression: &str, allowed: &[String]) -> bool {
    let plain = expression.replace(['(', ')'], "").replace('/', " OR ");
    let is_allowed = |licence: &str| allowed.iter().any(|known| known == licence.trim());
    plain.split(" AND ").all(|part| part.split(" OR ").any(is_allowed))
}

fn unlicensed(metadata: &serde_json::Value, allowed: &[String]) -> Vec<String> {
    let packages = metadata["packages"].as_array().unwrap();
    let text =
        |package: &serde_json::Value, key: &str| package[key].as_str().unwrap_or("none").to_owned();
    let is_bad = |package: &&serde_json::Value| !is_met(&text(package, "license"), allowed);
    let words = |package| {
        format!("{} is under {}: see deny.toml", text(package, "name"), text(package, "license"))
    };
    packages.iter().filter(is_bad).map(words).collect()
}

/// Packages of a lock file from other sources. Our own have no source.
fn strange(lock: &str) -> Vec<String> {
    let sources = lock.lines().filter_map(|line| line.strip_prefix("source = "));
    sources
        .map(|source| source.trim_matches('"'))
        .filter(|source| *source != CRATES_IO)
        .map(str::to_owned)
        .collect()
}

#[test]
fn packages_come_from_crates_io() {
    for lock in ["Cargo.lock", "fuzz/Cargo.lock"] {
        let text = file(lock).text;
        assert!(text.contains(CRATES_IO), "{lock}");
        clean(&strange(&text));
    }
    let git = "[[package]]\nname = \"a\"\nsource = \"git+https://example.com/a#1\"\n";
    assert_eq!(strange(git), ["git+https://example.com/a#1"]);
}

#[test]
fn licences_are_allowed() {
    let program =
        Program::new("cargo").args(["metadata", "--format-version", "1", "--locked", "--offline"]);
    let host = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let output = program
        .args(["--filter-platform", &host])
        .cwd(root())
        .output(METADATA, &Stop::default())
        .unwrap();
    assert!(output.success() && !output.cut, "{}", output.stderr_text());
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(metadata["packages"].as_array().unwrap().len() > 100);
    clean(&unlicensed(&metadata, &allowed()));
}

#[test]
fn a_licence_is_met_by_one_of_a_choice_and_all_of_a_sum() {
    let allowed = ["MIT".to_owned(), "ISC".to_owned()];
    for (expression, expected) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("GPL-3.0 OR MIT", true),
        ("GPL-3.0/MIT", true),
        ("(GPL-3.0 OR MIT) AND ISC", true),
        ("MIT AND GPL-3.0", false),
        ("none", false),
    ] {
        assert_eq!(is_met(expression, &allowed), expected, "{expression}");
    }
    let metadata =
        serde_json::json!({ "packages": [{ "name": "a", "license": "GPL-3.0" }, { "name": "b" }] });
    assert_eq!(unlicensed(&metadata, &allowed).len(), 2);
}
