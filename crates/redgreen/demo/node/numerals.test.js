// The test that exists before the kata begins.
import assert from "node:assert/strict";
import { test } from "node:test";

import { NUMERALS } from "./roman.js";

test("the largest numeral comes first", () => {
  const values = NUMERALS.map(([, value]) => value);
  assert.deepEqual(values, [...values].sort((a, b) => b - a));
});
