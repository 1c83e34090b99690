// An ordinary program: it makes calls where neither a test runner nor the tests are, and tells what came of each. It reads
// what to call from its input, as JSON, and writes a line of JSON for each call.

import { existsSync, readFileSync, writeSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { inspect } from "node:util";

const VARIANTS_OF_ONE_MAX = 24;
const VARIANTS_MAX = 900;
const NOW = 1700000000000;

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
  throw Object.assign(new Error("nothing here translates TypeScript"), { code: "ERR_UNSUPPORTED" });
}

// What a bundler fills in when it builds for users.
function built() {
  const known = { MODE: "production", BASE_URL: "/", PROD: true, DEV: false, SSR: true };
  for (const file of [".env", ".env.local", ".env.production"].filter((file) => existsSync(file))) {
    const lines = readFileSync(file, "utf8").matchAll(/^\s*(VITE_\w+)\s*=\s*(.*?)\s*$/gm);
    for (const [, name, value] of lines) known[name] = value.replace(/^(["'])(.*)\1$/, "$2");
  }
  return known;
}

const loaded = new Map();

function load(module) {
  if (!loaded.has(module)) loaded.set(module, loadAnew(resolve(module)));
  return loaded.get(module);
}

async function loadAnew(path) {
  const asks = readFileSync(path, "utf8").includes("import.meta.env");
  if (/\.(js|mjs|cjs)$/.test(path) && !asks) return import(pathToFileURL(path).href);
  const outfile = `${path}.built.mjs`;
  const settings = { bundle: true, format: "esm", platform: "node", packages: "external", logLevel: "silent", keepNames: true };
  const define = { "import.meta.env": JSON.stringify(built()) };
  translator().buildSync({ entryPoints: [path], outfile, define, ...settings });
  return import(pathToFileURL(outfile).href);
}

function near(value, edges) {
  const others = edges.filter((one) => typeof one === typeof value && typeof one !== "object");
  if (typeof value === "boolean") return [!value];
  if (typeof value === "number") {
    const limits = others.flatMap((one) => [one, one + 1, one - 1]);
    return [value + 1, value - 1, -value, value * 2, value * 10, 0, ...limits];
  }
  if (typeof value === "string") {
    const other = [value + value, value.repeat(5), "", value.slice(0, 1), value.toUpperCase(), value.toLowerCase()];
    other.push([...value].reverse().join(""), ` ${value}`, value.replaceAll(" ", "\t"), `${value}\n`);
    if (/^-?\d+$/.test(value)) {
      const limits = edges.filter((one) => typeof one === "number").flatMap((one) => [one, one + 1, one - 1]);
      other.push(...[Number(value) + 1, Number(value) - 1, 0, -Number(value), ...limits].map(String));
    }
    return [...other, ...others];
  }
  if (Array.isArray(value)) {
    const inside = value.slice(0, 2).flatMap((one, at) => near(one, []).map((other) => value.with(at, other)));
    return [[...value, ...value], [...value].reverse(), value.slice(0, 1), [], ...inside];
  }
  if (value !== null && typeof value === "object" && values.isPlain(value)) {
    return [{}, ...Object.keys(value).slice(0, 2).map((key) => ({ ...value, [key]: undefined }))];
  }
  return [];
}

// Ways to change one argument a little; a change is made to arguments that were made anew.
function changes(line, edges) {
  const first = line.kind === "method" ? 1 : 0;
  let count;
  let sizes;
  try {
    const args = values.builtin("node:v8").deserialize(Buffer.from(line.args, "base64"));
    count = args.length;
    sizes = args.map((one) => (Object.hasOwn(Object(one), "redgreen:made") ? 0 : near(one, edges).length));
  } catch {
    return [];
  }
  const all = [];
  for (let place = first; place < count; place += 1) {
    for (let at = 0; at < sizes[place]; at += 1) {
      all.push((args) => args.with(place, near(args[place], edges)[at]));
    }
  }
  // What a parameter is when nobody gives it is behaviour as well.
  for (let kept = first; kept < count; kept += 1) all.push(Object.assign((args) => args.slice(0, kept), { kept }));
  return all;
}

function plan(ask, lines) {
  const every = [];
  for (const line of lines) {
    every.push({ line, variant: 0 });
    if (!ask.near) continue;
    const edges = ask.near.flatMap((text) => {
      try {
        return [JSON.parse(text.replace(/^'(.*)'$/, '"$1"'))];
      } catch {
        return [];
      }
    });
    for (const [at, change] of changes(line, edges).entries()) {
      if (at >= VARIANTS_OF_ONE_MAX + 3 * edges.length || every.length >= VARIANTS_MAX) break;
      every.push({ line, change, variant: at + 1 });
    }
  }
  return every;
}

// The clock says the same to both trees.
function stopClock() {
  const Clock = Date;
  globalThis.Date = class Date extends Clock {
    constructor(...given) {
      super(...(given.length ? given : [NOW]));
    }
    static now() {
      return NOW;
    }
  };
}

class Exit {
  constructor(code) {
    this.code = code;
  }
}

async function repeat(ask) {
  const recorded = ask.lines.flatMap((text) => {
    try {
      return [JSON.parse(text)];
    } catch {
      return [];
    }
  });
  const lines = recorded.filter((line) => "number" in line).sort((a, b) => a.number - b.number);
  if (ask.near) stopClock();
  process.exit = (code) => {
    throw new Exit(code);
  };
  process.on("unhandledRejection", () => {});
  const { attempt } = redgreenRepeat(values, load);
  const every = plan(ask, lines);
  // In their order, then backwards, so that nothing depends on what came before.
  for (const [time, order] of [every, [...every].reverse()].entries()) {
    for (const one of order) {
      const made = await attempt(lines, one, time, tell);
      if (made === null) continue;
      try {
        await made.gives(made.call(...made.given));
      } catch (error) {
        made.raises(error);
      }
    }
  }
}

async function example({ module, function: name, args }) {
  let found;
  try {
    found = await load(module);
  } catch (error) {
    return { missing: shown(error) };
  }
  return answer(found, name, args);
}

const values = redgreenValues();
const tell = (line) => writeSync(1, `\n${stringify(line)}\n`);
const ask = JSON.parse(readFileSync(0, "utf8"));
const exit = process.exit;
// What the code prints is not told with the answers.
process.stdout.write = () => true;
if (ask.lines) await repeat(ask);
for (const one of ask.examples ?? []) tell({ index: one.index, ...(await example(one)) });
exit.call(process, 0);
