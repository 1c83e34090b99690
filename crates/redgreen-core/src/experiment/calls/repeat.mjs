// Repeats recorded calls and reports the outcome of each, as data.

function redgreenRepeat(values, load) {
  const { builtin, cut, describe, ended, output, shown, tag } = values;
  const REPLAYED_MAX = 60;
  const NOTHING_MORE = Symbol("nothing more");

  // The recorded data, with the created objects in place of their numbers.
  function revived(text, objects) {
    const seen = new Set();
    const revive = (value) => {
      if (value === null || typeof value !== "object" || seen.has(value)) return value;
      if (Object.hasOwn(value, "redgreen:made")) {
        const number = value["redgreen:made"];
        if (!objects.has(number)) throw new ReferenceError("an object could not be made");
        return objects.get(number);
      }
      seen.add(value);
      if (value instanceof Map) for (const [key, one] of value) value.set(key, revive(one));
      else for (const key of Object.keys(value)) value[key] = revive(value[key]);
      return value;
    };
    return revive(builtin("node:v8").deserialize(Buffer.from(text, "base64")));
  }

  async function target(line) {
    let found = await load(line.module);
    const path = line.name.split(".");
    found = found[path[0]] ?? found.default?.[path[0]] ?? (path[0] === found.default?.name ? found.default : undefined);
    if (line.kind === "method") return (self, ...args) => self[path[1]](...args);
    if (line.kind === "static") return Object.assign((...args) => found[path[1]](...args), { needs: found[path[1]] });
    if (typeof found !== "function") throw new ReferenceError(`no function ${line.name}`);
    return line.kind === "make" ? Object.assign((...args) => new found(...args), { needs: found }) : found;
  }

  // The earlier calls that created or changed its objects, in order.
  function needed(lines, line) {
    const wanted = new Set(line.touches);
    const found = [];
    for (const earlier of [...lines].reverse()) {
      const touched = [earlier.number, ...earlier.touches].some((one) => wanted.has(one));
      if (earlier.number < line.number && touched) {
        found.push(earlier);
        for (const one of earlier.touches) wanted.add(one);
      }
      if (found.length > REPLAYED_MAX) throw new RangeError("too much happened before");
    }
    return found.reverse();
  }

  async function args(lines, line) {
    const objects = new Map();
    for (const earlier of needed(lines, line)) {
      try {
        const call = await target(earlier);
        objects.set(earlier.number, await call(...revived(earlier.args, objects)));
      } catch {
        // Only its effects matter.
      }
    }
    return revived(line.args, objects);
  }

  // One call, ready to be made; null if it cannot be made here.
  async function attempt(lines, { line, change, variant }, time, tell) {
    const place = { number: line.number, variant, time };
    tell({ ...place, begins: true });
    let call;
    let given;
    try {
      given = await args(lines, line);
      if (change) given = change(given);
    } catch (error) {
      tell({ ...place, outcome: { unknown: cut(String(error)) } });
      return null;
    }
    try {
      call = await target(line);
    } catch (error) {
      const absent = /NOT_FOUND|UNSUPPORTED/.test(error?.code ?? "") || error instanceof ReferenceError;
      const known = error instanceof SyntaxError || absent || error?.untranslated;
      tell({ ...place, shown: line.name, outcome: known ? { unknown: cut(String(error)) } : { ...ended(error), atLoad: true } });
      return null;
    }
    // A call without a required argument is not realistic.
    if (change?.kept !== undefined && change.kept < wanted(line, call, given)) return null;
    const words = (line.kind === "method" ? given.slice(1) : given).map((one) => shown(describe(one)));
    const printed = output();
    const done = (outcome) => {
      const after = given.map((one) => describe(one, true));
      const told = { ...place, shown: `${line.name}(${cut(words.join(", "))})` };
      tell({ ...told, outcome: { ...outcome, after, output: printed() } });
    };
    return {
      call,
      given,
      gives: async (value) => {
        const promised = tag(value) === "Promise" ? { promised: true } : {};
        try {
          done({ gives: describe(await settled(value), true), ...promised });
        } catch (error) {
          done({ ...ended(error), ...promised });
        }
      },
      raises: (error) => done(ended(error)),
    };
  }

  function wanted(line, call, given) {
    const name = line.name.split(".").pop();
    return line.kind === "method" ? 1 + (given[0]?.[name]?.length ?? 0) : (call.needs ?? call).length;
  }

  async function settled(value) {
    const limit = new Promise((resolve) => setTimeout(resolve, 2000, NOTHING_MORE).unref());
    const first = await Promise.race([value, limit]);
    if (first === NOTHING_MORE) throw new Error("never settles");
    return first;
  }

  return { attempt };
}
