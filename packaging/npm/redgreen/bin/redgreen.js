#!/usr/bin/env node
// Starts the redgreen program of this platform, which npm installed as an optional dependency.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const name = `redgreen-${process.platform}-${process.arch}`;

function find() {
  try {
    return require.resolve(`${name}/bin/redgreen`);
  } catch {
    const windows = process.platform === "win32" ? "On Windows, use WSL." : "";
    console.error(
      `redgreen: the package ${name} is not installed. Either there is no program for this platform, or npm left out ` +
        `optional dependencies. Next: npm install ${name} ${windows}`.trimEnd(),
    );
    process.exit(4);
  }
}

const child = spawn(find(), process.argv.slice(2), { stdio: "inherit" });
// The terminal sends Ctrl-C to both processes; redgreen decides what it means.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => {
    if (signal !== "SIGINT") child.kill(signal);
  });
}
child.on("error", (error) => {
  console.error(`redgreen: cannot start ${child.spawnfile}: ${error.message}`);
  process.exit(4);
});
child.on("exit", (code, signal) => {
  process.exit(signal ? 128 + constants.signals[signal] : code);
});
