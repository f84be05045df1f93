import { JsonDouble, bareObject, type JsonObject, type JsonValue } from "./json-value.ts";
import { MAX_DEPTH, MAX_INTEGER_DIGITS } from "../limits.ts";
import { quote } from "../quote.ts";

/** What is wrong with a text, and where. Thrown by {@link Reader}, caught by `parseObject`. */
export class Malformed extends Error {}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const MINUS = 0x2d;
const ZERO = 0x30;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

const ESCAPES = new Map<number, string>([
  [QUOTE, '"'],
  [BACKSLASH, "\\"],
  [0x2f, "/"],
  [0x62, "\b"],
  [0x66, "\f"],
  [0x6e, "\n"],
  [0x72, "\r"],
  [0x74, "\t"],
]);

const isDigit = (unit: number): boolean => unit >= ZERO && unit <= 0x39;
const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
const isLowSurrogate = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;

// V8 copies shorter slices; a longer one would keep the whole line alive for as long as it lives.
const MIN_SLICE_THAT_SHARES = 13;
const unshared = (text: string): string => Buffer.from(text, "utf8").toString("utf8");

/** Reads one JSON text. The constructor throws what TextDecoder throws for what is not UTF-8. */
export class Reader {
  private readonly text: string;
  /** The bytes, when each is one character of the text. */
  private readonly ascii: Buffer | undefined;
  private at = 0;

  constructor(bytes: Uint8Array) {
    this.text = decoder.decode(bytes);
    this.ascii =
      this.text.length === bytes.length
        ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
        : undefined;
  }

  topLevel(): JsonObject {
    if (this.next() !== OPEN_BRACE) {
      throw new Malformed(this.text.length === 0 ? "empty" : "not an object at the top");
    }
    const value = this.object(1);
    if (!Number.isNaN(this.next())) this.fail("something follows the object");
    return value;
  }

  private fail(what: string): never {
    throw new Malformed(`${what} (at character ${this.at + 1})`);
  }

  private unexpected(expected: string): never {
    if (this.at >= this.text.length) this.fail(`it ends where ${expected} should be`);
    this.fail(`found ${quote(this.text.charAt(this.at))} where ${expected} should be`);
  }

  /** Skips white space; the character that follows, NaN at the end. */
  private next(): number {
    let unit = this.text.charCodeAt(this.at);
    while (unit === 0x20 || unit === 0x09 || unit === 0x0a || unit === 0x0d) {
      unit = this.text.charCodeAt(++this.at);
    }
    return unit;
  }

  private value(depth: number): JsonValue {
    const unit = this.next();
    switch (unit) {
      case QUOTE:
        return this.string();
      case OPEN_BRACE:
        return this.object(depth + 1);
      case OPEN_BRACKET:
        return this.array(depth + 1);
      case 0x74:
        return this.literal("true", true);
      case 0x66:
        return this.literal("false", false);
      case 0x6e:
        return this.literal("null", null);
      default:
        if (unit === MINUS || isDigit(unit)) return this.number();
        return this.unexpected("a value");
    }
  }

  private literal<Value extends boolean | null>(word: string, value: Value): Value {
    if (!this.text.startsWith(word, this.at)) this.unexpected("a value");
    this.at += word.length;
    return value;
  }

  private object(depth: number): JsonObject {
    if (depth > MAX_DEPTH) this.fail(`nested deeper than ${MAX_DEPTH}`);
    const object = bareObject<JsonValue>();
    const start = this.at++;
    let count = 0;
    let unit = this.next();
    if (unit === CLOSE_BRACE) {
      this.at++;
      return Object.freeze(object);
    }
    for (;;) {
      if (unit !== QUOTE) this.unexpected("a key");
      const key = this.string();
      count++;
      if (this.next() !== COLON) this.unexpected('":"');
      this.at++;
      object[key] = this.value(depth);
      unit = this.next();
      if (unit === CLOSE_BRACE) break;
      if (unit !== COMMA) this.unexpected('"," or "}"');
      this.at++;
      unit = this.next();
    }
    const end = this.at + 1;
    // Counting is cheaper than asking for every key whether it is there already.
    if (Object.keys(object).length !== count) {
      this.at = start;
      this.fail("a duplicate key in the object that begins here");
    }
    this.at = end;
    return Object.freeze(object);
  }

  private array(depth: number): readonly JsonValue[] {
    if (depth > MAX_DEPTH) this.fail(`nested deeper than ${MAX_DEPTH}`);
    const array: JsonValue[] = [];
    this.at++;
    if (this.next() === CLOSE_BRACKET) {
      this.at++;
      return Object.freeze(array);
    }
    for (;;) {
      array.push(this.value(depth));
      const unit = this.next();
      if (unit === CLOSE_BRACKET) break;
      if (unit !== COMMA) this.unexpected('"," or "]"');
      this.at++;
    }
    this.at++;
    return Object.freeze(array);
  }

  private string(): string {
    const { text } = this;
    const start = ++this.at;
    for (let i = start; ; i++) {
      const unit = text.charCodeAt(i);
      if (unit === QUOTE) {
        this.at = i + 1;
        return this.copy(start, i);
      }
      if (unit === BACKSLASH) return this.escapedString(start, i);
      // The negation also holds at the end of the text, where the unit is NaN.
      if (!(unit >= 0x20)) this.badStringUnit(i);
    }
  }

  private badStringUnit(i: number): never {
    this.at = i;
    if (i >= this.text.length) this.fail("it ends inside a string");
    this.fail("a control character in a string is not escaped");
  }

  private copy(start: number, end: number): string {
    if (end - start < MIN_SLICE_THAT_SHARES) return this.text.slice(start, end);
    if (this.ascii !== undefined) return this.ascii.toString("latin1", start, end);
    return unshared(this.text.slice(start, end));
  }

  private escapedString(start: number, firstBackslash: number): string {
    const { text } = this;
    let value = text.slice(start, firstBackslash);
    let i = firstBackslash;
    for (;;) {
      const unit = text.charCodeAt(i);
      if (unit === QUOTE) break;
      if (unit === BACKSLASH) {
        this.at = i + 1;
        value += this.escape();
        i = this.at;
      } else {
        let end = i;
        for (let plain = unit; plain !== QUOTE && plain !== BACKSLASH;) {
          if (!(plain >= 0x20)) this.badStringUnit(end);
          plain = text.charCodeAt(++end);
        }
        value += text.slice(i, end);
        i = end;
      }
    }
    this.at = i + 1;
    return value.length < MIN_SLICE_THAT_SHARES ? value : unshared(value);
  }

  /** What follows a backslash. Raw text is valid UTF-8, so only escapes can leave a surrogate alone. */
  private escape(): string {
    const unit = this.text.charCodeAt(this.at);
    const short = ESCAPES.get(unit);
    if (short !== undefined) {
      this.at++;
      return short;
    }
    if (unit !== 0x75) this.fail("an unknown escape");
    const first = this.hexUnit();
    if (isLowSurrogate(first)) this.fail("a lone surrogate");
    if (!isHighSurrogate(first)) return String.fromCharCode(first);
    if (!this.text.startsWith("\\u", this.at)) this.fail("a lone surrogate");
    this.at++;
    const second = this.hexUnit();
    if (!isLowSurrogate(second)) this.fail("a lone surrogate");
    return String.fromCharCode(first, second);
  }

  /** The four digits after the `u` that is being looked at. */
  private hexUnit(): number {
    const digits = this.text.slice(this.at + 1, this.at + 5);
    if (!/^[0-9A-Fa-f]{4}$/.test(digits)) this.fail("\\u without four hexadecimal digits");
    this.at += 5;
    return Number.parseInt(digits, 16);
  }

  private digits(): number {
    const start = this.at;
    while (isDigit(this.text.charCodeAt(this.at))) this.at++;
    return this.at - start;
  }

  private number(): number | bigint | JsonDouble {
    const { text } = this;
    const start = this.at;
    if (text.charCodeAt(start) === MINUS) this.at++;
    const firstDigit = text.charCodeAt(this.at);
    const count = this.digits();
    if (count === 0) this.unexpected("a digit");
    if (firstDigit === ZERO && count > 1) this.fail("a number with a leading zero");
    const unit = text.charCodeAt(this.at);
    if (unit === 0x2e || unit === 0x65 || unit === 0x45) return this.double(start);
    if (count > MAX_INTEGER_DIGITS) this.fail(`an integer of ${count} digits`);
    const literal = text.slice(start, this.at);
    const value = Number(literal);
    // 1.4: -0 is the integer 0.
    if (count < 16 || Number.isSafeInteger(value)) return value === 0 ? 0 : value;
    return BigInt(literal);
  }

  private double(start: number): JsonDouble {
    const { text } = this;
    if (text.charCodeAt(this.at) === 0x2e) {
      this.at++;
      if (this.digits() === 0) this.unexpected("a digit");
    }
    const exponentMark = text.charCodeAt(this.at);
    if (exponentMark === 0x65 || exponentMark === 0x45) {
      this.at++;
      const sign = text.charCodeAt(this.at);
      if (sign === MINUS || sign === 0x2b) this.at++;
      if (this.digits() === 0) this.unexpected("a digit");
    }
    const value = Number(text.slice(start, this.at));
    if (!Number.isFinite(value)) this.fail("a number too large for a double");
    return new JsonDouble(value);
  }
}
