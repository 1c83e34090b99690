// Makes calls and tells, as data, what came of each: a line of JSON for a call. What was expected is not known here.

import { readFileSync, writeSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { inspect } from "node:util";

async function outcome({ module, function: name, args }) {
  let loaded;
  try {
    loaded = await import(pathToFileURL(resolve(module)).href);
  } catch (error) {
    return { missing: shown(error) };
  }
  return answer(loaded, name, args);
}

const { calls } = JSON.parse(readFileSync(0, "utf8"));
// What the code prints is nobody's answer.
process.stdout.write = () => true;
for (const call of calls) {
  const said = stringify({ index: call.index, ...(await outcome(call)) });
  writeSync(1, `${said}\n`);
}
process.exit(0);
