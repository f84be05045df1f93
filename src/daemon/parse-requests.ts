import { Buffer } from "node:buffer";
import type { Draft } from "../wire/compose.ts";
import { isHandle } from "../wire/handle.ts";
import { parseObject, type JsonValue } from "../wire/json/json.ts";
import type { StatusChange } from "../api/client.ts";
import { DeaddropError } from "../api/errors.ts";

const STATES = ["idle", "busy", "blocked", "paused"] as const;
const MAX_DRAFTS = 1_024;

/** Reads what a client asks to send; whoever can connect is our own user, but may be mistaken. */
export function unpackDrafts(args: unknown): Draft[] {
  const { drafts } = asObject(args);
  if (!Array.isArray(drafts) || drafts.length === 0 || drafts.length > MAX_DRAFTS) {
    throw bad(`drafts must be a list of 1 to ${MAX_DRAFTS}`);
  }
  return drafts.map(unpackDraft);
}

function unpackDraft(value: unknown): Draft {
  const fields = asObject(value);
  const { to, type, subject, refs, priority, correlationId, ackRequired } = fields;
  if (!isTexts(to) || !to.every((name) => name === "*" || isHandle(name))) {
    throw bad("to must be a list of handles or *");
  }
  if (typeof type !== "string" || typeof subject !== "string") {
    throw bad("type and subject must be text");
  }
  if (refs !== undefined && !isTexts(refs)) throw bad("refs must be a list of text");
  if (
    priority !== undefined &&
    priority !== "low" &&
    priority !== "medium" &&
    priority !== "high"
  ) {
    throw bad("priority must be low, medium or high");
  }
  if (correlationId !== undefined && typeof correlationId !== "string") {
    throw bad("correlationId must be text");
  }
  return {
    to,
    type,
    subject,
    body: bodyOf(fields["body"]),
    ...(refs === undefined ? {} : { refs }),
    ...(priority === undefined ? {} : { priority }),
    ...(correlationId === undefined ? {} : { correlationId }),
    ackRequired: ackRequired === true,
  };
}

function bodyOf(text: unknown): JsonValue {
  if (typeof text !== "string") throw bad("body must be JSON text");
  const parsed = parseObject(Buffer.from(`{"body":${text}}`, "utf8"));
  const body = parsed.ok ? parsed.value["body"] : undefined;
  if (!parsed.ok || body === undefined) {
    throw bad(`body is no JSON: ${parsed.ok ? "it is empty" : parsed.detail}`);
  }
  return body;
}

export function unpackIds(args: unknown): readonly string[] | "all" {
  const { ids } = asObject(args);
  if (ids === "all" || isTexts(ids)) return ids;
  throw bad('ids must be "all" or a list of event ids');
}

export function unpackPeer(args: unknown): string {
  const { peer } = asObject(args);
  if (typeof peer === "string") return peer;
  throw bad("peer must be a handle");
}

export function unpackStatus(args: unknown): StatusChange {
  const fields = asObject(args);
  const state = STATES.find((each) => each === fields["state"]);
  if (fields["state"] !== undefined && state === undefined) {
    throw bad(`state must be one of ${STATES.join(", ")}`);
  }
  const lastAction = fields["lastAction"];
  const headsDown = fields["headsDown"];
  return {
    ...(state === undefined ? {} : { state }),
    ...(typeof lastAction === "string" ? { lastAction } : {}),
    ...(typeof headsDown === "boolean" ? { headsDown } : {}),
  };
}

export function asObject(value: unknown): Record<string, unknown> {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>;
  }
  throw bad("an object was expected");
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

function bad(problem: string): DeaddropError {
  return new DeaddropError("usage", `bad request: ${problem}`);
}
