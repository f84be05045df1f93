// Keys and signed lines for the model of a reader. Making one costs a signature, so each is made once.
import { canonicalBytes, sha256Hex, V31_OMIT } from "../../src/wire/canonical.ts";
import { fromPlain, isJsonObject, type JsonObject } from "../../src/wire/json/json.ts";
import {
  encodeBase64,
  keyId,
  makeSigner,
  publicKeyOf,
  type Signer,
} from "../../src/wire/signature.ts";
import type { SeqId } from "./reader.ts";

export const WIRE_ID = "0d4be1a97725c83f";
/** When the wires of these tests begin. */
export const START_MS = Date.UTC(2026, 5, 1, 10);

export interface TestKey {
  readonly keyId: string;
  /** The public key as trust files have it. */
  readonly base64: string;
  readonly signer: Signer;
}

const keys = new Map<string, TestKey>();

/** The key of that number of an agent, always the same. */
export function testKey(handle: string, number: number): TestKey {
  const name = `${handle} ${number}`;
  const known = keys.get(name);
  if (known !== undefined) return known;
  const secret = Buffer.from(sha256Hex(Buffer.from(`test key ${name}`)), "hex");
  const publicKey = publicKeyOf(secret);
  const key = {
    keyId: keyId(handle, publicKey),
    base64: encodeBase64(publicKey),
    signer: makeSigner(handle, secret),
  };
  keys.set(name, key);
  return key;
}

/** An instant as a timestamp of ours. */
export const timestampAt = (ms: number): string => new Date(ms).toISOString().replace("Z", "000Z");

export interface SignedLine {
  readonly id: string;
  readonly seq: number | null;
  readonly line: Uint8Array;
  readonly fields: JsonObject;
}

const signed = new Map<string, Uint8Array>();

/** A line in the form v3.1 or v3.0, or unsigned without a key. `fields` lack those of next 1.5. */
function signLine(
  fields: Readonly<Record<string, unknown>>,
  key: TestKey | undefined,
  version: "v3.1" | "v3.0" = "v3.1",
): SignedLine {
  const object = fromPlain(fields);
  if (!isJsonObject(object)) throw new TypeError("a line is an object");
  const canonical = canonicalBytes(object, V31_OMIT);
  const id = sha256Hex(canonical);
  const seq = typeof fields["seq"] === "number" ? fields["seq"] : null;
  if (key === undefined) return { id, seq, line: bytesOf(fields), fields: object };
  const name = `${id} ${key.keyId} ${version}`;
  const signature =
    signed.get(name) ?? key.signer.sign(version === "v3.1" ? Buffer.from(id, "hex") : canonical);
  signed.set(name, signature);
  const all = {
    ...fields,
    ...(version === "v3.1" ? { event_id: id } : {}),
    public_key_id: key.keyId,
    signature: encodeBase64(signature),
  };
  return { id, seq, line: bytesOf(all), fields: object };
}

const bytesOf = (fields: unknown): Uint8Array => Buffer.from(JSON.stringify(fields));

/** A copy of a chained line that is signed with another key. */
export function resign({ fields }: SignedLine, key: TestKey): Uint8Array {
  return signLine(fields, key).line;
}

/**
 * A copy of a line whose fields of next 1.5 differ, in one of 6 ways: they are not covered by its id. The last
 * way changes only how the same object is written.
 */
export function corruptCopy({ line, id }: SignedLine, way: number): Uint8Array {
  const fields = JSON.parse(Buffer.from(line).toString()) as Record<string, unknown>;
  const junk = encodeBase64(Buffer.from(`${id}${id}`, "hex"));
  const changes: readonly Readonly<Record<string, unknown>>[] = [
    { signature: junk },
    { signature: junk, event_id: undefined },
    { signature: "AAAA" },
    { event_id: "0".repeat(64) },
    { public_key_id: `${String(fields["from"])}:00000000` },
    {},
  ];
  const text = JSON.stringify({ ...fields, ...changes[way] });
  return Buffer.from(way === 5 ? ` ${text} ` : text);
}

/** A copy that says that another key signed it. */
export function corruptKeyId({ line }: SignedLine, keyId: string): Uint8Array {
  const fields = JSON.parse(Buffer.from(line).toString()) as Record<string, unknown>;
  return Buffer.from(JSON.stringify({ ...fields, public_key_id: keyId }));
}

/** What `seq` and `prev` of the line behind another one are. */
function placeBehind(last: SeqId | null): { readonly seq: number; readonly prev?: string } {
  return last === null ? { seq: 1 } : { seq: last[0] + 1, prev: last[1] };
}

/** Writes the lines of one agent as its daemon does: each one second later than the one before. */
export class LineWriter {
  readonly handle: string;
  key: TestKey;
  /** In which form it signs (next 1.5). */
  version: "v3.1" | "v3.0" = "v3.1";
  last: SeqId | null = null;
  nowMs = START_MS;

  constructor(handle: string, key = testKey(handle, 1)) {
    this.handle = handle;
    this.key = key;
  }

  /** A chained line behind the last one. */
  say(type: string, fields: Readonly<Record<string, unknown>> = {}): SignedLine {
    const place = { wire: WIRE_ID, ...placeBehind(this.last) };
    const said = signLine({ ...this.#fieldsOf(type), ...place, ...fields }, this.key, this.version);
    this.last = [said.seq ?? 0, said.id];
    return said;
  }

  /** A line in no chain. */
  sayLoose(type: string, fields: Readonly<Record<string, unknown>> = {}): SignedLine {
    return signLine({ ...this.#fieldsOf(type), ...fields }, this.key, this.version);
  }

  /** One that is not signed either. */
  sayUnsigned(type: string, fields: Readonly<Record<string, unknown>> = {}): SignedLine {
    return signLine({ ...this.#fieldsOf(type), ...fields }, undefined);
  }

  /** The next line follows this one, whatever was written since. */
  goBackTo({ seq, id }: SignedLine): void {
    this.last = [seq ?? 0, id];
  }

  #fieldsOf(type: string): Readonly<Record<string, unknown>> {
    this.nowMs += 1_000;
    const timestamp = timestampAt(this.nowMs);
    return {
      timestamp,
      from: this.handle,
      to: ["*"],
      type,
      subject: "-",
      body: {},
      correlation_id: type === "ack" ? timestampAt(START_MS) : timestamp,
      ...(type === "proposal" ? { ack_required: true } : {}),
    };
  }
}
