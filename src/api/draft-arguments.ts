import { Buffer } from "node:buffer";
import type { Draft } from "../wire/compose.ts";
import { isHandle } from "../wire/handle.ts";
import { parseObject, type JsonValue } from "../wire/json/json.ts";
import { asObject, badRequest, needed, oneOf, optional, text, texts } from "./json-arguments.ts";

const MAX_DRAFTS = 1_024;
const PRIORITY = oneOf(["low", "medium", "high"]);

/** Reads packed drafts; only our own user can connect, but a client of theirs may be mistaken. */
export function parseDrafts(json: unknown): { drafts: readonly Draft[] } {
  const { drafts } = asObject(json);
  if (!Array.isArray(drafts) || drafts.length === 0 || drafts.length > MAX_DRAFTS) {
    throw badRequest(`drafts must be a list of 1 to ${MAX_DRAFTS}`);
  }
  return { drafts: drafts.map(parseDraft) };
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
