// A stub module: every name exists, does nothing, and records that it was called.
const redgreenOther = process.env.REDGREEN_INERT_VALUE === "other";
const redgreenPlain = { text: "A", "other text": "ZZ", "no text": "", number: 1, "other number": 123457, zero: 0 }[process.env.REDGREEN_INERT_VALUE];
const redgreenRaises = process.env.REDGREEN_INERT_VALUE === "raise";

function redgreenRecord(name) {
  // A program that the tests start may have another environment.
  appendFileSync(process.env.REDGREEN_INERT_LOG ?? "@REDGREEN_INERT_LOG@", name + "\n");
}

function redgreenInert(name) {
  // Test runners and promises read these to find out the kind of a value. A stub is none of them.
  const absent = ["then", "toJSON", "asymmetricMatch", "$$typeof", "nodeType", "constructor", "prototype", "sample"];
  return new Proxy(function () {}, {
    apply() {
      redgreenRecord(name);
      if (redgreenRaises) throw new Error("inert");
      if (redgreenPlain !== undefined) return redgreenPlain;
      // Falsy, and equal to itself: a test that compares a value with itself checks nothing.
      return redgreenOther ? 0 : redgreenInert(name + "()");
    },
    construct() {
      redgreenRecord("new " + name);
      return redgreenInert("new " + name);
    },
    get(target, key) {
      if (key === Symbol.toPrimitive) return () => NaN;
      if (typeof key === "symbol" || absent.includes(key)) return key === "prototype" ? target.prototype : undefined;
      return redgreenInert(name + "." + key);
    },
  });
}

