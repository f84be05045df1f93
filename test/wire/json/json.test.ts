import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalText } from "../../../src/wire/canonical.ts";
import {
  JsonDouble,
  fromPlain,
  isJsonArray,
  isJsonObject,
  parseObject,
  toPlain,
  type JsonValue,
} from "../../../src/wire/json/json.ts";
import { heapInUse } from "../../support/memory-in-use.ts";
import { hex, utf8, vectorFile } from "../vector-files.ts";

interface SuiteCase {
  name: string;
  base64: string;
}

const suite = vectorFile<SuiteCase[]>("third-party/json-parsing-suite.json");
const open = utf8('{"v":');
const close = utf8("}");

/** Our reader wants an object at the top, so each text is put into one. */
function wrapped({ base64 }: SuiteCase): Uint8Array {
  return Buffer.concat([open, Buffer.from(base64, "base64"), close]);
}

/** Texts that RFC 8259 leaves to the reader: what ours does, and why. Spec 1.4. */
const PINNED: Readonly<Record<string, "accepted" | "refused">> = {
  // Doubles round to the nearest, also to zero; beyond the largest they are refused.
  "i_number_double_huge_neg_exp.json": "accepted",
  "i_number_real_underflow.json": "accepted",
  "i_number_huge_exp.json": "refused",
  "i_number_neg_int_huge_exp.json": "refused",
  "i_number_pos_double_huge_exp.json": "refused",
  "i_number_real_neg_overflow.json": "refused",
  "i_number_real_pos_overflow.json": "refused",
  // Integers keep every digit.
  "i_number_too_big_neg_int.json": "accepted",
  "i_number_too_big_pos_int.json": "accepted",
  "i_number_very_big_negative_int.json": "accepted",
};

describe("JSON parsing suite", () => {
  it("has all its texts", () => {
    const kinds = suite.map(({ name }) => name.slice(0, 2));
    expect(suite).toHaveLength(318);
    expect(kinds.filter((kind) => kind === "y_")).toHaveLength(95);
    expect(kinds.filter((kind) => kind === "n_")).toHaveLength(188);
    expect(kinds.filter((kind) => kind === "i_")).toHaveLength(35);
  });

  for (const suiteCase of suite) {
    const { name } = suiteCase;
    if (name.startsWith("y_")) {
      it(`${name} is read`, () => {
        const parsed = parseObject(wrapped(suiteCase));
        // RFC 8259 calls duplicate keys interoperable only by luck; Spec 1.4 refuses them.
        if (name.includes("duplicated_key")) expect(parsed.ok).toBe(false);
        else expect(parsed).toMatchObject({ ok: true });
      });
    } else if (name.startsWith("n_")) {
      it(`${name} is refused`, () => {
        expect(parseObject(wrapped(suiteCase)).ok).toBe(false);
        expect(parseObject(Buffer.from(suiteCase.base64, "base64")).ok).toBe(false);
      });
    } else {
      // All others hold lone surrogates, bytes that are not UTF-8, byte-order marks, or nest too deep.
      const pinned = PINNED[name] ?? "refused";
      it(`${name} is ${pinned}`, () => {
        expect(parseObject(wrapped(suiteCase)).ok).toBe(pinned === "accepted");
      });
    }
  }
});

function read(text: string): JsonValue {
  const parsed = parseObject(utf8(text));
  if (!parsed.ok) throw new Error(parsed.detail);
  return parsed.value;
}

function refusal(text: string): string {
  const parsed = parseObject(utf8(text));
  return parsed.ok ? "read" : parsed.detail;
}

describe("numbers", () => {
  const number = (literal: string): JsonValue => (read(`{"n":${literal}}`) as { n: JsonValue }).n;

  it("are integers, large integers and doubles, told apart by their spelling", () => {
    expect(number("7")).toBe(7);
    expect(number("-0")).toBe(0);
    expect(Object.is(number("-0"), -0)).toBe(false);
    expect(number("9007199254740991")).toBe(9007199254740991);
    expect(number("9007199254740992")).toBe(9007199254740992n);
    expect(number("-9007199254740991")).toBe(-9007199254740991);
    expect(number("-9007199254740993")).toBe(-9007199254740993n);
    expect(number("1.0")).toEqual(new JsonDouble(1));
    expect(number("1e2")).toEqual(new JsonDouble(100));
    expect(Object.is((number("-0.0") as JsonDouble).value, -0)).toBe(true);
  });

  it("have at most 4,300 digits when they are integers", () => {
    const digits = "7".repeat(4_300);
    expect(number(digits)).toBe(BigInt(digits));
    expect(number(`-${digits}`)).toBe(-BigInt(digits));
    expect(refusal(`{"n":${digits}7}`)).toBe("an integer of 4301 digits (at character 4307)");
    expect(number(`0.${digits}7`)).toBeInstanceOf(JsonDouble);
  });
});

describe("refusals say what and where", () => {
  for (const [text, detail] of [
    ["", "empty"],
    ["[]", "not an object at the top"],
    ["\ufeff{}", "not an object at the top"],
    ["{} {}", "something follows the object (at character 4)"],
    ['{"a" 1}', 'found "1" where ":" should be (at character 6)'],
    ['{"a":1 "b":2}', 'found "\\"" where "," or "}" should be (at character 8)'],
    ['{"a":[1 2]}', 'found "2" where "," or "]" should be (at character 9)'],
    ['{"a":1,}', 'found "}" where a key should be (at character 8)'],
    ['{"a":tru}', 'found "t" where a value should be (at character 6)'],
    ['{"a":', "it ends where a value should be (at character 6)"],
    ['{"a":"b', "it ends inside a string (at character 8)"],
    ['{"a":"\n"}', "a control character in a string is not escaped (at character 7)"],
    ['{"a":"\\n\n"}', "a control character in a string is not escaped (at character 9)"],
    ['{"a\n":1}', "a control character in a string is not escaped (at character 4)"],
    ['{"a":"\\x"}', "an unknown escape (at character 8)"],
    ['{"a":"\\u12g4"}', "\\u without four hexadecimal digits (at character 8)"],
    ['{"a":"\\ud800\\n"}', "a lone surrogate (at character 13)"],
    ['{"a":"\\udc00"}', "a lone surrogate (at character 13)"],
    ['{"a":"\\ud800\\u0041"}', "a lone surrogate (at character 19)"],
    ['{"a":01}', "a number with a leading zero (at character 8)"],
    ['{"a":-}', 'found "}" where a digit should be (at character 7)'],
    ['{"a":1.}', 'found "}" where a digit should be (at character 8)'],
    ['{"a":1e}', 'found "}" where a digit should be (at character 8)'],
    ['{"a":1e999}', "a number too large for a double (at character 11)"],
    ['{"x":{"k":1,"k":2}}', "a duplicate key in the object that begins here (at character 6)"],
    [
      '{"\u001b[2J":1,"a":\u202e}',
      "a control character in a string is not escaped (at character 3)",
    ],
    ['{"a":\u202e}', 'found "\\u202e" where a value should be (at character 6)'],
  ] as const) {
    it(JSON.stringify(text).slice(0, 40), () => {
      expect(refusal(text)).toBe(detail);
    });
  }

  it("but our own mistake is thrown", () => {
    expect(() => parseObject("{}" as unknown as Uint8Array)).toThrow(TypeError);
    expect(() => parseObject(undefined as unknown as Uint8Array)).toThrow(TypeError);
  });

  it("for bytes that are not UTF-8", () => {
    expect(parseObject(hex("7b2261223a22ff227d"))).toEqual({
      ok: false,
      detail: "not valid UTF-8",
    });
  });

  it("for duplicates after unescaping, whatever keys were read before", () => {
    expect(read('{"twice":1}')).toEqual({ twice: 1 });
    expect(refusal('{"twice":1,"\\u0074wice":2}')).toMatch(/^a duplicate key/);
    expect(refusal('{"1":1,"\\u0031":2}')).toMatch(/^a duplicate key/);
    expect(refusal('{"__proto__":1,"__proto__":2}')).toMatch(/^a duplicate key/);
  });

  it("also for bare control characters in a key that was once read with an escape", () => {
    expect(read('{"a\\u0001b":1}')).toEqual({ "a\u0001b": 1 });
    expect(refusal('{"a\u0001b":1}')).toMatch(/is not escaped/);
    expect(read('{"a\\"b":1}')).toEqual({ 'a"b': 1 });
    expect(refusal('{"a"b":1}')).toMatch(/should be/);
  });
});

describe("depth", () => {
  const nested = (levels: number): string => `{"a":${"[".repeat(levels)}${"]".repeat(levels)}}`;
  const objects = (levels: number): string => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;

  it("is at most 64, the top object being 1", () => {
    expect(parseObject(utf8(nested(63))).ok).toBe(true);
    expect(refusal(nested(64))).toMatch(/^nested deeper than 64/);
    expect(parseObject(utf8(objects(64))).ok).toBe(true);
    expect(refusal(objects(65))).toMatch(/^nested deeper than 64/);
  });

  it("costs no stack when someone tries", () => {
    expect(refusal(nested(500_000))).toMatch(/^nested deeper than 64/);
    expect(refusal('{"a":'.repeat(200_000))).toMatch(/^nested deeper than 64/);
    expect(refusal(`{"a":${"[".repeat(1_000_000)}`)).toMatch(/^nested deeper than 64/);
  });
});

describe("what is read", () => {
  it("has no inherited keys, and __proto__ is an ordinary one", () => {
    const value = read('{"__proto__":{"x":1},"constructor":2,"o":{}}') as Record<string, JsonValue>;
    expect(Object.keys(value)).toEqual(["__proto__", "constructor", "o"]);
    expect(value["__proto__"]).toEqual({ x: 1 });
    expect(value["x"]).toBeUndefined();
    expect((value["o"] as Record<string, JsonValue>)["toString"]).toBeUndefined();
    expect((value["o"] as Record<string, JsonValue>)["__proto__"]).toBeUndefined();
    expect("hasOwnProperty" in value).toBe(false);
  });

  it("is frozen through and through", () => {
    const value = read('{"a":[{"b":1}]}') as { a: [{ b: number }] };
    for (const part of [value, value.a, value.a[0]]) expect(Object.isFrozen(part)).toBe(true);
    expect(() => Object.assign(value.a[0], { b: 2 })).toThrow(TypeError);
  });

  it("does not change with the bytes it came from", () => {
    const bytes = utf8('{"key":"a string that is longer than thirteen"}');
    const parsed = parseObject(bytes);
    bytes.fill(0x20);
    expect(parsed).toEqual({ ok: true, value: { key: "a string that is longer than thirteen" } });
  });

  for (const [what, text] of [
    ["13 characters", "thirteen long"],
    ["many", "a string that is longer than thirteen"],
    ["letters beyond ASCII", "a string with an é in it"],
    ["escapes", "a string that has\\tone and goes on"],
  ] as const) {
    it(`does not keep the line in memory for a string of ${what}`, () => {
      const line = utf8(`{"kept":"${text}","rest":"${"x".repeat(100_000)}"}`);
      const before = heapInUse();
      const kept = Array.from({ length: 16 }, () => {
        const parsed = parseObject(line);
        return parsed.ok ? parsed.value["kept"] : undefined;
      });
      const grown = heapInUse() - before;
      expect(kept).toEqual(Array(16).fill(text.replace("\\t", "\t")));
      expect(grown).toBeLessThan(800_000);
    });
  }

  it("may stand anywhere in a larger buffer", () => {
    const buffer = Buffer.from('xx{"key":"a string that is longer than thirteen"}yy');
    const inside = new Uint8Array(buffer.buffer, buffer.byteOffset + 2, buffer.length - 4);
    expect(parseObject(inside)).toEqual({
      ok: true,
      value: { key: "a string that is longer than thirteen" },
    });
  });

  it("tells objects, arrays and doubles apart", () => {
    const value = read('{"o":{},"a":[],"d":1.5}') as Record<string, JsonValue>;
    expect([isJsonObject(value["o"]), isJsonObject(value["a"]), isJsonObject(value["d"])]).toEqual([
      true,
      false,
      false,
    ]);
    expect(isJsonObject(null)).toBe(false);
    expect(isJsonObject(undefined)).toBe(false);
    expect(isJsonArray(value["a"])).toBe(true);
    expect(isJsonArray(value["o"])).toBe(false);
  });
});

describe("plain data", () => {
  it("keeps numbers numbers", () => {
    const value = read(`{"i":1,"b":9007199254740993,"d":1.5,"huge":${"9".repeat(400)},"l":[2.0]}`);
    expect(toPlain(value)).toEqual({
      i: 1,
      b: 9007199254740992,
      d: 1.5,
      huge: Number.MAX_VALUE,
      l: [2],
    });
    expect(toPlain(read(`{"huge":-${"9".repeat(400)}}`))).toEqual({ huge: -Number.MAX_VALUE });
  });

  it("comes back as what was meant", () => {
    expect(
      fromPlain({ i: 1, d: 1.5, big: 1e21, z: -0, n: null, u: undefined, l: [true, 3n] }),
    ).toEqual({
      i: 1,
      d: new JsonDouble(1.5),
      big: new JsonDouble(1e21),
      z: new JsonDouble(-0),
      n: null,
      l: [true, 3n],
    });
  });

  it("is the same after a round trip", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (plain) => {
        const value = fromPlain({ plain });
        const text = canonicalText(value);
        expect(canonicalText(read(text))).toBe(text);
        expect(toPlain(read(text))).toEqual(JSON.parse(text));
      }),
    );
  });

  it("is refused when JSON cannot say it", () => {
    let deep: unknown = 1;
    let deepObject: unknown = 1;
    for (let level = 0; level < 65; level++) {
      deep = [deep];
      deepObject = { in: deepObject };
    }
    const circle: unknown[] = [];
    circle.push(circle);
    for (const value of [NaN, Infinity, () => 1, Symbol("x"), undefined, "\ud800"]) {
      expect(() => fromPlain(value)).toThrow(TypeError);
    }
    expect(() => fromPlain(NaN)).toThrow("JSON has no number NaN");
    expect(() => fromPlain(() => 1)).toThrow("JSON has no function");
    for (const value of [deep, deepObject, circle]) {
      expect(() => fromPlain(value)).toThrow("nested deeper than 64");
    }
    expect(() => fromPlain((deep as unknown[])[0])).not.toThrow();
    expect(() => fromPlain({ "\udc00": 1 })).toThrow("lone surrogate");
    expect(() => fromPlain([undefined])).toThrow(TypeError);
  });
});
