import { DeaddropError } from "../../api/errors.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../wire/json/json-value.ts";

/** A first line up to this long is one line of state. */
const MAX_STATE_CODE_POINTS = 200;
/** A request beyond this is a long one. */
const LONG_REQUEST_CODE_POINTS = 500;

/** A body as an object, in which text has the field `text`. */
export function bodyFields(body: JsonValue): JsonObject {
  if (isJsonObject(body)) return body;
  return body === "" ? {} : { text: body };
}

/**
 * Adds the line of state that `ship`, `warning` and long `request`s open with, and insists on it
 * (spec 1.2, sender side): text begins with it, an object has it in `state`.
 */
export function withState(type: string, body: JsonValue, state: string | undefined): JsonValue {
  if (state !== undefined) return opened(body, checked(state));
  if (!needsState(type, body) || opensWithState(body)) return body;
  throw new DeaddropError("usage", `a ${type} opens with one line of state`, {
    hint: `give it with --state "what is so now", or as a first line of up to ${MAX_STATE_CODE_POINTS} characters`,
  });
}

function checked(state: string): string {
  const length = Array.from(state).length;
  if (length > 0 && length <= MAX_STATE_CODE_POINTS && !/[\r\n]/.test(state)) return state;
  throw new DeaddropError("usage", "--state is one line", {
    hint: `of 1 to ${MAX_STATE_CODE_POINTS} characters; what there is more to say belongs in the body`,
  });
}

function opened(body: JsonValue, state: string): JsonValue {
  if (typeof body === "string") return body === "" ? state : `${state}\n\n${body}`;
  if (isJsonObject(body)) return { state, ...body };
  return { state, value: body };
}

function needsState(type: string, body: JsonValue): boolean {
  if (type === "ship" || type === "warning") return true;
  return type === "request" && lengthOf(body) > LONG_REQUEST_CODE_POINTS;
}

function lengthOf(body: JsonValue): number {
  const text = isJsonObject(body) ? body["text"] : body;
  return typeof text === "string" ? Array.from(text).length : 0;
}

function opensWithState(body: JsonValue): boolean {
  if (isJsonObject(body)) {
    return opensWithState(body["state"] ?? "") || opensWithState(body["text"] ?? "");
  }
  if (typeof body !== "string") return false;
  const first = body.split("\n", 1)[0]?.trim() ?? "";
  return first !== "" && Array.from(first).length <= MAX_STATE_CODE_POINTS;
}

/** The body of what says nothing without one. Throws DeaddropError. */
export function neededBody(body: JsonValue | undefined): JsonValue {
  if (body !== undefined && (typeof body !== "string" || body.trim() !== "")) return body;
  throw new DeaddropError("usage", "the body is empty, so nothing was sent", {
    hint: "say something as an argument, with --body or --body-file, or on standard input",
  });
}
