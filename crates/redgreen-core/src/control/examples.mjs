// Makes calls and tells, as data, what came of each: a line of JSON for a call. What was expected is not known here.

import { readFileSync, writeSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { inspect } from "node:util";

const SHOWN_CHARS_MAX = 300;
const shown = (value) => inspect(value, { breakLength: Infinity }).slice(0, SHOWN_CHARS_MAX);
const { stringify } = JSON;

function isData(value) {
  if (value === null || value === undefined) return true;
  if (Array.isArray(value)) return value.every(isData);
  if (typeof value === "object") {
    const plain = [Object.prototype, null].includes(Object.getPrototypeOf(value));
    return plain && Object.values(value).every(isData);
  }
  return typeof value === "number" ? Number.isFinite(value) : ["string", "boolean"].includes(typeof value);
}

function names(error) {
  const all = [error?.name];
  for (let one = error; one; one = Object.getPrototypeOf(one)) all.push(one.constructor?.name);
  return all.filter((name) => typeof name === "string");
}

async function outcome({ module, function: name, args }) {
  let found;
  try {
    const loaded = await import(pathToFileURL(resolve(module)).href);
    found = loaded[name] ?? loaded.default?.[name];
    if (typeof found !== "function") return { missing: `no function ${name}` };
  } catch (error) {
    return { missing: shown(error) };
  }
  try {
    const value = await found(...args);
    return isData(value) ? { gives: value ?? null, shown: shown(value) } : { other: shown(value) };
  } catch (error) {
    return { raises: names(error), shown: String(error).slice(0, SHOWN_CHARS_MAX) };
  }
}

const { calls } = JSON.parse(readFileSync(0, "utf8"));
// What the code prints is nobody's answer.
process.stdout.write = () => true;
for (const call of calls) {
  const said = stringify({ index: call.index, ...(await outcome(call)) });
  writeSync(1, `${said}\n`);
}
process.exit(0);
