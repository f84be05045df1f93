import { Buffer } from "node:buffer";
import type { Draft } from "../wire/compose.ts";
import { isHandle } from "../wire/handle.ts";
import { parseObject, type JsonValue } from "../wire/json/json.ts";
import type { RequestKey } from "./client.ts";
import {
  asObject,
  badRequest,
  needed,
  oneOf,
  optional,
  text,
  texts,
  type Kind,
} from "./arguments/json-arguments.ts";

const MAX_DRAFTS = 1_024;
const PRIORITY = oneOf(["low", "medium", "high"]);

/** Spec 8.1: what a caller names a send by. */
const MAX_KEY_LENGTH = 128;
const DIGEST = /^[0-9a-f]{64}$/;

export const requestKey: Kind<RequestKey> = {
  words: `a name of 1 to ${MAX_KEY_LENGTH} characters and a digest`,
  is: (value): value is RequestKey => {
    if (typeof value !== "object" || value === null) return false;
    const { name, digest } = value as Partial<Record<keyof RequestKey, unknown>>;
    const isName = typeof name === "string" && name !== "" && name.length <= MAX_KEY_LENGTH;
    return isName && typeof digest === "string" && DIGEST.test(digest);
  },
};

export interface SendRequest {
  readonly drafts: readonly Draft[];
  readonly key?: RequestKey;
}

/** Reads packed drafts; only our own user can connect, but a client of theirs may be mistaken. */
export function parseDrafts(json: unknown): SendRequest {
  const given = asObject(json);
  const { drafts } = given;
  if (!Array.isArray(drafts) || drafts.length === 0 || drafts.length > MAX_DRAFTS) {
    throw badRequest(`drafts must be a list of 1 to ${MAX_DRAFTS}`);
  }
  return { drafts: drafts.map(parseDraft), ...optional(given, "key", requestKey) };
}

function parseDraft(json: unknown): Draft {
  const given = asObject(json);
  const to = needed(given, "to", texts);
  if (!to.every((name) => name === "*" || isHandle(name))) {
    throw badRequest("to must be a list of handles or *");
  }
  return {
    to,
    type: needed(given, "type", text),
    subject: needed(given, "subject", text),
    body: parseBody(needed(given, "body", text)),
    ...optional(given, "refs", texts),
    ...optional(given, "priority", PRIORITY),
    ...optional(given, "correlationId", text),
    ackRequired: given["ackRequired"] === true,
  };
}

/** A body crosses as JSON text, which keeps the spelling of every number. */
function parseBody(json: string): JsonValue {
  const parsed = parseObject(Buffer.from(`{"body":${json}}`, "utf8"));
  const body = parsed.ok ? parsed.value["body"] : undefined;
  if (!parsed.ok || body === undefined) {
    throw badRequest(`body is no JSON: ${parsed.ok ? "it is empty" : parsed.detail}`);
  }
  return body;
}
