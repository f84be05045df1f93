import { spawnSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import {
  V30_OMIT,
  V31_OMIT,
  canonicalBytes,
  canonicalText,
  eventId,
  lineText,
  sha256Hex,
} from "../../src/wire/canonical.ts";
import { JsonDouble, parseObject, type JsonObject } from "../../src/wire/json/json.ts";
import { anyDouble, spelledObject } from "./json/json-arbitraries.ts";
import { compareCodePoints, slowCanonical } from "./json/slow-json.ts";
import { textOf, utf8, vectorLines } from "./vector-files.ts";

function read(line: string): JsonObject {
  const parsed = parseObject(utf8(line));
  if (!parsed.ok) throw new Error(`refused: ${parsed.detail}: ${line}`);
  return parsed.value;
}

interface CanonicalVector {
  name: string;
  text: string;
  ok: boolean;
  canonical_v30?: string;
  canonical_v31?: string;
  event_id?: string;
}

describe("canonical.jsonl", () => {
  const vectors = vectorLines<CanonicalVector>("canonical.jsonl");

  it("has all its lines", () => {
    expect(vectors).toHaveLength(128);
  });

  for (const [index, vector] of vectors.entries()) {
    it(`line ${index + 1}: ${vector.name}`, () => {
      const parsed = parseObject(utf8(vector.text));
      expect(parsed.ok).toBe(vector.ok);
      if (!parsed.ok) return;
      expect(textOf(canonicalBytes(parsed.value, V30_OMIT))).toBe(vector.canonical_v30);
      expect(textOf(canonicalBytes(parsed.value, V31_OMIT))).toBe(vector.canonical_v31);
      expect(eventId(parsed.value)).toBe(vector.event_id);
    });
  }
});

describe("canonical bytes", () => {
  it("are what a slow, obvious canonicaliser prints, however the line is spelled", () => {
    fc.assert(
      fc.property(spelledObject, ({ tree, line }) => {
        expect(textOf(canonicalBytes(read(line)))).toBe(slowCanonical(tree));
      }),
      { numRuns: 2_000 },
    );
  });

  it("do not depend on the object before, whatever fields it had", () => {
    const fields = fc.shuffledSubarray(["b", "a", "event_id", "signature", "z"]);
    const omit = fc.constantFrom(V30_OMIT, V31_OMIT);
    fc.assert(
      fc.property(fc.array(fc.tuple(fields, omit), { maxLength: 6 }), (objects) => {
        for (const [keys, omitted] of objects) {
          const line = `{${keys.map((key) => `"${key}":1`).join(",")}}`;
          const kept = keys.filter((key) => !omitted.includes(key)).toSorted();
          const expected = `{${kept.map((key) => `"${key}":1`).join(",")}}`;
          expect(textOf(canonicalBytes(read(line), omitted))).toBe(expected);
        }
      }),
      { numRuns: 500 },
    );
  });

  it("are never made of a line with a lone surrogate", () => {
    const lone = fc.constantFrom("\\ud800", "\\udfff", "\\uDBFF", "\\udc00\\ud800", "\\ud83dx");
    fc.assert(
      fc.property(spelledObject, lone, fc.nat(), ({ line }, escape, place) => {
        const quotes = [...line.matchAll(/"(?=[,:}\]\s])/g)].map(({ index }) => index);
        const at = quotes[place % quotes.length];
        if (at === undefined) return;
        const broken = `${line.slice(0, at)}${escape}${line.slice(at)}`;
        expect(parseObject(utf8(broken)).ok).toBe(false);
      }),
      { numRuns: 500 },
    );
  });

  it("read back as the same bytes", () => {
    fc.assert(
      fc.property(spelledObject, ({ line }) => {
        const once = textOf(canonicalBytes(read(line)));
        expect(textOf(canonicalBytes(read(once)))).toBe(once);
        expect(canonicalText(read(line))).toBe(once);
      }),
    );
  });

  it("do not depend on the order of keys, which a written line keeps", () => {
    const line = '{"b":{"d":1,"c":2.0},"a":[{"z":1e3,"y":-0}]}';
    expect(lineText(read(line))).toBe('{"b":{"d":1,"c":2.0},"a":[{"z":1000.0,"y":0}]}');
    expect(canonicalText(read(line))).toBe('{"a":[{"y":0,"z":1000.0}],"b":{"c":2.0,"d":1}}');
  });

  it("sort keys by code point where UTF-16 units would order them otherwise", () => {
    const keys = ["\u{1f600}", "\uffff", "\ue000", "\ud7ff", "a\u{10000}", "a\uffff", "a", "z", ""];
    keys.push("\u{103ff}", "\u{10000}", "\u{1f600}\u{1f600}", "ab");
    const object = read(`{${keys.map((key) => `${JSON.stringify(key)}:0`).join(",")}}`);
    const sorted = [...keys].sort(compareCodePoints);
    expect([...keys].sort()).not.toEqual(sorted);
    expect(canonicalText(object)).toBe(`{${sorted.map((key) => `"${key}":0`).join(",")}}`);
    expect(canonicalText(read('{"\u{10000}":0,"\uffff":0}'))).toBe('{"\uffff":0,"\u{10000}":0}');
  });

  it("drop fields at the top only", () => {
    const line = '{"signature":"x","in":{"signature":"y","event_id":"z"},"event_id":"w"}';
    const kept = '{"in":{"event_id":"z","signature":"y"}}';
    expect(textOf(canonicalBytes(read(line), V31_OMIT))).toBe(kept);
    expect(textOf(canonicalBytes(read(line), V30_OMIT))).toBe(
      '{"event_id":"w","in":{"event_id":"z","signature":"y"}}',
    );
  });

  it("own their memory", () => {
    const bytes = canonicalBytes(read('{"a":1}'));
    expect(bytes.buffer.byteLength).toBe(bytes.length);
  });

  it("are refused for what no reader makes", () => {
    for (const [value, complaint] of [
      [1.5, "1.5 is not an integer"],
      [Number.NaN, "NaN is not an integer"],
      [2 ** 53, "9007199254740992 is not an integer"],
      [new JsonDouble(Infinity), "JSON has no number Infinity"],
      [undefined, "a is undefined"],
      [() => 1, "JSON has no function"],
    ] as const) {
      const object = { a: value } as unknown as JsonObject;
      expect(() => canonicalText(object)).toThrow(new TypeError(complaint));
    }
  });

  it("hash to lower-case hex", () => {
    expect(sha256Hex(utf8("abc"))).toBe(
      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    );
  });
});

const PYTHON = `
import json, sys
for line in sys.stdin.buffer.read().split(b"\\n")[:-1]:
    value = json.loads(json.loads(line))
    sys.stdout.buffer.write(json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode("utf-8") + b"\\n")
`;
const hasPython = spawnSync("python3", ["--version"]).status === 0;
if (!hasPython) console.warn("skipped: python3 is not here to compare canonical bytes with");

/** Python's canonical form of each text. */
function pythonCanonical(texts: readonly string[]): string[] {
  const input = texts.map((text) => `${JSON.stringify(text)}\n`).join("");
  const run = spawnSync("python3", ["-c", PYTHON], { input, maxBuffer: 1 << 28 });
  expect(run.stderr.toString()).toBe("");
  return run.stdout.toString("utf8").split("\n").slice(0, -1);
}

describe.skipIf(!hasPython)("Python's json agrees", () => {
  test("on random objects", () => {
    const lines = fc.sample(spelledObject, 3_000).map(({ line }) => line);
    expect(lines.map((line) => canonicalText(read(line)))).toEqual(pythonCanonical(lines));
  });

  test("on random doubles, in several spellings", () => {
    const bits = fc.sample(anyDouble, 10_000).filter((value) => !Object.is(value, -0));
    const lines = bits.flatMap((value, i) => [
      `{"n":${value.toExponential()}}`,
      `{"n":${value.toExponential(i % 18)}}`,
    ]);
    const edges = [-5, -4, 15, 16, 17, 21, 22, 308].flatMap((power) =>
      ["1", "9.999999999999999", "1.0000000000000002"].map((m) => `{"n":${m}e${power}}`),
    );
    // Halfway between two shortest spellings.
    const halves = Array.from({ length: 500 }, (_, i) => `{"n":${194080113642261 + i * 977}.125}`);
    const texts = [...lines, ...edges, ...halves].filter((line) => parseObject(utf8(line)).ok);
    expect(texts.length).toBeGreaterThan(10_000);
    expect(texts.map((line) => canonicalText(read(line)))).toEqual(pythonCanonical(texts));
  });

  test("on long integers", () => {
    const lines = ["1".repeat(4_300), `-${"9".repeat(4_300)}`, "123456789".repeat(10)].map(
      (digits) => `{"n":${digits}}`,
    );
    expect(lines.map((line) => canonicalText(read(line)))).toEqual(pythonCanonical(lines));
  });
});
