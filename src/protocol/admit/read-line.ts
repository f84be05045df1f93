import { canonicalBytes, sha256Hex, V31_OMIT } from "../../wire/canonical.ts";
import { agentName } from "../../wire/handle.ts";
import { isJsonArray, parseObject, type JsonObject, type JsonValue } from "../../wire/json/json.ts";
import { kindOf, typeOf, typeSpelled } from "../../wire/kinds.ts";
import { MAX_LINE_BYTES } from "../../wire/limits.ts";
import { schemaProblem } from "../../wire/message-schema.ts";
import { decodeSignature, parseKeyId } from "../../wire/signature.ts";
import { parseTimestamp } from "../../wire/timestamp.ts";
import { quote } from "../../wire/quote.ts";
import type { RefusalReason } from "./refusals.ts";

/** Why a line is not what it says, or not taken in. `detail` is for people; peers' words in it are quoted. */
export interface Problem {
  readonly reason: RefusalReason;
  readonly detail: string;
}

/** What is signed, by whom, and the signature. */
export interface SignedPart {
  readonly keyId: string;
  readonly bytes: Uint8Array;
  readonly signature: Uint8Array;
}

/** Fields of a line that rules read; one of a wrong type is absent. */
interface LineFields {
  readonly author: string;
  /** 64 lower-case hexadecimal digits, also where the line does not state it. */
  readonly id: string;
  /** A name of the table of types, `kind:<n>`, or empty when the line names none. */
  readonly type: string;
  readonly timestamp: string;
  /** Milliseconds of Unix time; 0 without a timestamp. */
  readonly sentMs: number;
  /** Handles or `*`; undefined when the line does not say. */
  readonly to: readonly string[] | undefined;
  /** `correlation_id`; empty for none. */
  readonly thread: string;
  readonly subject: string;
  readonly body: JsonValue;
  readonly refs: number;
  readonly ackRequired: boolean;
  readonly priority: "low" | "medium" | "high";
  /** How many bytes the canonical form has: an upper bound for the body. */
  readonly size: number;
  /** Without its newline. */
  readonly bytes: Uint8Array;
}

/** A line that carries a number: sound in form, nothing of it is believed yet. */
export interface ChainedLine extends LineFields {
  readonly seq: number;
  readonly prev: string | null;
  readonly signed: SignedPart;
  /** It breaks the schema, or type and kind disagree: no mail, but a line all the same. */
  readonly problem: Problem | undefined;
  /** It names this wire, in the form of today: any other line of a chain proves nothing here. */
  readonly isOfWire: boolean;
}

/** A line outside of any chain. Unsigned: neither key id nor signature. */
export interface LooseLine extends LineFields {
  readonly seq: null;
  readonly signed: SignedPart | undefined;
  readonly wire: string | undefined;
  /** Type and kind disagree. */
  readonly problem: Problem | undefined;
}

export type ReadLine =
  | { readonly ok: true; readonly line: ChainedLine | LooseLine }
  | { readonly ok: false; readonly problem: Problem };

const ID = /^[0-9a-f]{64}$/u;

/**
 * What a line says by itself: the checks of form, in their order. `bytes` is undefined of a line that is too
 * long to be kept. Spec 1.2, 1.5, 1.6, 2.4.
 *
 * @param wireId of this wire: a chained line of another is none of ours
 */
export function readLine(bytes: Uint8Array | undefined, wireId: string): ReadLine {
  if (bytes === undefined || bytes.length > MAX_LINE_BYTES)
    return out("oversized", `the line is longer than ${MAX_LINE_BYTES} bytes`);
  const parsed = parseObject(bytes);
  if (!parsed.ok) return out("malformed", parsed.detail);
  const fields = parsed.value;
  const schema = schemaProblem(fields);
  const problem: Problem | undefined =
    schema === undefined ? kindProblem(fields) : { reason: "schema", detail: schema };
  const author = agentName(text(fields, "from") ?? "");
  if (author === undefined) return out("schema", schema ?? "from is no handle");
  const canonical = canonicalBytes(fields, V31_OMIT);
  const id = sha256Hex(canonical);
  const common = { ...readFields(fields), author, id, size: canonical.length, bytes };
  const isChained = Object.hasOwn(fields, "seq");
  if (!isChained && schema !== undefined) return out("schema", schema);
  const signed = readSigned(fields, common, canonical);
  if ("reason" in signed) return { ok: false, problem: signed };
  if (!isChained) {
    const wire = text(fields, "wire");
    const line = { ...common, seq: null, signed: signed.part, wire, problem };
    return { ok: true, line };
  }
  const seq = fields["seq"];
  const prev = text(fields, "prev");
  if (typeof seq !== "number" || seq < 1) return out("schema", "seq must be an integer ≥ 1");
  const isFirst = !Object.hasOwn(fields, "prev");
  if (isFirst !== (seq === 1) || (!isFirst && !ID.test(prev ?? "")))
    return out("schema", "prev must be the id of the line before, and absent in line 1");
  if (signed.part === undefined) return out("unsigned", "a line with a number has to be signed");
  const isOfWire = text(fields, "wire") === wireId && !Object.hasOwn(fields, "log");
  return {
    ok: true,
    line: { ...common, seq, prev: prev ?? null, signed: signed.part, problem, isOfWire },
  };
}

function out(reason: RefusalReason, detail: string): ReadLine {
  return { ok: false, problem: { reason, detail } };
}

function kindProblem({ type, kind }: JsonObject): Problem | undefined {
  if (typeof type !== "string" || typeof kind !== "number") return undefined;
  const spelled = typeSpelled(type);
  if (spelled === undefined || kindOf(spelled) === kind) return undefined;
  const detail = `kind ${kind} is ${typeOf(kind)}, but type says ${spelled}`;
  return { reason: "kind_mismatch", detail };
}

function readFields(fields: JsonObject): Omit<LineFields, "author" | "id" | "size" | "bytes"> {
  const timestamp = text(fields, "timestamp") ?? "";
  const sentMs = parseTimestamp(timestamp);
  const subject = text(fields, "subject") ?? "";
  const priority = text(fields, "priority");
  const isHigh = priority === "high" || subject.startsWith("urgent:");
  const refs = fields["refs"];
  return {
    type: readType(fields),
    timestamp: sentMs === undefined ? "" : timestamp,
    sentMs: Math.floor(sentMs ?? 0),
    to: readTo(fields["to"]),
    thread: text(fields, "correlation_id") ?? "",
    subject,
    body: fields["body"] ?? null,
    refs: isJsonArray(refs) ? refs.length : 0,
    ackRequired: fields["ack_required"] === true,
    priority: isHigh ? "high" : priority === "low" ? "low" : "medium",
  };
}

function readType({ type, kind }: JsonObject): string {
  const spelled = typeof type === "string" ? typeSpelled(type) : undefined;
  return spelled ?? (typeof kind === "number" ? typeOf(kind) : "");
}

function readTo(to: JsonValue | undefined): readonly string[] | undefined {
  if (!isJsonArray(to)) return undefined;
  return to.every((each) => typeof each === "string") ? to : undefined;
}

function readSigned(
  fields: JsonObject,
  { author, id }: { readonly author: string; readonly id: string },
  canonical: Uint8Array,
): { readonly part: SignedPart | undefined } | Problem {
  const hasKeyId = Object.hasOwn(fields, "public_key_id");
  const hasSignature = Object.hasOwn(fields, "signature");
  if (hasKeyId !== hasSignature) {
    const missing = hasKeyId ? "signature" : "public_key_id";
    return { reason: "unsigned", detail: `${missing} is missing` };
  }
  const eventId = fields["event_id"];
  if (eventId !== undefined && eventId !== id) {
    const stated = typeof eventId === "string" ? quote(eventId) : "no text";
    return {
      reason: "event_id_mismatch",
      detail: `event_id is ${stated}, but the content hashes to ${id}`,
    };
  }
  if (!hasKeyId) return { part: undefined };
  const keyId = text(fields, "public_key_id") ?? "";
  if (parseKeyId(keyId)?.handle !== author)
    return { reason: "from_mismatch", detail: `from is ${author}, but the key is ${quote(keyId)}` };
  const signature = decodeSignature(text(fields, "signature") ?? "");
  if (signature === undefined)
    return {
      reason: "invalid_signature",
      detail: "signature is not strict base64 of 64 bytes",
    };
  const bytes = eventId === undefined ? canonical : Buffer.from(id, "hex");
  return { part: { keyId, bytes, signature } };
}

function text(fields: JsonObject, name: string): string | undefined {
  const value = Object.hasOwn(fields, name) ? fields[name] : undefined;
  return typeof value === "string" ? value : undefined;
}
