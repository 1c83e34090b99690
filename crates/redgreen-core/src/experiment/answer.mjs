// What comes of a call, as data.

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
