import { V31_OMIT, canonicalBytes, sha256Hex } from "./canonical.ts";
import { agentName } from "./handle.ts";
import { parseObject, type JsonObject, type JsonValue } from "./json/json.ts";
import { kindOf, typeOf, typeSpelled } from "./kinds.ts";
import { MAX_LINE_BYTES } from "./limits.ts";
import { schemaProblem } from "./message-schema.ts";
import { parseTimestamp } from "./timestamp.ts";

export type Priority = "low" | "medium" | "high";
export type WireVersion = "v3.1" | "v3.0" | "v2.0";

/** A line that is well-formed and of the right shape. Nothing of it is believed yet. Spec 1.2. */
export interface Message {
  readonly fields: JsonObject;
  /** The canonical bytes without `event_id`, `public_key_id`, `signature`: the v3.1 form. */
  readonly canonical: Uint8Array;
  /** SHA-256 of `canonical`, in hex: for v3.1 the event id that it should have. */
  readonly id: string;
  /** By the fields present (1.5); v2.0 is also a line with only one of key id and signature. */
  readonly version: WireVersion;
  readonly timestamp: string;
  /** Milliseconds since 1970, microseconds as the fraction. The sender's claim. */
  readonly timestampMs: number;
  /** A handle, also where the line has `did:wire:<handle>`. */
  readonly from: string;
  /** Handles or `"*"`; undefined = every reader of the log. */
  readonly to: readonly string[] | undefined;
  /** A name of the table (1.3), also where the line spells it in another way, or `kind:<n>`. */
  readonly type: string;
  /** As it is on the line; undefined on lines that carry only a type. */
  readonly kind: number | undefined;
  readonly subject: string;
  readonly body: JsonValue;
  readonly refs: readonly string[];
  readonly priority: Priority;
  readonly correlationId: string;
  readonly ackRequired: boolean;
  readonly eventId: string | undefined;
  readonly publicKeyId: string | undefined;
  readonly signature: string | undefined;
  readonly wire: string | undefined;
  readonly log: string | undefined;
  readonly seq: number | undefined;
  readonly prev: string | undefined;
}

export type MessageParse =
  | { ok: true; message: Message }
  | { ok: false; reason: "oversized" | "malformed" | "schema" | "kind_mismatch"; detail: string };

/**
 * Reads one line, given without its newline. The first check that fails decides, in the order of
 * Spec 2.4: oversized, malformed, schema, kind_mismatch.
 */
export function parseMessage(line: Uint8Array): MessageParse {
  if (line.length > MAX_LINE_BYTES) {
    const detail = `the line has ${line.length} bytes; at most ${MAX_LINE_BYTES} are read`;
    return { ok: false, reason: "oversized", detail };
  }
  const parsed = parseObject(line);
  if (!parsed.ok) return { ok: false, reason: "malformed", detail: parsed.detail };
  const fields = parsed.value;
  const problem = schemaProblem(fields);
  if (problem !== undefined) return { ok: false, reason: "schema", detail: problem };
  // From here on every field has the type that the schema gives it.
  const shape = fields as unknown as MessageFields;
  const { kind } = shape;
  const type = shape.type === undefined ? undefined : typeSpelled(shape.type);
  if (type !== undefined && kind !== undefined && kindOf(type) !== kind) {
    const detail = `kind ${kind} is ${typeOf(kind)}, but type says ${type} (kind ${kindOf(type)})`;
    return { ok: false, reason: "kind_mismatch", detail };
  }
  return { ok: true, message: messageOf(fields, shape, type) };
}

/** The fields of a message on the wire: of a line that has passed the schema. Spec 1.2. */
export interface MessageFields<Body = JsonValue> {
  timestamp: string;
  from: string;
  /** Handles, or `*` for everybody. */
  to?: readonly string[];
  /** Such as `feedback`, `proposal`, `ack`. Spec 1.3. */
  type?: string;
  /** The number of the type. Spec 1.3. */
  kind?: number;
  subject: string;
  body: Body;
  /** Paths, or `git:` and a commit. */
  refs?: readonly string[];
  priority?: Priority | "normal";
  correlation_id: string;
  /** Whether an answer is asked for. */
  ack_required?: boolean;
  event_id?: string;
  /** The key that it is signed with. */
  public_key_id?: string;
  signature?: string;
  /** Id of the wire, in what is signed. */
  wire?: string;
  log?: string;
  /** Its number in its author's chain, from 1. */
  seq?: number;
  /** Event id of the line before it in the chain. */
  prev?: string;
}

function messageOf(fields: JsonObject, shape: MessageFields, type: string | undefined): Message {
  const canonical = canonicalBytes(fields, V31_OMIT);
  return Object.freeze({
    fields,
    canonical,
    id: sha256Hex(canonical),
    version: versionOf(shape),
    timestamp: shape.timestamp,
    timestampMs: parseTimestamp(shape.timestamp) as number,
    from: agentName(shape.from) as string,
    to: shape.to,
    type: type ?? typeOf(shape.kind as number),
    kind: shape.kind,
    subject: shape.subject,
    body: shape.body,
    refs: shape.refs ?? NO_REFS,
    priority: priorityOf(shape),
    correlationId: shape.correlation_id,
    ackRequired: shape.ack_required ?? false,
    eventId: shape.event_id,
    publicKeyId: shape.public_key_id,
    signature: shape.signature,
    wire: shape.wire,
    log: shape.log,
    seq: shape.seq,
    prev: shape.prev,
  });
}

const NO_REFS: readonly string[] = Object.freeze([]);

function versionOf(shape: MessageFields): WireVersion {
  if (shape.public_key_id === undefined || shape.signature === undefined) return "v2.0";
  return shape.event_id === undefined ? "v3.0" : "v3.1";
}

function priorityOf(shape: MessageFields): Priority {
  if (shape.subject.startsWith("urgent:")) return "high";
  if (shape.priority === undefined || shape.priority === "normal") return "medium";
  return shape.priority;
}
