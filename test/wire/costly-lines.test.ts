import { describe, expect, it } from "vitest";
import { canonicalBytes } from "../../src/wire/canonical.ts";
import { parseObject } from "../../src/wire/json/json.ts";
import { MAX_LINE_BYTES } from "../../src/wire/limits.ts";
import { parseMessage } from "../../src/wire/message.ts";
import { randomFrom } from "../support/random.ts";
import { utf8 } from "./vector-files.ts";

describe("lines without sense", () => {
  it("random bytes are malformed", () => {
    const random = randomFrom(20261122);
    const pick = (below: number): number => Math.floor(random() * below);
    for (let i = 0; i < 5_000; i++) {
      const line = Uint8Array.from({ length: pick(80) }, () => pick(256));
      expect(parseMessage(line)).toMatchObject({ ok: false, reason: "malformed" });
    }
  });
});

describe("lines made to be costly", () => {
  const fill = (head: string, unit: string, tail = ""): Uint8Array => {
    const times = Math.floor((MAX_LINE_BYTES - head.length - tail.length) / utf8(unit).length);
    return utf8(head + unit.repeat(times) + tail);
  };
  const numbered = Array.from({ length: 80_000 }, (_, i) => `"${i}":0`).join(",");
  for (const [what, line, ok] of [
    ["open brackets", fill('{"a":', "["), false],
    ["open objects", fill("", '{"a":'), false],
    ["closed brackets", fill('{"a":[', "[],", "0]}"), true],
    ["empty objects", fill('{"a":[', "{},", "0]}"), true],
    ["escapes", fill('{"a":"', "\\u00e9", '"}'), true],
    ["backslashes", fill('{"a":"', "\\\\", '"}'), true],
    ["surrogate pairs", fill('{"a":"', "\\ud83d\\ude00", '"}'), true],
    ["one long key", fill('{"', "k", '":0}'), true],
    ["white space", fill('{"a":0', " ", "}"), true],
    ["long integers", fill('{"a":[', `${"7".repeat(4_300)},`, "0]}"), true],
    ["one very long integer", fill('{"a":', "7", "}"), false],
    ["one very long fraction", fill('{"a":0.', "7", "}"), true],
    ["the same key", fill("{", '"a":0,', '"b":0}'), false],
    ["very many keys", utf8(`{${numbered}}`), true],
    ["an endless string", fill('{"a":"', "x"), false],
  ] as const) {
    it(what, () => {
      const parsed = parseObject(line);
      expect(parsed.ok).toBe(ok);
      if (parsed.ok) expect(canonicalBytes(parsed.value).length).toBeGreaterThan(0);
      expect(parseMessage(line)).toMatchObject({ ok: false });
    });
  }
});
