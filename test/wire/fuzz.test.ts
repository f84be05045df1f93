import { describe, expect, it } from "vitest";
import { V31_OMIT, canonicalBytes } from "../../src/wire/canonical.ts";
import { parseObject } from "../../src/wire/json.ts";
import { MAX_LINE_BYTES } from "../../src/wire/limits.ts";
import { parseMessage } from "../../src/wire/message.ts";
import { textOf, utf8, vectorLines } from "./vector-files.ts";

const LINES = 20_000;
const SEED = 20261121;

/** A small generator with a seed (mulberry32), so that a failure can be had again. */
function generator(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

const SNIPPETS = [
  '"',
  "\\",
  "{",
  "}",
  "[",
  "]",
  ",",
  ":",
  "0",
  "-",
  "e9",
  ".5",
  "\\u0000",
  "\\ud800",
  "\\udc00",
  "null",
  "true",
  '"__proto__":1,',
  '"seq":1,',
  '"a":',
  "\u0000",
  "\u{10ffff}",
  "\ufeff",
  " ",
  "\n",
  "9".repeat(30),
].map(utf8);

/** The integer -0 is 0 in canonical form. */
const withoutMinusZero = (_: string, value: unknown): unknown => (value === 0 ? 0 : value);

function mutate(line: Uint8Array, pick: (below: number) => number): Uint8Array {
  let bytes = Uint8Array.from(line);
  for (let times = 1 + pick(3); times > 0; times--) {
    const at = pick(bytes.length + 1);
    const end = Math.min(bytes.length, at + pick(12));
    switch (pick(5)) {
      case 0:
        if (at < bytes.length) bytes[at] = pick(256);
        break;
      case 1:
        bytes = Uint8Array.from([...bytes.subarray(0, at), ...bytes.subarray(end)]);
        break;
      case 2:
        bytes = Uint8Array.from([...bytes.subarray(0, end), ...bytes.subarray(at)]);
        break;
      case 3:
        bytes = bytes.slice(0, Math.max(1, at));
        break;
      default: {
        const snippet = SNIPPETS[pick(SNIPPETS.length)]!;
        bytes = Uint8Array.from([...bytes.subarray(0, at), ...snippet, ...bytes.subarray(at)]);
      }
    }
  }
  return bytes;
}

describe("mutated lines", () => {
  it(`do no harm: ${LINES} of them, from seed ${SEED}`, () => {
    const pick = generator(SEED);
    const seeds = [
      ...vectorLines<{ line: string }>("signed.jsonl").map(({ line }) => line),
      ...vectorLines<{ text: string }>("canonical.jsonl").map(({ text }) => text),
    ].map(utf8);
    const outcomes = new Map<string, number>();
    for (let i = 0; i < LINES; i++) {
      const line = mutate(seeds[pick(seeds.length)]!, pick);
      const parsed = parseMessage(line);
      const outcome = parsed.ok ? "ok" : parsed.reason;
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      if (outcome === "malformed") continue;
      // Not malformed: then JSON.parse reads it too, and its canonical form is a fixed point.
      const text = textOf(line);
      expect(() => JSON.parse(text) as unknown).not.toThrow();
      const object = parseObject(line);
      if (!object.ok) throw new Error(`only once malformed: ${text}`);
      const canonical = canonicalBytes(object.value);
      const again = parseObject(canonical);
      if (!again.ok) throw new Error(`canonical but malformed: ${textOf(canonical)}`);
      expect(textOf(canonicalBytes(again.value))).toBe(textOf(canonical));
      expect(JSON.parse(textOf(canonical), withoutMinusZero)).toEqual(
        JSON.parse(text, withoutMinusZero),
      );
      if (parsed.ok) {
        expect(textOf(parsed.message.canonical)).toBe(
          textOf(canonicalBytes(object.value, V31_OMIT)),
        );
      }
    }
    // The mutations reach every verdict, so that this test sees what it should.
    expect(outcomes.get("ok")).toBeGreaterThan(500);
    expect(outcomes.get("schema")).toBeGreaterThan(100);
    expect(outcomes.get("malformed")).toBeGreaterThan(5_000);
    expect(outcomes.get("kind_mismatch") ?? 0).toBeGreaterThan(0);
  });

  it("random bytes are malformed", () => {
    const pick = generator(SEED + 1);
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
