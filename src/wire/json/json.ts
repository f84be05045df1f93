import { Malformed, Reader } from "./json-reader.ts";
import {
  JsonDouble,
  bareObject,
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "./json-value.ts";
import { MAX_DEPTH } from "../limits.ts";

export { JsonDouble, bareObject, isJsonArray, isJsonObject, type JsonObject, type JsonValue };

export type Parsed = { ok: true; value: JsonObject } | { ok: false; detail: string };

/**
 * Reads one JSON object as RFC 8259 has it and Spec 1.4 narrows it: strict UTF-8, no byte-order
 * mark, no duplicate keys, no lone surrogates, no overflowing numbers, nesting up to 64. Nothing is
 * lost: integers keep every digit, doubles stay apart from integers. Everything returned is frozen,
 * and no string of it keeps the line in memory.
 */
export function parseObject(bytes: Uint8Array): Parsed {
  // Nobody reads where in our code junk was found out, and taking that down costs more than reading it.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return { ok: true, value: new Reader(bytes).topLevel() };
  } catch (error) {
    if (error instanceof Malformed) return { ok: false, detail: error.message };
    if (isUtf8Error(error)) return { ok: false, detail: "not valid UTF-8" };
    throw error;
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** What the decoder throws. */
function isUtf8Error(error: unknown): boolean {
  return (
    error instanceof TypeError &&
    "code" in error &&
    error.code === "ERR_ENCODING_INVALID_ENCODED_DATA"
  );
}

/**
 * Ordinary JavaScript data, for display and for schemas. Doubles and large integers become the
 * nearest `number` (integers beyond the doubles the largest finite one), so that a number stays a
 * number; where digits matter use `canonicalText`.
 */
export function toPlain(value: JsonValue): unknown {
  if (typeof value === "bigint") {
    const nearest = Number(value);
    if (Number.isFinite(nearest)) return nearest;
    return nearest > 0 ? Number.MAX_VALUE : -Number.MAX_VALUE;
  }
  if (value instanceof JsonDouble) return value.value;
  if (isJsonArray(value)) return value.map(toPlain);
  if (!isJsonObject(value)) return value;
  const plain = bareObject<unknown>();
  for (const [key, member] of Object.entries(value)) plain[key] = toPlain(member);
  return plain;
}

/**
 * The other direction, for messages that we compose: safe integers stay numbers, every other finite
 * number becomes a double; members that are `undefined` are left out, as JSON.stringify does.
 * Throws a TypeError for what JSON cannot say: NaN, functions, lone surrogates, nesting over 64.
 */
export function fromPlain(value: unknown, depth = 1): JsonValue {
  switch (typeof value) {
    case "string":
      return wellFormed(value);
    case "boolean":
    case "bigint":
      return value;
    case "number":
      if (!Number.isFinite(value)) throw new TypeError(`JSON has no number ${value}`);
      return Number.isSafeInteger(value) && !Object.is(value, -0) ? value : new JsonDouble(value);
    case "object":
      return value === null || value instanceof JsonDouble ? value : fromContainer(value, depth);
    default:
      throw new TypeError(`JSON has no ${typeof value}`);
  }
}

function fromContainer(value: object, depth: number): JsonValue {
  if (depth > MAX_DEPTH) throw new TypeError(`nested deeper than ${MAX_DEPTH}`);
  if (Array.isArray(value)) {
    return Object.freeze(value.map((member: unknown) => fromPlain(member, depth + 1)));
  }
  const object = bareObject<JsonValue>();
  for (const [key, member] of Object.entries(value)) {
    if (member !== undefined) object[wellFormed(key)] = fromPlain(member, depth + 1);
  }
  return Object.freeze(object);
}

function wellFormed(text: string): string {
  if (/\p{Surrogate}/u.test(text)) throw new TypeError("a string has a lone surrogate");
  return text;
}
