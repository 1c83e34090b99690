//! What a file imports, and at which position.

use super::*;

#[track_caller]
fn check(path: &str, source: &str, expected: &[&str]) {
    let found = imports(Language::of_path(path), source);
    let told: Vec<String> =
        found.iter().map(|one| format!("{} {}", one.module, one.names.join(","))).collect();
    assert_eq!(told.iter().map(|told| told.trim()).collect::<Vec<_>>(), expected, "{source}");
}

#[test]
fn imports_of_each_language() {
    check(
        "a.py",
        "import os\nimport a.b as c\nfrom .. import d\nfrom e.f import (g, h as i)\nfrom j import *\nc.x(); c.y\n",
        &["os", "a.b x,y", ".. d", "e.f g,h", "j *"],
    );
    check(
        "a.py",
        "import importlib\nm = importlib.import_module('a.b')\nm.f()\n",
        &["importlib import_module", "a.b f"],
    );
    check(
        "a.rs",
        "use crate::a::{b, c::{self, d as e}};\nuse f::*;\nuse std::fmt;\n",
        &["crate::a b", "crate::a::c d", "f *", "std fmt"],
    );
    check(
        "a.ts",
        "import x, { a as b } from './m.js';\nimport * as n from '../n';\nimport type { T } from 't';\nexport { q } from './q';\nn.f();\nconst { r } = require('./r');\nconst s = await import('./s');\ns.g();\n",
        &["./m.js default,a", "../n f", "t T", "./q q", "./r r", "./s g"],
    );
    check(
        "a.go",
        "package a\nimport (\n\t\"fmt\"\n\tr \"example.com/m/roman\"\n)\nfunc f() { r.Of(4) }\n",
        &["a *", "fmt", "example.com/m/roman Of"],
    );
    check(
        "A.java",
        "package a.b;\nimport a.c.D;\nimport static a.c.E.f;\nimport g.*;\n",
        &["a.b *", "a.c.D D", "a.c.E f", "g *"],
    );
}

#[track_caller]
fn found(from: &str, source: &str, expected: &[&str]) {
    let paths: Vec<String> = [
        "src/textkit/__init__.py",
        "src/textkit/roman.py",
        "app/models.py",
        "tests/helpers.py",
        "src/lib.rs",
        "src/roman.rs",
        "src/text/mod.rs",
        "src/text/slug.rs",
        "crates/other/src/lib.rs",
        "src/m.ts",
        "src/n/index.tsx",
        "lib/p.js",
        "go/roman/roman.go",
        "go/roman/roman_test.go",
        "go/roman/parts.go",
        "src/main/java/a/b/C.java",
        "src/main/java/a/b/D.java",
    ]
    .map(str::to_owned)
    .to_vec();
    let packages = [("textkit", ""), ("other", "crates/other"), ("example.com/m", "go")]
        .map(|(name, folder)| Package { name: name.to_owned(), folder: folder.to_owned() });
    let language = Language::of_path(from);
    let project = Project { paths: &paths, packages: &packages };
    let found: Vec<String> = imports(language, source)
        .iter()
        .flat_map(|one| resolve(language, from, one, project))
        .collect();
    assert_eq!(found, expected, "{source}");
}

#[test]
fn imports_are_found_in_the_project() {
    found(
        "tests/test_a.py",
        "import os\nfrom textkit.roman import f\nfrom textkit import roman\nimport helpers\nfrom app.models import M\n",
        &[
            "src/textkit/roman.py",
            "src/textkit/__init__.py",
            "src/textkit/roman.py",
            "tests/helpers.py",
            "app/models.py",
        ],
    );
    found("src/textkit/__init__.py", "from .roman import f\n", &["src/textkit/roman.py"]);
    found(
        "tests/a.rs",
        "use textkit::roman::to_roman;\nuse textkit::Thing;\nuse serde::Serialize;\nuse other::x;\nuse std::fmt;\n",
        &["src/roman.rs", "src/lib.rs", "crates/other/src/lib.rs"],
    );
    found(
        "src/roman.rs",
        "use crate::text::slug::f;\nmod tests { use super::*; }\n",
        &["src/text/slug.rs", "src/roman.rs"],
    );
    found(
        "test/a.test.ts",
        "import a from '../src/m.js';\nimport b from '../src/n';\nimport c from '../lib/p';\nimport d from 'vitest';\n",
        &["src/m.ts", "src/n/index.tsx", "lib/p.js"],
    );
    found(
        "go/roman/roman_test.go",
        "package roman\nimport \"testing\"\n",
        &["go/roman/roman.go", "go/roman/parts.go"],
    );
    found(
        "go/roman/x_test.go",
        "package roman_test\nimport \"example.com/m/roman\"\n",
        &["go/roman/roman.go", "go/roman/parts.go"],
    );
    found(
        "src/test/java/a/x/CTest.java",
        "package a.x;\nimport a.b.C;\nimport org.junit.Test;\n",
        &["src/main/java/a/b/C.java"],
    );
    found(
        "src/test/java/a/b/CTest.java",
        "package a.b;\n",
        &["src/main/java/a/b/C.java", "src/main/java/a/b/D.java"],
    );
}
