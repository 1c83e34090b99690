// Finds built-in functions of the language that the code replaced. Another realm has the originals.

function redgreenLanguage({ builtin }) {
  const realm = builtin("node:vm").runInNewContext("globalThis");
  const { Function: functions, Object: objects, Reflect: reflect } = realm;
  const code = (value) => functions.prototype.toString.call(value);
  const isNative = (value) => typeof value === "function" && code(value).endsWith("{ [native code] }");
  const held = (holder, key) => objects.getOwnPropertyDescriptor(holder, key);

  // Each built-in object with its original: constructors, their prototypes, and namespaces such as `Math`.
  const pairs = [];
  for (const name of objects.getOwnPropertyNames(realm)) {
    const [original, current] = [held(realm, name).value, held(globalThis, name)?.value];
    const isHolder = original && original !== realm && ["object", "function"].includes(typeof original);
    if (!isHolder || typeof current !== typeof original) continue;
    pairs.push({ name, original, current, isPrototype: false });
    if (original.prototype && current.prototype) {
      pairs.push({ name: `${name}.prototype`, original: original.prototype, current: current.prototype, isPrototype: true });
    }
  }

  return () => {
    const changed = [];
    for (const { name, original, current, isPrototype } of pairs) {
      for (const key of reflect.ownKeys(current)) {
        const [was, is] = [held(original, key), held(current, key)];
        const replaced = was && ["value", "get", "set"].some((way) => isNative(was[way]) && !isNative(is[way]));
        if (replaced || (!was && isPrototype)) changed.push({ replaces: `${name}.${String(key)}`, added: !was });
      }
    }
    return changed;
  };
}
