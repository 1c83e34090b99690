function redgreenLook(number, side, value) {
  const { builtin, describe } = redgreenValues();
  const content = [];
  let own = false;
  const leaves = (one) => {
    if ("text" in one) content.push(one.text);
    own ||= "fields" in one;
    const pairs = (one.pairs ?? []).flat();
    [...(one.items ?? []), ...Object.values(one.fields ?? {}), ...pairs].forEach(leaves);
  };
  // Non-enumerable fields, which comparisons ignore.
  const unlisted = (one) => {
    for (const held of Object.values(Object.getOwnPropertyDescriptors(one))) {
      const plain = ["number", "string"].includes(typeof held.value);
      if (!held.enumerable && plain) content.push(String(held.value));
    }
  };
  try {
    const isObject = (one) => one !== null && typeof one === "object";
    // An iterator yields its items only once, so it is not read.
    if (!isObject(value) || typeof value.next !== "function") leaves(describe(value, true));
    for (const one of Array.isArray(value) ? value : [value]) if (isObject(one)) unlisted(one);
    const line = JSON.stringify({ looked: number, side, own, content });
    builtin("node:fs").appendFileSync(process.env.REDGREEN_INERT_LOG ?? "@REDGREEN_INERT_LOG@", line + "\n");
  } catch {
    // The value stays unknown.
  }
  return value;
}
