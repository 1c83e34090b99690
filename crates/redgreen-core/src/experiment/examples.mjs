// Makes calls and tells, as data, what came of each: a line of JSON for a call. What was expected is not known here.

import { readFileSync, writeSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { inspect } from "node:util";

// The project's own translator, which may come along with its runner.
function translator() {
  let from = createRequire(resolve("package.json"));
  for (const through of ["vitest", "vite", "tsx"]) {
    try {
      return from("esbuild");
    } catch {
      // It is further inside, if it is there.
    }
    try {
      from = createRequire(from.resolve(`${through}/package.json`));
    } catch {
      // The next may be there without it.
    }
  }
  throw new Error("nothing here translates TypeScript");
}

async function load(module) {
  const path = resolve(module);
  if (/\.(js|mjs|cjs)$/.test(path)) return import(pathToFileURL(path).href);
  const outfile = `${path}.redgreen.mjs`;
  const settings = { bundle: true, format: "esm", platform: "node", packages: "external", logLevel: "silent" };
  translator().buildSync({ entryPoints: [path], outfile, ...settings });
  return import(pathToFileURL(outfile).href);
}

async function outcome({ module, function: name, args }) {
  let loaded;
  try {
    loaded = await load(module);
  } catch (error) {
    return { missing: shown(error) };
  }
  return answer(loaded, name, args);
}

const { examples: calls } = JSON.parse(readFileSync(0, "utf8"));
// What the code prints is nobody's answer.
process.stdout.write = () => true;
for (const call of calls) {
  const said = stringify({ index: call.index, ...(await outcome(call)) });
  writeSync(1, `${said}\n`);
}
process.exit(0);
