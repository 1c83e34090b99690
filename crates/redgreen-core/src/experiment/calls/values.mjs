// Describes values and outcomes as data. Shared by our programs that record or repeat calls in
// JavaScript. It is inserted into modules of every kind, so it imports nothing.

function redgreenValues() {
  const builtin = (name) => process.getBuiltinModule(name);
  const TEXT_CHARS_MAX = 400;
  const NODES_MAX = 600;
  const DEPTH_MAX = 12;
  const ITEMS_MAX = 200;

  function cut(text) {
    if (text.length <= TEXT_CHARS_MAX) return text;
    return `${text.slice(0, TEXT_CHARS_MAX)}… ${builtin("node:crypto").createHash("sha1").update(text).digest("hex")}`;
  }

  const tag = (value) => Object.prototype.toString.call(value).slice(8, -1);

  function className(value) {
    const prototype = Object.getPrototypeOf(value);
    const made = prototype && Object.getOwnPropertyDescriptor(prototype, "constructor")?.value;
    // Compilers add `_` to the name of a class that refers to itself.
    return typeof made === "function" ? made.name.replace(/^_+/, "") : "Object";
  }

  const isPlain = (value) => {
    const prototype = Object.getPrototypeOf(value);
    return prototype === null || (Object.getPrototypeOf(prototype) === null && className(value) === "Object");
  };

  // Own properties, without calling getters.
  function own(value) {
    const found = [];
    for (const key of Object.keys(value)) {
      const held = Object.getOwnPropertyDescriptor(value, key);
      if (held && "value" in held && held.value !== undefined) found.push([key, held.value]);
    }
    return found;
  }

  // For callers, a field that became a getter is the same.
  function got(value) {
    const found = [];
    for (let one = Object.getPrototypeOf(value); one && one !== Object.prototype; one = Object.getPrototypeOf(one)) {
      for (const [key, held] of Object.entries(Object.getOwnPropertyDescriptors(one))) {
        if (typeof held.get !== "function" || key.startsWith("__")) continue;
        try {
          found.push([key, held.get.call(value)]);
        } catch {
          // The getter has no value now.
        }
      }
    }
    return found;
  }

  // A value by its type and content. With `consume`, iterators are read to their end.
  function describe(value, consume = false) {
    let nodes = 0;
    const above = [];
    const of = (one, depth) => {
      nodes += 1;
      const kind = typeof one;
      if (one === null) return { is: "null" };
      if (kind === "undefined" || kind === "function" || kind === "symbol") return { is: kind };
      if (kind === "number") return { is: kind, text: Object.is(one, -0) ? "-0" : String(Number(one.toPrecision(12))) };
      if (kind !== "object") return { is: kind, text: cut(String(one)) };
      if (nodes > NODES_MAX || depth > DEPTH_MAX) return { is: tag(one) };
      if (above.includes(one)) return { is: tag(one), cycle: true };
      above.push(one);
      try {
        return inside(one, depth + 1);
      } finally {
        above.pop();
      }
    };
    const all = (values, depth) => [...values].slice(0, ITEMS_MAX).map((one) => of(one, depth));
    const sorted = (list) => list.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
    const fields = (one, depth) => Object.fromEntries([...own(one), ...(consume ? got(one) : [])].map(([key, held]) => [key, of(held, depth)]));
    const frozen = (one) => (Object.isFrozen(one) ? { frozen: true } : {});
    const inside = (one, depth) => {
      const kind = tag(one);
      if (Array.isArray(one)) return { is: className(one), items: all(one, depth), size: one.length, ...frozen(one) };
      if (one instanceof Map || kind === "Map") {
        const pairs = [...Map.prototype.entries.call(one)].slice(0, ITEMS_MAX);
        return { is: "Map", pairs: pairs.map(([key, held]) => [of(key, depth), of(held, depth)]), size: one.size };
      }
      if (kind === "Set") return { is: "Set", items: sorted(all(Set.prototype.values.call(one), depth)) };
      if (kind === "Date") return { is: "Date", text: String(Number(one)) };
      if (kind === "RegExp") return { is: "RegExp", text: String(one) };
      if (ArrayBuffer.isView(one) && kind !== "DataView") return { is: kind, items: all(one, depth), size: one.length };
      if (kind === "Error") return { is: one.name, text: cut(String(one.message)), fields: fields(one, depth) };
      if (typeof one.next === "function" && /Iterator|Generator/.test(kind)) {
        return consume && typeof one[Symbol.iterator] === "function"
          ? { is: "iterator", items: all(taken(one), depth) }
          : { is: "iterator" };
      }
      if (isPlain(one)) {
        const pairs = own(one).slice(0, ITEMS_MAX).map(([key, held]) => [{ is: "string", text: key }, of(held, depth)]);
        const order = pairs.map(([key]) => key.text);
        return { is: "Object", pairs: sorted(pairs), order, ...frozen(one) };
      }
      return { is: className(one), fields: fields(one, depth), ...frozen(one) };
    };
    return of(value, 0);
  }

  function* taken(iterator) {
    let count = 0;
    for (const one of iterator) {
      yield one;
      if (++count >= ITEMS_MAX) return;
    }
  }

  // A short form for people.
  function shown(description) {
    if ("text" in description) return description.is === "string" ? JSON.stringify(description.text) : description.text;
    if (description.pairs) {
      return `{ ${description.pairs.map(([key, held]) => `${key.text ?? shown(key)}: ${shown(held)}`).join(", ")} }`;
    }
    if (description.items) return `[${description.items.map(shown).join(", ")}]`;
    return ["null", "undefined"].includes(description.is) ? description.is : `<${description.is}>`;
  }

  // The outcome of a thrown value.
  function ended(error) {
    if (error?.constructor?.name === "Exit" && !(error instanceof Error)) return { exits: describe(error.code) };
    if (error === null || typeof error !== "object") return { raises: ["a value"], message: cut(String(error)) };
    const names = [error.name];
    for (let one = error; one && names.length < 10; one = Object.getPrototypeOf(one)) names.push(className(one));
    const known = names.filter((name, at) => typeof name === "string" && names.indexOf(name) === at);
    return { raises: known, message: cut(String(error.message)) };
  }

  // Records the output until the returned function is called.
  function output() {
    const stream = process.stdout;
    const parts = [];
    const before = Object.getOwnPropertyDescriptor(stream, "write");
    const write = stream.write;
    try {
      stream.write = function (text, ...rest) {
        if (typeof text === "string") parts.push(text);
        return write.call(this, text, ...rest);
      };
    } catch {
      return () => null;
    }
    return () => {
      if (before) Object.defineProperty(stream, "write", before);
      else delete stream.write;
      return cut(parts.join(""));
    };
  }

  return { builtin, className, cut, describe, ended, isPlain, output, own, shown, tag };
}
