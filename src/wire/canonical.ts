import { hash } from "node:crypto";
import { JsonDouble, isJsonArray, type JsonObject, type JsonValue } from "./json/json-value.ts";

/** The top-level fields that a v3.0 signature does not cover. Spec 1.4. */
export const V30_OMIT: readonly string[] = ["public_key_id", "signature"];
/** The same for v3.1, where the event id is computed from the rest. */
export const V31_OMIT: readonly string[] = ["public_key_id", "signature", "event_id"];

const encoder = new TextEncoder();

/**
 * The bytes that are hashed and signed: what Python's `json.dumps(sort_keys=True,
 * separators=(",", ":"), ensure_ascii=False)` prints, in UTF-8. `omit` drops top-level fields only.
 */
export function canonicalBytes(value: JsonObject, omit: readonly string[] = []): Uint8Array {
  return encoder.encode(objectText(value, keptKeys(value, omit), canonicalText));
}

/** Which fields the object before had, and in which order those that were kept. */
let before: {
  readonly fields: readonly string[];
  readonly omit: readonly string[];
  readonly kept: readonly string[];
} = { fields: [], omit: [], kept: [] };

/** In order. Most lines have the fields of the line before: those are not sorted again. */
function keptKeys(value: JsonObject, omit: readonly string[]): readonly string[] {
  const fields = Object.keys(value);
  if (omit !== before.omit || !isSameList(fields, before.fields)) {
    const kept = sortByCodePoint(fields.filter((key) => !omit.includes(key)));
    before = { fields, omit, kept };
  }
  return before.kept;
}

function isSameList(a: readonly string[], b: readonly string[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** Lower-case hex. */
export function sha256Hex(bytes: Uint8Array): string {
  return hash("sha256", bytes, "hex");
}

/** The v3.1 event id of a message. Spec 1.5. */
export function eventId(fields: JsonObject): string {
  return sha256Hex(canonicalBytes(fields, V31_OMIT));
}

/** The canonical form of any value, as text. It is JSON, and no digit is lost. */
export function canonicalText(value: JsonValue): string {
  return valueText(value, sortedObjectText);
}

/** The same with keys in the order in which they are there: what we write on a line. */
export function lineText(value: JsonObject): string {
  return unsortedObjectText(value);
}

function sortedObjectText(value: JsonObject): string {
  return objectText(value, sortByCodePoint(Object.keys(value)), canonicalText);
}

function unsortedObjectText(value: JsonObject): string {
  return objectText(value, Object.keys(value), (member) => valueText(member, unsortedObjectText));
}

function objectText(
  value: JsonObject,
  keys: readonly string[],
  memberText: (member: JsonValue) => string,
): string {
  let text = "{";
  for (const key of keys) {
    const member = value[key];
    if (member === undefined) throw new TypeError(`${key} is undefined`);
    if (text.length > 1) text += ",";
    text += keyText(key) + memberText(member);
  }
  return text + "}";
}

function valueText(value: JsonValue, nestedText: (object: JsonObject) => string): string {
  switch (typeof value) {
    case "string":
      return stringText(value);
    case "number":
      return integerText(value);
    case "boolean":
    case "bigint":
      return String(value);
    case "object":
      if (value === null) return "null";
      if (isJsonArray(value)) {
        return "[" + value.map((member) => valueText(member, nestedText)).join(",") + "]";
      }
      return value instanceof JsonDouble ? doubleText(value.value) : nestedText(value);
    default:
      throw new TypeError(`JSON has no ${typeof value}`);
  }
}

// JSON.stringify escapes exactly what Python does, in the same spelling, as long as no surrogate
// is alone, and the reader lets none through.
function stringText(text: string): string {
  return NEEDS_ESCAPE.test(text) ? JSON.stringify(text) : `"${text}"`;
}

const NEEDS_ESCAPE = /["\\]|[^ -\uffff]/;

const MAX_REMEMBERED_KEYS = 512;
const MAX_REMEMBERED_KEY = 32;
/** `"key":` by key, for those that recur on every line. */
const keyTexts = new Map<string, string>();

function keyText(key: string): string {
  const remembered = keyTexts.get(key);
  if (remembered !== undefined) return remembered;
  const text = `${stringText(key)}:`;
  if (keyTexts.size < MAX_REMEMBERED_KEYS && key.length <= MAX_REMEMBERED_KEY) {
    keyTexts.set(key, text);
  }
  return text;
}

function integerText(value: number): string {
  if (!Number.isSafeInteger(value)) throw new TypeError(`${value} is not an integer`);
  return String(value);
}

/** Python's `repr` of a float: `1.0`, `1e+16`, `1e-05`. */
function doubleText(value: number): string {
  if (!Number.isFinite(value)) throw new TypeError(`JSON has no number ${value}`);
  if (value === 0) return Object.is(value, -0) ? "-0.0" : "0.0";
  const magnitude = Math.abs(value);
  if (magnitude >= 1e-4 && magnitude < 1e16) {
    return Number.isInteger(value) ? `${value}.0` : String(value);
  }
  // Both languages print the shortest digits that read back the same; Python wants two exponent digits.
  return value.toExponential().replace(/e([+-])(\d)$/, (_, sign, digit) => `e${sign}0${digit}`);
}

/** Sorts in place. */
function sortByCodePoint(keys: string[]): string[] {
  // The order of UTF-16 units is quickly made, and most of the work where the other one is wanted.
  if (!isSorted(keys)) keys.sort();
  // They order alike except where a surrogate meets U+E000 and above.
  return keys.some(hasHighUnit) ? keys.sort(byCodePoint) : keys;
}

function isSorted(keys: readonly string[]): boolean {
  for (let i = 1; i < keys.length; i++) {
    if (!((keys[i - 1] as string) < (keys[i] as string))) return false;
  }
  return true;
}

function hasHighUnit(key: string): boolean {
  for (let i = 0; i < key.length; i++) {
    if (key.charCodeAt(i) >= 0xd800) return true;
  }
  return false;
}

function byCodePoint(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const left = a.charCodeAt(i);
    const right = b.charCodeAt(i);
    if (left !== right) return rank(left) - rank(right);
  }
  return a.length - b.length;
}

/** Of the first units that differ, surrogates belong to code points above all others. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}
