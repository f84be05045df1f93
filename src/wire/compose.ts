import { exceedsCodePoints } from "./json/code-points.ts";
import { canonicalBytes, canonicalText, eventId, lineText } from "./canonical.ts";
import { isHandle } from "./handle.ts";
import {
  bareObject,
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "./json/json.ts";
import { MESSAGE_TYPES, isMessageType, kindOf } from "./kinds.ts";
import {
  MAX_CORRELATION_ID_CODE_POINTS,
  MAX_DEPTH,
  MAX_LINE_BYTES,
  MAX_RECIPIENTS,
  MAX_SUBJECT_CODE_POINTS,
  type Limits,
} from "./limits.ts";
import { parseMessage, type Message, type Priority } from "./message.ts";
import { quote } from "./quote.ts";
import { encodeBase64, type Signer } from "./signature.ts";

export type { Signer };
export { nextTimestamp } from "./timestamp.ts";

/** The last line of a chain. */
export interface ChainHead {
  readonly seq: number;
  /** Its event id: the `prev` of the line after it. */
  readonly id: string;
}

/** What an agent wants to say; who says it, when and where is added by `composeLine`. */
export interface Draft {
  /** Handles or `"*"`, at least one. */
  readonly to: readonly string[];
  readonly type: string;
  readonly subject: string;
  readonly body: JsonValue;
  readonly refs?: readonly string[];
  readonly priority?: Priority;
  /** Absent: a new thread, named by the message's own timestamp. */
  readonly correlationId?: string;
  readonly ackRequired?: boolean;
}

/** Where and when a draft is written. */
export interface Place {
  readonly timestamp: string;
  /** Undefined on a wire without an id: then the line carries none. */
  readonly wireId: string | undefined;
  /** The last line of our chain; undefined for its first. */
  readonly head: ChainHead | undefined;
  /** The form of the signature. Spec 1.5. */
  readonly version?: "v3.1" | "v3.0";
}

export interface Composed {
  /** Without its newline. */
  readonly line: Uint8Array;
  readonly id: string;
  readonly message: Message;
}

const LONE_SURROGATE = /\p{Surrogate}/u;
const NOT_UNICODE = "the text is not valid Unicode: it has a lone surrogate";
/** Room for what is added to a draft: identity, chain, signature. */
const ENVELOPE_BYTES = 4_096;

/** Whether a draft may be signed at all. Spec 1.2, the sender's side; `limits` are the wire's. */
export function checkDraft(
  draft: Draft,
  limits: Limits,
): { ok: true } | { ok: false; detail: string } {
  const detail = draftProblem(draft) ?? sizeProblem(draft, limits);
  return detail === undefined ? { ok: true } : { ok: false, detail };
}

function draftProblem(draft: Draft): string | undefined {
  const { to, type, subject, correlationId, refs = [] } = draft;
  if (to.length === 0) return "to names nobody; give a handle or *";
  if (to.length > MAX_RECIPIENTS) return `to names more than ${MAX_RECIPIENTS} recipients`;
  const stranger = to.find((name) => name !== "*" && !isHandle(name));
  if (stranger !== undefined) return `to: ${quote(stranger)} is not a handle`;
  if (!isMessageType(type)) return `type ${quote(type)} is not one of ${MESSAGE_TYPES.join(", ")}`;
  if (subject.trim() === "") return "the subject is empty";
  if (exceedsCodePoints(subject, MAX_SUBJECT_CODE_POINTS)) {
    return `the subject is longer than ${MAX_SUBJECT_CODE_POINTS} characters`;
  }
  if (correlationId === "") return "the correlation id is empty";
  if (exceedsCodePoints(correlationId ?? "", MAX_CORRELATION_ID_CODE_POINTS)) {
    return `the correlation id is longer than ${MAX_CORRELATION_ID_CODE_POINTS} characters`;
  }
  if (type === "ack" && correlationId === undefined) {
    return "an ack answers a thread; name its correlation id";
  }
  if (type === "proposal" && draft.ackRequired !== true) return "a proposal must require an ack";
  if ([subject, correlationId ?? "", ...refs].some((text) => LONE_SURROGATE.test(text))) {
    return NOT_UNICODE;
  }
  return undefined;
}

function sizeProblem(draft: Draft, limits: Limits): string | undefined {
  const { body, refs = [], to } = draft;
  if (refs.length > limits.max_refs) return `${refs.length} refs; at most ${limits.max_refs}`;
  // The body is inside the message, which is the first level.
  const flaw = bodyFlaw(body, MAX_DEPTH - 1);
  if (flaw !== undefined) return flaw;
  const size = bodyBytes(body);
  const maxBody = limits.max_message_body_kb * 1_024;
  if (size > maxBody) return `the body has ${size} bytes; at most ${maxBody}`;
  const subjectBytes = Buffer.byteLength(JSON.stringify(draft.subject));
  const listBytes = Buffer.byteLength(JSON.stringify([refs, to]));
  if (size + subjectBytes + listBytes + ENVELOPE_BYTES > MAX_LINE_BYTES) {
    return `the line would be longer than ${MAX_LINE_BYTES} bytes`;
  }
  return undefined;
}

function bodyFlaw(value: JsonValue, levelsLeft: number): string | undefined {
  if (typeof value === "string") return LONE_SURROGATE.test(value) ? NOT_UNICODE : undefined;
  if (!isJsonArray(value) && !isJsonObject(value)) return undefined;
  if (levelsLeft === 0) return `the body is nested deeper than ${MAX_DEPTH - 1}`;
  if (Object.keys(value).some((key) => LONE_SURROGATE.test(key))) return NOT_UNICODE;
  for (const member of Object.values<JsonValue>(value)) {
    const flaw = bodyFlaw(member, levelsLeft - 1);
    if (flaw !== undefined) return flaw;
  }
  return undefined;
}

/**
 * Signs a draft into a line, chained to our last one. The draft has passed `checkDraft`,
 * and the timestamp comes from `nextTimestamp`. Spec 1.2, 1.5, 1.6.
 */
export function composeLine(draft: Draft, at: Place, signer: Signer): Composed {
  const sign = at.version === "v3.0" ? signFieldsV30 : signFields;
  const { line, id } = sign(unsignedFields(draft, at, signer.handle), signer);
  // What is handed on is what a reader will make of the line, not what we meant by it.
  const parsed = parseMessage(line);
  if (!parsed.ok) throw new Error(`composed a line that is ${parsed.reason}: ${parsed.detail}`);
  if (parsed.message.id !== id) throw new Error("composed a line that reads back differently");
  return { line, id, message: parsed.message };
}

/** Signs a draft into a line that is in no chain, but names its wire. */
export function composeLoose(draft: Draft, at: Omit<Place, "head">, signer: Signer): Composed {
  const sign = at.version === "v3.0" ? signFieldsV30 : signFields;
  const fields = unsignedFields(draft, { ...at, head: undefined }, signer.handle);
  const { seq: _seq, ...loose } = fields;
  const { line, id } = sign(Object.assign(bareObject<JsonValue>(), loose), signer);
  const parsed = parseMessage(line);
  if (!parsed.ok) throw new Error(`composed a line that is ${parsed.reason}: ${parsed.detail}`);
  return { line, id, message: parsed.message };
}

/**
 * Any object signed as a v3.1 message is: event id over its canonical bytes, signature over the id.
 * Entries of decisions.jsonl are signed so too. Spec 1.5, 3.4.
 */
export function signFields(
  unsigned: JsonObject,
  signer: Signer,
): { readonly line: Uint8Array; readonly id: string } {
  const id = eventId(unsigned);
  const fields = Object.assign(bareObject<JsonValue>(), unsigned, {
    event_id: id,
    public_key_id: signer.keyId,
    signature: encodeBase64(signer.sign(Buffer.from(id, "hex"))),
  });
  return { line: new TextEncoder().encode(lineText(fields)), id };
}

/** The v3.0 form: the signature is over the canonical bytes, and the id is not written. Spec 1.5. */
function signFieldsV30(unsigned: JsonObject, signer: Signer): ReturnType<typeof signFields> {
  const fields = Object.assign(bareObject<JsonValue>(), unsigned, {
    public_key_id: signer.keyId,
    signature: encodeBase64(signer.sign(canonicalBytes(unsigned))),
  });
  return { line: new TextEncoder().encode(lineText(fields)), id: eventId(unsigned) };
}

/** In the order in which a person reads them. */
function unsignedFields(draft: Draft, at: Place, handle: string): JsonObject {
  const { head, wireId } = at;
  const fields: Record<string, JsonValue> = Object.assign(bareObject<JsonValue>(), {
    timestamp: at.timestamp,
    from: handle,
    to: draft.to,
    type: draft.type,
    kind: kindOf(draft.type) as number,
    subject: draft.subject,
    body: draft.body,
    refs: draft.refs ?? [],
    priority: draft.priority ?? "medium",
    correlation_id: draft.correlationId ?? at.timestamp,
    ack_required: draft.ackRequired ?? false,
  });
  if (wireId !== undefined) fields["wire"] = wireId;
  fields["seq"] = head === undefined ? 1 : head.seq + 1;
  if (head !== undefined) fields["prev"] = head.id;
  return fields;
}

/** Bytes of a body as `max_message_body_kb` counts them. Spec 1.2. */
export function bodyBytes(body: JsonValue): number {
  return Buffer.byteLength(canonicalText(body));
}
