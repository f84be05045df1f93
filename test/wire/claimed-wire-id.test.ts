import { expect, test } from "vitest";
import { claimedWireId } from "../../src/wire/claimed-wire-id.ts";

test.each([
  ['{"wire_id":"aa","roster":[]}', "aa"],
  ['{"wire_id":7}', undefined],
  ['{"roster":[]}', undefined],
  ["null", undefined],
  ['["aa"]', undefined],
  ['"aa"', undefined],
  ['{"wire_id":"aa"', undefined],
  ["", undefined],
])("a config.json that holds %s claims %s", (text, id) => {
  expect(claimedWireId(Buffer.from(text, "utf8"))).toBe(id);
});

test("where there is no config.json, nothing is claimed", () => {
  expect(claimedWireId(undefined)).toBeUndefined();
});
