// Records every call of a module's functions and classes from outside of it while the tests run.

function redgreenRecorder(path, values, language) {
  const { builtin, className, describe, ended, isPlain, output, own, tag } = values;
  const CALLS_MAX = 400;
  const CALLS_OF_ONE_MAX = 40;
  const ARGUMENT_BYTES_MAX = 1 << 15;
  const LOG_BYTES_MAX = 4 << 20;
  const LOOKS_MAX = 20;
  const DATA = ["Date", "RegExp", "ArrayBuffer", "BigInt", "Boolean", "Number", "String", "Error"];

  const log = process.env.REDGREEN_INERT_LOG;
  const state = (globalThis.__redgreenCalls ??= {
    number: process.pid * 2 ** 20 + (builtin("node:worker_threads")?.threadId ?? 0) * 2 ** 14,
    written: 0,
    bytes: 0,
    inside: 0,
    objects: new Map(),
    known: new Set(),
    looks: 0,
    replaced: new Set(),
  });

  // Arguments as data that can be loaded again. An object of a watched class is represented by the
  // number of the call that created it.
  function serialised(args) {
    const touches = [];
    const copies = new Map();
    const copy = (value) => {
      if (typeof value === "function" || typeof value === "symbol") throw new TypeError("no data");
      if (value === null || typeof value !== "object") return value;
      const known = state.objects.get(value);
      if (known !== undefined) {
        touches.push(known);
        return { "redgreen:made": known };
      }
      if (copies.has(value)) return copies.get(value);
      const kind = tag(value);
      if (Array.isArray(value) && className(value) === "Array") {
        const list = new Array(value.length);
        copies.set(value, list);
        value.forEach((one, at) => (list[at] = copy(one)));
        return list;
      }
      if (kind === "Map" && className(value) === "Map") {
        const map = new Map();
        copies.set(value, map);
        for (const [key, one] of value) map.set(copy(key), copy(one));
        return map;
      }
      if (kind === "Set" && className(value) === "Set") {
        const set = new Set();
        copies.set(value, set);
        for (const one of value) set.add(copy(one));
        return set;
      }
      if (DATA.includes(kind) || ArrayBuffer.isView(value)) return value;
      if (!isPlain(value)) throw new TypeError("no data");
      const object = {};
      copies.set(value, object);
      for (const key of Object.keys(value)) {
        const held = Object.getOwnPropertyDescriptor(value, key);
        if (!("value" in held)) throw new TypeError("no data");
        object[key] = copy(held.value);
      }
      return object;
    };
    const data = builtin("node:v8").serialize(copy(args));
    if (data.length > ARGUMENT_BYTES_MAX) throw new RangeError("too much");
    return { args: data.toString("base64"), touches };
  }

  function write(line) {
    const text = `${JSON.stringify(line)}\n`;
    state.bytes += text.length;
    if (state.bytes > LOG_BYTES_MAX) return false;
    builtin("node:fs").appendFileSync(log, text);
    state.written += 1;
    return true;
  }

  // Tests use the language to compare, so replaced functions of the language also affect them.
  function look() {
    if (!log || state.looks >= LOOKS_MAX) return;
    state.looks += 1;
    for (const { replaces, added } of language()) {
      if (state.replaced.has(replaces)) continue;
      state.replaced.add(replaces);
      // The code may have replaced how JSON writes objects.
      builtin("node:fs").appendFileSync(log, `{"replaces":${JSON.stringify(replaces)},"added":${added}}\n`);
    }
  }

  const given = (entry, self, args) => (entry.kind === "method" ? [self, ...args] : args);

  function begin(entry, self, args) {
    entry.calls += 1;
    try {
      if (state.written >= CALLS_MAX || entry.calls > CALLS_OF_ONE_MAX) throw new RangeError("too many");
      const { args: data, touches } = serialised(given(entry, self, args));
      const key = `${path} ${entry.name} ${data}`;
      if (touches.length === 0 && entry.kind === "function") {
        if (state.known.has(key)) return null;
        state.known.add(key);
      }
      state.number += 1;
      return { number: state.number, module: path, name: entry.name, kind: entry.kind, args: data, touches };
    } catch {
      // The history of these objects is no longer complete.
      for (const one of given(entry, self, args)) state.objects.delete(one);
      return null;
    }
  }

  function remember(value, number) {
    if (value === null || typeof value !== "object" || isPlain(value) || state.objects.has(value)) return;
    if (state.classes?.has(Object.getPrototypeOf(value))) state.objects.set(value, number);
  }

  function end(line, values, outcome, printed) {
    try {
      const after = values.map((one) => describe(one));
      const known = "gives" in outcome ? { gives: describe(outcome.gives) } : ended(outcome.raises);
      if (outcome.promised) known.promised = true;
      if ("gives" in outcome) remember(outcome.gives, line.number);
      if (!write({ ...line, outcome: { ...known, after, output: printed } })) state.objects.delete(outcome.gives);
    } catch {
      // The call is not recorded.
    }
  }

  function called(entry, self, args, call) {
    if (state.inside > 0) return call();
    const line = begin(entry, self, args);
    if (line === null) return call();
    const values = given(entry, self, args);
    const printed = output();
    let value;
    state.inside += 1;
    try {
      value = call();
    } catch (error) {
      end(line, values, { raises: error }, printed());
      throw error;
    } finally {
      state.inside -= 1;
      look();
    }
    if (tag(value) === "Promise") {
      printed();
      value.then(
        (gives) => end(line, values, { gives, promised: true }, null),
        (raises) => end(line, values, { raises, promised: true }, null),
      );
    } else {
      end(line, values, { gives: value }, printed());
    }
    return value;
  }

  function watched(name, kind, target) {
    const entry = { name, kind, calls: 0 };
    return new Proxy(target, {
      apply: (target, self, args) => called(entry, self, args, () => Reflect.apply(target, self, args)),
    });
  }

  function watchedClass(name, target) {
    const entry = { name, kind: "make", calls: 0 };
    const proxy = new Proxy(target, {
      construct(target, args, made) {
        if (made !== proxy) return Reflect.construct(target, args, made);
        return called(entry, undefined, args, () => Reflect.construct(target, args, target));
      },
    });
    state.classes ??= new Set();
    state.classes.add(target.prototype);
    for (const [kind, place] of [["method", target.prototype], ["static", target]]) {
      for (const key of Object.getOwnPropertyNames(place)) {
        const held = Object.getOwnPropertyDescriptor(place, key);
        if (key === "constructor") Object.defineProperty(place, key, { ...held, value: proxy });
        else if (typeof held.value === "function" && key !== "prototype" && held.configurable) {
          Object.defineProperty(place, key, { ...held, value: watched(`${name}.${key}`, kind, held.value) });
        }
      }
    }
    return proxy;
  }

  function watch(name, target) {
    if (!log || typeof target !== "function") return target;
    return /^class\b/.test(Function.prototype.toString.call(target)) ? watchedClass(name, target) : watched(name, "function", target);
  }

  // For a module that assigns `module.exports`.
  function watchExports(module) {
    if (typeof module.exports === "function") module.exports = watch("default", module.exports);
    for (const [key, value] of own(module.exports)) module.exports[key] = watch(key, value);
  }

  look();
  return { watch, watchExports };
}
