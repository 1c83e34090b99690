//! Tests for detection, selections and path rules.

use super::*;

/// A project with these files, as `(path, text)`.
fn folders(files: &[(&str, &str)]) -> Vec<Folder> {
    let mut folders = vec![Folder::default()];
    for (path, text) in files {
        // A package below the root is written `packages/a//package.json`.
        let (folder, path) = path.split_once("//").unwrap_or(("", path));
        let at = folders.iter().position(|known| known.path == folder).unwrap_or(folders.len());
        if at == folders.len() {
            folders.push(Folder { path: folder.to_owned(), ..Folder::default() });
        }
        folders[at].files.push((*path).to_owned());
        folders[at].texts.push(((*path).to_owned(), (*text).to_owned()));
    }
    folders
}

/// The frameworks of a project with these files, as `folder:name`.
#[track_caller]
fn finds(files: &[(&str, &str)], expected: &[&str]) {
    let names: Vec<_> =
        detect(&folders(files)).iter().map(|found| found.outward_id(found.row.name)).collect();
    assert_eq!(names, expected, "{files:?}");
}

#[test]
fn detects_a_project_by_its_root() {
    finds(&[("README.md", "")], &[]);
    finds(&[("Cargo.toml", ""), ("tests/roman.rs", "")], &["cargo"]);
    finds(&[("pytest.ini", "")], &["pytest"]);
    finds(&[("conftest.py", "")], &["pytest"]);
    finds(&[("tests/test_roman.py", "")], &["pytest"]);
    finds(&[("pyproject.toml", "")], &["pytest"]);
    finds(&[("setup.py", "")], &["pytest"]);
    finds(&[("go.mod", "")], &["go"]);
    finds(&[(".rspec", "")], &["rspec"]);
    finds(&[("spec/calc_spec.rb", ""), ("Gemfile", "gem 'rspec'")], &["rspec"]);
    finds(&[("Gemfile", "gem 'rspec'")], &["rspec"]);
    finds(&[("spec/calc.spec.js", "")], &[]);
    finds(&[("test/calc_test.rb", "require 'minitest/autorun'")], &["minitest"]);
    finds(
        &[("test/calc_test.rb", "require 'test_helper'"), ("Gemfile", "gem 'minitest'")],
        &["minitest"],
    );
    finds(&[("test/calc_test.rb", "require 'test/unit'")], &[]);
    finds(&[("test/calc.bats", "")], &["bats"]);
    finds(&[("mix.exs", "")], &["exunit"]);
}

#[test]
fn a_package_script_is_the_last_resort() {
    let script = |line: &str| format!(r#"{{"scripts": {{"test": "{line}"}}}}"#);
    finds(&[("package.json", &script("node check.js"))], &["command"]);
    finds(&[("package.json", &script("vitest run"))], &["vitest"]);
    finds(&[("package.json", &script("echo 'Error: no test specified' && exit 1"))], &[]);
    finds(&[("package.json", &script("node check.js")), ("go.mod", "")], &["go"]);
    finds(&[("package.json", "{}")], &[]);
    finds(&[("package.json", "[")], &[]);
}

#[test]
fn detects_maven_by_the_contents_of_the_pom() {
    let junit = "<artifactId>junit-jupiter</artifactId>";
    finds(&[("pom.xml", junit)], &["maven"]);
    finds(&[("pom.xml", "<project>")], &["maven"]);
    finds(&[("pom.xml", "<modules>"), ("core//pom.xml", junit)], &["maven"]);
    finds(
        &[("README.md", ""), ("core//pom.xml", junit), ("web//pytest.ini", "")],
        &["core: maven", "web: pytest"],
    );
    finds(&[("pom.xml", "<project>"), ("go.mod", "")], &["go"]);
}

#[test]
fn nextest_is_for_projects_that_configure_it() {
    let config = (".config/nextest.toml", "");
    finds(&[("Cargo.toml", ""), config], &["nextest"]);
    finds(&[("Cargo.toml", "[workspace]"), config, ("crates/a//Cargo.toml", "")], &["nextest"]);
    finds(&[config], &[]);
}

#[test]
fn detects_phpunit_by_its_configuration_or_composer() {
    finds(&[("phpunit.xml.dist", "")], &["phpunit"]);
    finds(&[("composer.json", "{\"require-dev\": {\"phpunit/phpunit\": \"^11\"}}")], &["phpunit"]);
    finds(&[("composer.json", "{}")], &[]);
}

#[test]
fn ctest_is_for_cmake_projects_that_enable_it() {
    finds(
        &[("CMakeLists.txt", "project(demo CXX)\nenable_testing()\nadd_subdirectory(tests)\n")],
        &["ctest"],
    );
    finds(
        &[("CMakeLists.txt", "PROJECT(demo)\nINCLUDE( CTest )\n"), ("lib//CMakeLists.txt", "")],
        &["ctest"],
    );
    finds(
        &[("CMakeLists.txt", "project(demo)\n"), ("tests//CMakeLists.txt", "enable_testing()\n")],
        &[],
    );
}

#[test]
fn gradle_covers_its_modules() {
    finds(&[("build.gradle", "")], &["gradle"]);
    finds(&[("settings.gradle.kts", ""), ("app//build.gradle.kts", "")], &["gradle"]);
    finds(&[("build.gradle", ""), ("pom.xml", "junit")], &["maven", "gradle"]);
}

#[test]
fn unittest_runs_its_own_tests_where_pytest_is_missing() {
    let own = ("tests/test_a.py", "import unittest\n\nclass A(unittest.TestCase):\n    pass\n");
    let named = ("tox.ini", "deps = pytest\n");
    for (files, other) in [
        (vec![own, named], Some("unittest")),
        (vec![own, named, ("tests/conftest.py", "")], None),
        (vec![own, named, ("tests/test_b.py", "def test_b(): pass\n")], None),
        (vec![own, named, ("tests/test_b.py", "import pytest\nimport unittest\n")], None),
        (vec![own], None),
    ] {
        let found = detect(&folders(&files));
        assert_eq!(otherwise(&found[0]).map(|found| found.row.name), other, "{files:?}");
    }
}

#[test]
fn unittest_is_for_projects_that_do_not_name_pytest() {
    let own = ("tests/test_a.py", "import unittest\n\nclass A(unittest.TestCase):\n    pass\n");
    finds(&[own], &["unittest"]);
    finds(
        &[own, ("tests/__init__.py", ""), ("tests/helpers.py", "def order(): pass\n")],
        &["unittest"],
    );
    finds(&[("a_test.py", own.1)], &["unittest"]);
    finds(&[own, ("tests/test_b.py", "class TestB:\n    def test_b(self): pass\n")], &["pytest"]);
    finds(&[("test_a.py", "from unittest.mock import Mock\n\ndef test_a(): pass\n")], &["pytest"]);
    finds(
        &[("test_a.py", "from unittest import mock\n\nclass TestA:\n    def test_a(self): pass\n")],
        &["pytest"],
    );
    finds(&[own, ("setup.py", "")], &["unittest"]);
    finds(&[own, ("tests/test_b.py", "def test_b(): pass\n")], &["pytest"]);
    finds(&[own, ("tests/conftest.py", "")], &["pytest"]);
    finds(&[own, ("requirements-dev.txt", "pytest==8\n")], &["pytest"]);
    finds(&[own, ("pyproject.toml", "[tool.pytest.ini_options]")], &["pytest"]);
}

#[test]
fn detects_javascript_runners_by_dependency_or_configuration() {
    let package = |text| ("package.json", text);
    finds(&[package("{}")], &[]);
    finds(&[package(r#"{"devDependencies": {"vitest": "3"}}"#)], &["vitest"]);
    finds(&[("vitest.config.ts", "")], &["vitest"]);
    finds(&[("vite.config.ts", "export default { test: {} }")], &["vitest"]);
    finds(&[("vite.config.ts", "export default {}")], &[]);
    finds(&[package(r#"{"devDependencies": {"jest": "30"}}"#)], &["jest"]);
    finds(&[package(r#"{"jest": {}}"#)], &["jest"]);
    finds(&[("jest.config.js", "")], &["jest"]);
    finds(&[package(r#"{"dependencies": {"mocha": "11"}}"#)], &["mocha"]);
    finds(&[(".mocharc.yml", "")], &["mocha"]);
}

#[test]
fn only_the_javascript_runner_in_use_counts() {
    let both =
        r#"{"devDependencies": {"jest": "30", "mocha": "11"}, "scripts": {"test": "SCRIPT"}}"#;
    let package = |script: &str| both.replace("SCRIPT", script);
    finds(&[("package.json", &package("nyc mocha"))], &["mocha"]);
    finds(&[("package.json", &package("make test"))], &["jest", "mocha"]);
    finds(&[("package.json", &package("make test")), (".mocharc.json", "{}")], &["mocha"]);
    finds(&[("package.json", &package("NODE_ENV=test node --import tsx --test"))], &["node"]);
}

#[test]
fn detects_node_test_by_script_or_tests() {
    let own = ("test/a.test.mjs", "import test from 'node:test'\n");
    finds(&[own], &["node"]);
    finds(&[own, ("package.json", "{}")], &["node"]);
    finds(&[own, ("package.json", r#"{"devDependencies": {"vitest": "3"}}"#)], &["vitest"]);
    finds(&[("package.json", r#"{"scripts": {"test": "node --test"}}"#)], &["node"]);
    finds(&[("package.json", r#"{"scripts": {"test": "node test.js"}}"#)], &["command"]);
}

#[test]
fn workspaces_run_at_the_root_or_per_package() {
    let root = |runner: &str| {
        format!(r#"{{"workspaces": ["packages/*"], "devDependencies": {{"{runner}": "*"}}}}"#)
    };
    let package = |runner: &str| format!(r#"{{"scripts": {{"test": "{runner}"}}}}"#);
    for (runner, expected) in [
        ("vitest", &["vitest"][..]),
        ("jest", &["jest"]),
        ("mocha", &["mocha", "packages/a: mocha"]),
    ] {
        let (root, below) = (root(runner), package(runner));
        finds(&[("package.json", &root), ("packages/a//package.json", &below)], expected);
    }
}

#[test]
fn detects_several_frameworks_but_ignores_a_linter_manifest() {
    finds(&[("Cargo.toml", ""), ("pytest.ini", "")], &["pytest", "cargo"]);
    finds(
        &[("Cargo.toml", ""), ("pyproject.toml", "[tool.pytest.ini_options]")],
        &["pytest", "cargo"],
    );
    finds(&[("Cargo.toml", ""), ("pyproject.toml", "[tool.ruff]")], &["cargo"]);
}

#[test]
fn packages_below_the_root_count_unless_a_parent_covers_them() {
    finds(&[("Cargo.toml", ""), ("crates/a//Cargo.toml", "")], &["cargo"]);
    finds(&[("go.mod", ""), ("tools//go.mod", "")], &["go", "tools: go"]);
    finds(
        &[("README.md", ""), ("api//go.mod", ""), ("web//pytest.ini", "")],
        &["api: go", "web: pytest"],
    );
    finds(
        &[("pytest.ini", ""), ("sub//conftest.py", ""), ("sub//Cargo.toml", "")],
        &["pytest", "sub: cargo"],
    );
    // Likely matches count only at the root.
    finds(&[("README.md", ""), ("web//setup.py", "")], &[]);
}

#[test]
fn selections_reach_their_framework() {
    let found = |row: &'static Framework, path: &str| Detection {
        row,
        folder: Folder { path: path.to_owned(), ..Folder::default() },
        command: None,
        files: Vec::new(),
    };
    let (python, go) = (found(&pytest::FRAMEWORK, ""), found(&go::FRAMEWORK, "api"));
    let (cargo, nextest) = (found(&cargo::FRAMEWORK, ""), found(&nextest::FRAMEWORK, ""));
    let one = |id: &str| Selection::One(id.to_owned());
    let files =
        |paths: &[&str]| Selection::Files(paths.iter().map(|path| (*path).to_owned()).collect());
    for (found, selection, expected) in [
        (&python, one("tests/test_a.py::a"), Some(one("tests/test_a.py::a"))),
        (&go, one("tests/test_a.py::a"), None),
        (&go, one("api: example.com/demo.TestA"), Some(one("example.com/demo.TestA"))),
        (&python, one("api: example.com/demo.TestA"), None),
        (&go, files(&["api/a_test.go", "test_b.py"]), Some(files(&["a_test.go"]))),
        (&python, files(&["api/a_test.go"]), None),
        (&go, Selection::List, Some(Selection::List)),
        // Rust's unit tests are in the same file as the code, for both runners.
        (&cargo, files(&["src/a.rs"]), Some(files(&["src/a.rs"]))),
        (&nextest, files(&["src/a.rs"]), Some(files(&["src/a.rs"]))),
        (&nextest, files(&["README.md"]), None),
    ] {
        assert_eq!(found.inward(&selection), expected, "{selection:?}");
    }
}

#[test]
fn package_reports_get_project_paths_and_ids() {
    let found = Detection {
        row: &go::FRAMEWORK,
        folder: Folder { path: "api".to_owned(), ..Folder::default() },
        command: None,
        files: Vec::new(),
    };
    let test = Test {
        file: Some("a_test.go".to_owned()),
        ..Test::new("d.TestA", crate::report::Status::Passed)
    };
    let report = Report {
        planned: Some(vec!["d.TestA".to_owned()]),
        tests: vec![test],
        ..Report::default()
    };
    let report = found.outward(report);
    assert_eq!(
        (report.tests[0].id.as_str(), report.tests[0].file.as_deref()),
        ("api: d.TestA", Some("api/a_test.go"))
    );
    assert_eq!(report.planned.unwrap(), ["api: d.TestA"]);
}

#[track_caller]
fn is(framework: &Framework, path: &str, expected: &str) {
    let test = (framework.is_test_file)(path);
    let config = (framework.is_runner_config)(path);
    let seen = match (test, config) {
        (true, false) => "test",
        (false, true) => "config",
        (false, false) => "-",
        (true, true) => "both",
    };
    assert_eq!(seen, expected, "{}: {path}", framework.name);
}

#[test]
fn paths_are_tests_or_runner_configuration_or_neither() {
    for (path, expected) in [
        ("tests/test_roman.py", "test"),
        ("roman_test.py", "test"),
        ("test_roman.py", "test"),
        ("tests/conftest.py", "test"),
        ("tests/helpers.py", "test"),
        ("src/roman.py", "-"),
        ("src/latest.py", "-"),
        ("tests/data.json", "-"),
        ("pyproject.toml", "config"),
        ("sub/tox.ini", "config"),
        ("README.md", "-"),
    ] {
        is(&pytest::FRAMEWORK, path, expected);
    }
    for (path, expected) in [
        ("src/calc.test.ts", "test"),
        ("test/calc.js", "test"),
        ("src/__snapshots__/a.snap", "test"),
        ("src/calc.ts", "-"),
        ("src/contest.js", "-"),
        ("vitest.config.ts", "config"),
        ("jest.config.ts", "-"),
        ("package.json", "config"),
        ("tsconfig.build.json", "config"),
        ("dist/tsconfig.tsbuildinfo", "-"),
    ] {
        is(&vitest::FRAMEWORK, path, expected);
    }
    for (framework, path) in
        [(&jest::FRAMEWORK, "jest.config.ts"), (&mocha::FRAMEWORK, ".mocharc.json")]
    {
        is(framework, path, "config");
        is(framework, "src/calc.test.ts", "test");
    }
    for (path, expected) in [
        ("tests/roman.rs", "test"),
        ("tests/it/main.rs", "test"),
        ("crates/a/tests/data/in.txt", "test"),
        ("src/roman/tests.rs", "test"),
        ("src/tests/one.rs", "test"),
        ("src/lib.rs", "-"),
        ("src/attest.rs", "-"),
        ("Cargo.toml", "config"),
        ("crates/a/Cargo.toml", "config"),
        (".cargo/config.toml", "config"),
        ("build.rs", "config"),
        ("rust-toolchain.toml", "config"),
    ] {
        is(&cargo::FRAMEWORK, path, expected);
    }
    for (path, expected) in [
        ("spec/calc_spec.rb", "test"),
        ("spec/support/helper.rb", "test"),
        ("lib/calc.rb", "-"),
        (".rspec", "config"),
        ("Gemfile.lock", "config"),
    ] {
        is(&rspec::FRAMEWORK, path, expected);
    }
    for (path, expected) in [
        ("test/calc_test.rb", "test"),
        ("test/test_helper.rb", "test"),
        ("lib/calc.rb", "-"),
        ("Rakefile", "config"),
    ] {
        is(&minitest::FRAMEWORK, path, expected);
    }
    for (path, expected) in
        [("test/calc.bats", "test"), ("test/helper.bash", "test"), ("src/calc.sh", "-")]
    {
        is(&bats::FRAMEWORK, path, expected);
    }
    for (path, expected) in [
        ("test/calc_test.exs", "test"),
        ("apps/a/test/support/case.ex", "test"),
        ("lib/calc.ex", "-"),
        ("mix.exs", "config"),
        ("config/test.exs", "config"),
    ] {
        is(&exunit::FRAMEWORK, path, expected);
    }
    for (path, expected) in [
        ("src/test/java/demo/CalcTest.java", "test"),
        ("core/src/test/resources/in.txt", "test"),
        ("src/integrationTest/kotlin/ATest.kt", "test"),
        ("src/main/java/demo/Calc.java", "-"),
        ("src/main/java/demo/test/Calc.java", "-"),
        ("core/pom.xml", "config"),
        (".mvn/maven.config", "config"),
        ("mvnw", "config"),
        ("src/test/resources/junit-platform.properties", "config"),
    ] {
        is(&maven::FRAMEWORK, path, expected);
    }
    for (path, expected) in [
        ("app/src/test/java/demo/CalcTest.java", "test"),
        ("app/build.gradle.kts", "config"),
        ("gradle/libs.versions.toml", "config"),
        ("gradle.properties", "config"),
        ("src/main/java/demo/gradle/A.java", "-"),
    ] {
        is(&gradle::FRAMEWORK, path, expected);
    }
    for (path, expected) in [
        ("tests/CalcTest.php", "test"),
        ("tests/bootstrap.php", "test"),
        ("src/CalcTest.php", "test"),
        ("src/Calc.php", "-"),
        ("phpunit.xml.dist", "config"),
        ("composer.lock", "config"),
    ] {
        is(&phpunit::FRAMEWORK, path, expected);
    }
    for (path, expected) in [
        ("tests/calc.cpp", "test"),
        ("src/calc_test.cc", "test"),
        ("test_calc.c", "test"),
        ("src/calc.cpp", "-"),
        ("src/latest.cpp", "-"),
        ("tests/data.txt", "-"),
        ("tests/CMakeLists.txt", "config"),
        ("CMakePresets.json", "config"),
    ] {
        is(&ctest::FRAMEWORK, path, expected);
    }
}
