import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../wire/json/json.ts";

const EVENT_ID = /^[0-9a-f]{64}$/u;

/**
 * A body is written by a peer: any JSON value. These readers return the value that is asked for, or
 * nothing.
 */

/** The body as an object with fields, or `undefined` when it is none. */
function bodyObject(body: JsonValue): JsonObject | undefined {
  return isJsonObject(body) ? body : undefined;
}

export function field(body: JsonValue, name: string): JsonValue | undefined {
  const object = bodyObject(body);
  if (object === undefined || !Object.hasOwn(object, name)) return undefined;
  return object[name];
}

export function textField(body: JsonValue, name: string): string | undefined {
  const value = field(body, name);
  return typeof value === "string" ? value : undefined;
}

/** A text that can be an event id. */
export function idField(body: JsonValue, name: string): string | undefined {
  const text = textField(body, name);
  return text !== undefined && EVENT_ID.test(text) ? text : undefined;
}

export function booleanField(body: JsonValue, name: string): boolean | undefined {
  const value = field(body, name);
  return typeof value === "boolean" ? value : undefined;
}

/** A non-negative safe integer. */
export function countField(body: JsonValue, name: string): number | undefined {
  const value = field(body, name);
  return typeof value === "number" && value >= 0 ? value : undefined;
}

/** The array's strings; `undefined` when it is no array or holds anything else. */
export function textsField(body: JsonValue, name: string): readonly string[] | undefined {
  const value = field(body, name);
  if (!isJsonArray(value)) return undefined;
  return value.every((item) => typeof item === "string") ? value : undefined;
}
