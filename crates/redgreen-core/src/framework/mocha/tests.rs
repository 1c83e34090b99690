//! Tests for mocha: captured streams and invocation.

use super::*;
use crate::framework::samples::{self, Check};
use crate::report::LoadErrorKind;

/// In parallel mode mocha reports a dead process only as an error. redgreen disables parallel mode.
const ALONE: &[(&str, Outcome)] = &[("crash_exit0_parallel", Outcome::Errored)];

#[test]
fn parses_captured_runs() {
    Check::new("mocha-stream", parse).ids(javascript::name_of).alone(ALONE).run();
}

#[test]
fn load_errors_have_a_reason_and_a_place() {
    for (situation, kind, code, line) in [
        ("missing_module", LoadErrorKind::MissingSymbol, "MODULE_NOT_FOUND", 2),
        ("syntax_error", LoadErrorKind::Syntax, "SyntaxError", 2),
    ] {
        let report = parse(&samples::one("mocha-stream", situation).captured());
        let error = &report.load_errors[0];
        let seen = (error.kind, error.code.as_deref(), error.file.as_deref(), error.line);
        assert_eq!(seen, (kind, Some(code), Some("test/calc.spec.js"), Some(line)), "{situation}");
    }
}

#[test]
fn missing_es_modules_are_placed_at_their_import() {
    let stderr = "\n Exception during run: Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/p/src/roman.mjs' \
        imported from /p/test/a.spec.mjs\n    at finalizeResolution (node:internal/modules/esm/resolve:265:11)\n\
        \x20   at load (/p/node_modules/mocha/lib/nodejs/esm-utils.js:10:14)\n";
    let captured = Capture {
        exit: Exit::Code(1),
        stderr: stderr.as_bytes().to_vec(),
        reports: vec![("stream.jsonl".to_owned(), Vec::new())],
        root: "/p".to_owned(),
        ..Capture::default()
    };
    let error = &parse(&captured).load_errors[0];
    assert_eq!(
        (error.file.as_deref(), error.kind),
        (Some("test/a.spec.mjs"), LoadErrorKind::MissingSymbol)
    );
}

fn facts() -> Facts {
    let tools = [(PACKAGE.bin, "/p/mocha"), (C8.bin, "/p/c8")];
    let tools = tools.map(|(name, path)| (name.to_owned(), path.to_owned())).to_vec();
    Facts { root: "/p".to_owned(), scratch: "/s".to_owned(), tools, ..Facts::default() }
}

#[track_caller]
fn invokes(selection: &Selection, expected: &str) -> Invocation {
    let invocation = invoke(&facts(), selection).unwrap();
    let start = format!("/p/mocha --reporter /s/redgreen-mocha.cjs {}", OPTIONS.join(" "));
    assert_eq!(invocation.call.words.join(" "), expected.replace("RUN", &start));
    invocation
}

#[test]
fn builds_the_invocation_of_every_selection() {
    invokes(&Selection::All, "RUN --no-dry-run");
    invokes(&Selection::Files(vec!["test/a.js".to_owned()]), "RUN --no-dry-run test/a.js");
    let one = Selection::One("test/a.js > s > 1+1".to_owned());
    invokes(&one, r"RUN --no-dry-run --grep ^s (> )?1\+1$ test/a.js");
    invokes(&Selection::List, "RUN --dry-run");
    let coverage = "/p/c8 --reporter=lcovonly --check-coverage=false --reports-dir=/s/coverage \
        --temp-directory=/s/v8 RUN --no-dry-run";
    assert_eq!(
        invokes(&Selection::Coverage, coverage).coverage.unwrap().file,
        "coverage/lcov.info"
    );
}

#[test]
fn yarn_starts_packages_from_its_archives() {
    let tools = [(javascript::PNP, "/p/.pnp.cjs"), (javascript::YARN, "/bin/yarn")];
    let tools = tools.map(|(name, path)| (name.to_owned(), path.to_owned())).to_vec();
    let words = invoke(&Facts { tools, ..facts() }, &Selection::All).unwrap().call.words;
    assert_eq!(words[..4], ["/bin/yarn", "run", "mocha", "--reporter"]);
}

#[test]
fn coverage_needs_its_own_package() {
    let facts = Facts { tools: facts().tools.into_iter().take(1).collect(), ..facts() };
    let Err(CannotRun::Missing(missing)) = invoke(&facts, &Selection::Coverage) else {
        panic!("found")
    };
    assert_eq!(missing.next, "npm install -D c8");
}
