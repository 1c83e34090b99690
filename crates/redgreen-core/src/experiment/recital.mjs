const CALLS_MAX = 400;
const SHOWN_CHARS_MAX = 300;
const NOW = 1700000000000;

function near(value) {
  if (typeof value === "boolean") return [!value];
  if (typeof value === "number") return [value + 1, value - 1, -value, value * 2, value * 10, 0];
  if (typeof value === "string") {
    const other = [value + value, value.toUpperCase(), value.toLowerCase(), [...value].reverse().join("")];
    return [...other, value.slice(0, 1), "", ` ${value}`, value.replaceAll(" ", "\t"), `${value}\n`];
  }
  return Array.isArray(value) ? [[...value, ...value], [...value].reverse(), value.slice(0, 1), []] : [];
}

function isData(value) {
  if (value === null || value === undefined) return true;
  if (Array.isArray(value)) return value.every(isData);
  if (typeof value !== "object") return ["number", "string", "boolean", "bigint"].includes(typeof value);
  return [Object.prototype, null].includes(Object.getPrototypeOf(value)) && Object.values(value).every(isData);
}

const shown = (value) => inspect(value, { depth: 9, breakLength: Infinity, sorted: true });

async function answer(found, args) {
  try {
    const value = await found(...structuredClone(args));
    return isData(value) ? shown(value).slice(0, SHOWN_CHARS_MAX) : "something else";
  } catch (error) {
    return `raises ${error?.name}`;
  }
}

// The clock says the same to both.
const Clock = Date;
function stopClock() {
  globalThis.Date = class extends Clock {
    constructor(...given) {
      super(...(given.length ? given : [NOW]));
    }
    static now() {
      return NOW;
    }
  };
}

async function recite(subject, path, names, calls, rows) {
  stopClock();
  try {
    for (const name of names) {
      const found = subject[name] ?? subject.default?.[name];
      if (typeof found !== "function" || /^class\b/.test(String(found))) continue;
      const fit = rows.filter((row) => found.length > 0 && row.length === found.length + 1);
      const given = calls.filter(([called]) => called === name).map(([, args]) => args);
      // What a parameter is when nobody gives it is behaviour as well.
      const short = given.filter((args) => args.length > found.length).map((args) => args.slice(0, found.length));
      const tuples = [...given, ...short, ...fit.map((row) => row.slice(0, found.length))];
      const asked = new Set();
      for (const tuple of tuples) {
        const all = [tuple, ...tuple.flatMap((one, at) => near(one).map((other) => tuple.with(at, other)))];
        for (const args of all) {
          const key = `${path} ${name}(${shown(args).slice(1, -1).trim()})`;
          if (asked.has(key) || asked.size >= CALLS_MAX || key.length > SHOWN_CHARS_MAX) continue;
          asked.add(key);
          const first = await answer(found, args);
          // What does not answer the same twice cannot be compared.
          if (first === (await answer(found, args))) {
            appendFileSync(process.env.REDGREEN_INERT_LOG, `${JSON.stringify([key, first])}\n`);
          }
        }
      }
    }
  } finally {
    globalThis.Date = Clock;
  }
}
