//! Projects with several packages that import each other through links in `node_modules`, as npm,
//! pnpm and yarn create them. redgreen tests the code of the judged tree, and an agent can run the
//! tests in its worktree.

use std::fs;
use std::os::unix::fs::symlink;

use super::Story;
use crate::runner::{is_installed, node_modules};
use crate::skip::skipped;

const TWO: &str = "import { expect, test } from 'vitest'\nimport { two } from '@acme/util'\n\n\
                   test('two', () => { expect(two()).toBe(2) })\n";

/// A sandboxed agent that first runs vitest and saves its output.
const AGENT: &str = r#"
import json, os, pathlib, subprocess, sys
phase = sys.stdin.read().split("test-driven development: ")[1].split(".")[0]
tests = "packages/app/two.test.ts"
ran = subprocess.run(["node_modules/.bin/vitest", "run"], capture_output=True, text=True, env={**os.environ, "NO_COLOR": "1"})
pathlib.Path(os.environ["HOME"], ".fake", phase).write_text(ran.stdout + ran.stderr)
said = "done"
if phase == "PLAN":
    boxes = pathlib.Path("test-list.md")
    if not boxes.exists():
        boxes.write_text("- [ ] two\n")
    chosen = {"description": "two", "testFile": tests, "implFile": "packages/util/index.ts"}
    said = json.dumps({"currentTest": None if "[x]" in boxes.read_text() else chosen})
elif phase == "RED":
    pathlib.Path(tests).write_text("""TESTS""")
elif phase == "GREEN":
    with open("packages/util/index.ts", "a") as code:
        code.write("export const two = () => 2\n")
print(said)
"#;

/// A package that needs another one, laid out as `npm install` does.
fn workspaces() -> Option<Story> {
    let vitest = node_modules();
    if !is_installed("node") || !vitest.join(".bin/vitest").exists() {
        skipped("vitest is not installed by scripts/test");
        return None;
    }
    let story = Story::pytest();
    let one = "import { expect, test } from 'vitest'\nimport { one } from '@acme/util'\n\n\
               test('one', () => { expect(one()).toBe(1) })\n";
    story.file(".gitignore", "node_modules/\n");
    story.file(
        "package.json",
        r#"{"private": true, "type": "module", "workspaces": ["packages/*"]}"#,
    );
    // Vitest compiles a TypeScript configuration into node_modules.
    story.file(
        "vitest.config.ts",
        "import { defineConfig } from 'vitest/config'\nexport default defineConfig({})\n",
    );
    story.file(
        "packages/util/package.json",
        r#"{"name": "@acme/util", "type": "module", "exports": "./index.ts"}"#,
    );
    story.file("packages/util/index.ts", "export const one = () => 1\n");
    story.file("packages/app/package.json", r#"{"name": "@acme/app", "type": "module"}"#);
    story.file("packages/app/one.test.ts", one);
    let modules = story.root.join("node_modules");
    fs::create_dir_all(modules.join("@acme")).unwrap();
    symlink("../../packages/util", modules.join("@acme/util")).unwrap();
    for entry in fs::read_dir(vitest).unwrap().flatten() {
        if entry.file_name() != "@acme" && entry.file_name() != ".vite" {
            symlink(entry.path(), modules.join(entry.file_name())).unwrap();
        }
    }
    story.commit("workspaces");
    Some(story)
}

#[test]
fn the_code_of_another_package_is_that_of_the_tree() {
    let Some(story) = workspaces() else { return };
    story.file("packages/app/two.test.ts", TWO).commit("red");
    story
        .file("packages/util/index.ts", "export const one = () => 1\nexport const two = () => 2\n")
        .commit("green");
    story
        .file("packages/util/index.ts", "export const one = () => 3\nexport const two = () => 2\n")
        .commit("breaks");
    let judge = |phase, base, head| {
        story.redgreen(&format!(
            "judge {phase} --base {base} --head {head} --brief \"two() of @acme/util is 2\""
        ))
    };
    judge("red", "HEAD~3", "HEAD~2").exits(0);
    judge("green", "HEAD~2", "HEAD~1").exits(0);
    judge("refactor", "HEAD~1", "HEAD").exits(1).says("refactor.regression");
}

#[test]
fn an_agent_behind_a_fence_runs_its_tests_in_the_worktree() {
    let Some(story) = workspaces() else { return };
    // The packages come from scripts/test, which may be in a place that the sandbox hides unless
    // PATH names it.
    let path = story.command("sh").args(["-c", "printf %s \"$PATH\""]).output().unwrap().stdout;
    let path =
        format!("{}:{}", node_modules().join(".bin").display(), String::from_utf8(path).unwrap());
    let story = story.env("PATH", &path);
    fs::create_dir_all(story.place("home/.fake")).unwrap();
    let agent = story.place("home/agent.py");
    fs::write(&agent, AGENT.replace("TESTS", TWO)).unwrap();
    let settings = format!(
        "backoff = 0.0\nmax-retries = 0\n[agent]\nname = \"fake\"\n[agent.custom.fake]\ncommand = \"python {}\"\n\
         folders = [\".fake\"]\n",
        agent.display()
    );
    story.file("redgreen.toml", &settings).commit("an agent");
    let before = story.belongings();
    let said = story.redgreen("run \"two() of @acme/util is 2\"").exits(3);
    assert!(!said.stderr.contains("refused"), "{}", said.stderr);
    assert_eq!(story.belongings(), before);
    for (phase, passed) in
        [("RED", "1 passed"), ("GREEN", "1 failed | 1 passed"), ("REFACTOR", "2 passed")]
    {
        let told = fs::read_to_string(story.place("home/.fake").join(phase)).unwrap();
        assert!(told.contains(passed), "{phase}: {told}");
    }
}
