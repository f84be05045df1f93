import type { Tree } from "../wire/json/slow-json.ts";

/**
 * A second reader of Spec 1.4, written from RFC 3629 and RFC 8259 alone: bytes to code points by
 * hand, then the grammar, one rule a method. Slow, and sharing nothing with `src/wire`.
 */
export function slowRead(bytes: Uint8Array): Tree | undefined {
  try {
    const grammar = new Grammar(codePoints(bytes));
    return grammar.text();
  } catch (error) {
    if (error instanceof Refused) return undefined;
    throw error;
  }
}

/** What stands under that key; of two, the first. */
export function member(tree: Tree | undefined, key: string): Tree | undefined {
  if (tree?.is !== "object") return undefined;
  return tree.members.find(([name]) => name === key)?.[1];
}

class Refused extends Error {}

/** Code points of strict UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF. */
function codePoints(bytes: Uint8Array): number[] {
  const points: number[] = [];
  for (let at = 0; at < bytes.length;) {
    const lead = bytes[at] as number;
    const [length, least, bits] = shapeOf(lead);
    let point = lead & bits;
    for (let more = 1; more < length; more++) {
      const byte = bytes[at + more];
      if (byte === undefined || byte >> 6 !== 0b10) throw new Refused("no continuation");
      point = point * 64 + (byte & 0x3f);
    }
    if (point < least || point > 0x10ffff || isSurrogate(point)) throw new Refused("no character");
    points.push(point);
    at += length;
  }
  return points;
}

/** Bytes of a character by its first, the least character that needs so many, the bits it gives. */
function shapeOf(lead: number): readonly [length: number, least: number, bits: number] {
  if (lead < 0x80) return [1, 0, 0x7f];
  if (lead >> 5 === 0b110) return [2, 0x80, 0x1f];
  if (lead >> 4 === 0b1110) return [3, 0x800, 0x0f];
  if (lead >> 3 === 0b11110) return [4, 0x10000, 0x07];
  throw new Refused("no first byte");
}

function isSurrogate(point: number): boolean {
  return point >= 0xd800 && point <= 0xdfff;
}

const of = (character: string): number => character.charCodeAt(0);
const SHORT = new Map(
  Object.entries({
    '"': '"',
    "\\": "\\",
    "/": "/",
    b: "\b",
    f: "\f",
    n: "\n",
    r: "\r",
    t: "\t",
  }).map(([letter, meaning]) => [of(letter), of(meaning)]),
);

class Grammar {
  private at = 0;
  private readonly points: readonly number[];

  constructor(points: readonly number[]) {
    this.points = points;
  }

  /** JSON-text = ws object ws */
  text(): Tree {
    this.space();
    if (this.points[this.at] !== of("{")) throw new Refused("no object at the top");
    const tree = this.value(0);
    this.space();
    if (this.at !== this.points.length) throw new Refused("more than one value");
    return tree;
  }

  private space(): void {
    while ([0x20, 0x09, 0x0a, 0x0d].includes(this.points[this.at] ?? -1)) this.at++;
  }

  private take(characters: string): void {
    for (const character of characters) {
      if (this.points[this.at] !== of(character)) throw new Refused(`no ${characters}`);
      this.at++;
    }
  }

  private has(character: string): boolean {
    if (this.points[this.at] !== of(character)) return false;
    this.at++;
    return true;
  }

  private value(depth: number): Tree {
    const next = String.fromCodePoint(this.points[this.at] ?? 0);
    if (next === "{" || next === "[") {
      if (depth === 64) throw new Refused("too deep");
      return next === "{" ? this.object(depth + 1) : this.array(depth + 1);
    }
    if (next === '"') return { is: "string", text: this.string() };
    for (const word of ["null", "true", "false"] as const) {
      if (next !== word[0]) continue;
      this.take(word);
      return { is: "word", text: word };
    }
    return this.number();
  }

  private object(depth: number): Tree {
    const members: [string, Tree][] = [];
    const keys = new Set<string>();
    this.take("{");
    this.space();
    if (this.has("}")) return { is: "object", members };
    do {
      this.space();
      const key = this.string();
      if (keys.has(key)) throw new Refused("a duplicate key");
      keys.add(key);
      this.space();
      this.take(":");
      this.space();
      members.push([key, this.value(depth)]);
      this.space();
    } while (this.has(","));
    this.take("}");
    return { is: "object", members };
  }

  private array(depth: number): Tree {
    const members: Tree[] = [];
    this.take("[");
    this.space();
    if (this.has("]")) return { is: "array", members };
    do {
      this.space();
      members.push(this.value(depth));
      this.space();
    } while (this.has(","));
    this.take("]");
    return { is: "array", members };
  }

  private string(): string {
    this.take('"');
    const pieces: string[] = [];
    while (!this.has('"')) {
      const point = this.points[this.at++];
      if (point === undefined || point < 0x20) throw new Refused("no character of a string");
      pieces.push(String.fromCodePoint(point === of("\\") ? this.escaped() : point));
    }
    return pieces.join("");
  }

  private escaped(): number {
    const letter = this.points[this.at++] ?? -1;
    const short = SHORT.get(letter);
    if (short !== undefined) return short;
    if (letter !== of("u")) throw new Refused("no escape");
    const unit = this.fourDigits();
    if (!isSurrogate(unit)) return unit;
    if (unit >= 0xdc00) throw new Refused("a low surrogate alone");
    this.take("\\u");
    const low = this.fourDigits();
    if (low < 0xdc00 || low > 0xdfff) throw new Refused("a high surrogate alone");
    return 0x10000 + (unit - 0xd800) * 0x400 + (low - 0xdc00);
  }

  private fourDigits(): number {
    let unit = 0;
    for (let digits = 0; digits < 4; digits++) {
      const value = "0123456789abcdef".indexOf(
        String.fromCodePoint(this.points[this.at++] ?? 0).toLowerCase(),
      );
      if (value < 0) throw new Refused("no hexadecimal digit");
      unit = unit * 16 + value;
    }
    return unit;
  }

  private number(): Tree {
    let literal = "";
    // One character at a time: none of these stands anywhere else after a value.
    while ("+-.0123456789Ee".includes(String.fromCodePoint(this.points[this.at] ?? 0))) {
      literal += String.fromCodePoint(this.points[this.at++] as number);
    }
    const parts = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.exec(literal);
    if (parts === null) throw new Refused("no number");
    const [, whole = "", fraction, exponent] = parts;
    if (fraction === undefined && exponent === undefined) {
      if (whole.length > 4_300) throw new Refused("too many digits");
      return { is: "integer", text: literal };
    }
    const value = Number(literal);
    if (value === Infinity || value === -Infinity) throw new Refused("no double");
    return { is: "double", value, text: literal };
  }
}
