import { canonicalText } from "../wire/canonical.ts";
import type { Draft } from "../wire/compose.ts";
import { isHandle } from "../wire/handle.ts";
import { parseObject, type JsonValue } from "../wire/json/json.ts";
import type { RequestKey } from "./client.ts";
import { badRequest, kind, object, oneOf, optional, text, texts } from "./arguments.ts";

const MAX_DRAFTS = 1_024;
/** Spec 8.1: what a caller names a send by. */
const MAX_KEY_LENGTH = 128;
const DIGEST = /^[0-9a-f]{64}$/;

/** A draft as it crosses the socket: its body as JSON text, which keeps every number's spelling. */
interface PackedDraft extends Omit<Draft, "body"> {
  readonly body: string;
}

export function packDrafts(drafts: readonly Draft[]): PackedDraft[] {
  return drafts.map((draft) => ({ ...draft, body: canonicalText(draft.body) }));
}

export const requestKey = kind(
  `a name of 1 to ${MAX_KEY_LENGTH} characters and a digest`,
  (value): value is RequestKey => {
    if (typeof value !== "object" || value === null) return false;
    const { name, digest } = value as Partial<Record<keyof RequestKey, unknown>>;
    const isName = typeof name === "string" && name !== "" && name.length <= MAX_KEY_LENGTH;
    return isName && typeof digest === "string" && DIGEST.test(digest);
  },
);

const isAddressee = (name: unknown): boolean =>
  typeof name === "string" && (name === "*" || isHandle(name));

const parseDraft = object({
  to: kind(
    "a list of handles or *",
    (value): value is string[] => Array.isArray(value) && value.every(isAddressee),
  ),
  type: text,
  subject: text,
  body: parseBody,
  refs: optional(texts),
  priority: optional(oneOf(["low", "medium", "high"])),
  correlationId: optional(text),
  ackRequired: (value) => value === true,
});

/** Reads packed drafts; only our own user can connect, but a client of theirs may be mistaken. */
export const parseSend = object({ drafts: parseDrafts, key: optional(requestKey) });

function parseDrafts(json: unknown): Draft[] {
  if (!Array.isArray(json) || json.length === 0 || json.length > MAX_DRAFTS) {
    throw badRequest(`drafts must be a list of 1 to ${MAX_DRAFTS}`);
  }
  return json.map((each) => parseDraft(each));
}

function parseBody(json: unknown, name?: string): JsonValue {
  const parsed = parseObject(Buffer.from(`{"body":${text(json, name)}}`, "utf8"));
  const body = parsed.ok ? parsed.value["body"] : undefined;
  if (!parsed.ok || body === undefined) {
    throw badRequest(`body is no JSON: ${parsed.ok ? "it is empty" : parsed.detail}`);
  }
  return body;
}
