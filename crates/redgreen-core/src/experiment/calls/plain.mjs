// An ordinary program: it makes calls without a test runner and without the tests, and reports the
// outcome of each. It reads the calls from stdin, as JSON, and writes one JSON line for each call.

import { existsSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import nodeModule, { createRequire } from "node:module";
import { dirname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { inspect } from "node:util";

const SHOWN_CHARS_MAX = 300;
const VARIANTS_OF_ONE_MAX = 24;
const VARIANTS_MAX = 900;
const NOW = 1700000000000;

const shown = (value) => inspect(value, { breakLength: Infinity }).slice(0, SHOWN_CHARS_MAX);
const { stringify } = JSON;
const { stripTypeScriptTypes } = nodeModule;

// No tool here can translate this TypeScript. This says nothing about the code.
class Untranslated extends Error {
  untranslated = true;
}

// The path of a package of the project, or of a dependency of its test runner.
function packaged(name) {
  let from = createRequire(resolve("package.json"));
  for (const through of ["vitest", "vite", "tsx"]) {
    try {
      return from.resolve(name);
    } catch {
      // It may be a dependency of the next package.
    }
    try {
      from = createRequire(from.resolve(`${through}/package.json`));
    } catch {
      // Try the next package.
    }
  }
  return null;
}

// The public interface of a package; null if it is not installed.
async function tool(name) {
  const path = packaged(name);
  const found = path && (await import(pathToFileURL(path).href));
  return found && { ...found.default, ...found };
}

const translated = new Map();

// Without a bundler, a module and the modules that it imports are translated one by one.
function translate(path, javascript) {
  const outfile = `${path}.built.mjs`;
  if (translated.has(path)) return outfile;
  translated.set(path, outfile);
  const outputText = javascript(readFileSync(path, "utf8"));
  const imports = /((?:from|import)\s*\(?\s*)(["'])(\.[^"']*)\2/g;
  const text = outputText.replace(imports, (all, before, _, to) => {
    const place = resolve(dirname(path), to);
    const stem = place.replace(/\.[cm]?jsx?$/, "");
    const ends = [".ts", ".tsx", ".mts", ".cts", "/index.ts", "/index.tsx"];
    const source = [place, ...ends.map((end) => stem + end)].find((file) => /\.[cm]?tsx?$/.test(file) && existsSync(file));
    return source ? `${before}${JSON.stringify(pathToFileURL(translate(source, javascript)).href)}` : all;
  });
  writeFileSync(outfile, text);
  return outfile;
}

// The constants that a bundler inserts in a production build.
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
  let outfile;
  try {
    outfile = await translation(path);
  } catch (error) {
    throw new Untranslated(String(error));
  }
  return import(pathToFileURL(outfile).href);
}

// Translates the module with the first of the project's tools that can.
async function translation(path) {
  const outfile = `${path}.built.mjs`;
  const define = { "import.meta.env": JSON.stringify(built()) };
  const esbuild = await tool("esbuild");
  if (esbuild?.buildSync) {
    const settings = { bundle: true, format: "esm", platform: "node", packages: "external", logLevel: "silent", keepNames: true };
    esbuild.buildSync({ entryPoints: [path], outfile, define, ...settings });
    return outfile;
  }
  const rolldown = await tool("rolldown");
  if (rolldown?.rolldown) {
    const external = (name) => !/^([./]|\w:)/.test(name);
    const settings = { platform: "node", logLevel: "silent", treeshake: false, transform: { define } };
    const bundle = await rolldown.rolldown({ input: path, external, ...settings });
    await bundle.write({ file: outfile, format: "esm", keepNames: true, codeSplitting: false });
    return outfile;
  }
  const typescript = await tool("typescript");
  if (typescript?.transpileModule) {
    const { ModuleKind, ScriptTarget, JsxEmit } = typescript;
    const compilerOptions = { module: ModuleKind.ESNext, target: ScriptTarget.ES2022, jsx: JsxEmit.React };
    return translate(path, (source) => typescript.transpileModule(source, { compilerOptions }).outputText);
  }
  // Since Node 22.13.
  if (stripTypeScriptTypes) return translate(path, (source) => stripTypeScriptTypes(source, { mode: "transform" }));
  throw new Error("no tool translates TypeScript");
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

// Small changes of one argument. Each is applied to newly created arguments.
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
  // The default of a parameter is behaviour too.
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

// Both trees see the same time.
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
  // In order, then in reverse, so that the result does not depend on earlier calls.
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

async function answer(loaded, name, args) {
  const found = loaded[name] ?? loaded.default?.[name];
  if (typeof found !== "function") return { missing: `no function ${name}` };
  try {
    const value = await found(...args);
    return isData(value) ? { gives: value ?? null, shown: shown(value) } : { other: shown(value) };
  } catch (error) {
    return { raises: names(error), shown: String(error).slice(0, SHOWN_CHARS_MAX) };
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
// The output of the code must not mix with the answers.
process.stdout.write = () => true;
if (ask.lines) await repeat(ask);
for (const one of ask.examples ?? []) tell({ index: one.index, ...(await example(one)) });
exit.call(process, 0);
