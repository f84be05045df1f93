import { createHash, createPublicKey, verify, type KeyObject } from "node:crypto";
import { compareCodePoints } from "../../wire/json/slow-json.ts";
import { publicKeyOf } from "../../../src/wire/signature.ts";
import { WIRE_ID } from "../../support/scenes/scene-folder.ts";

/** A line that its author has signed, as somebody reads it who shares no reader with the product. */
export interface Genuine {
  readonly line: string;
  readonly id: string;
  readonly from: string;
  /** Empty for a line outside the chain, which names none. */
  readonly log: string;
  /** 0 for a line outside the chain. */
  readonly seq: number;
  readonly prev: string | undefined;
  readonly type: string;
  readonly timestamp: string;
  readonly to: readonly string[];
  readonly thread: string;
  readonly body: Readonly<Record<string, unknown>>;
}

const SPKI_PREFIX = Buffer.from("302a300506032b6570032100", "hex");
const UNSIGNED = new Set(["public_key_id", "signature", "event_id"]);

/**
 * Who has really signed what. Only for what the simulator's members write: there are no other
 * numbers than integers in it.
 */
export class Notary {
  readonly #keys: ReadonlyMap<string, KeyObject>;
  readonly #known = new Map<string, Genuine | undefined>();
  readonly #unsigned: ReadonlySet<string>;

  /** `unsigned`: whose lines policy admits without a signature. */
  constructor(seeds: ReadonlyMap<string, Uint8Array>, unsigned: readonly string[]) {
    this.#unsigned = new Set(unsigned);
    const keyOf = (seed: Uint8Array): KeyObject =>
      createPublicKey({
        key: Buffer.concat([SPKI_PREFIX, publicKeyOf(seed)]),
        format: "der",
        type: "spki",
      });
    this.#keys = new Map([...seeds].map(([handle, seed]) => [handle, keyOf(seed)]));
  }

  /** Undefined unless the line is signed by whom it names, whole, for this wire. */
  read(line: string): Genuine | undefined {
    if (!this.#known.has(line)) this.#known.set(line, this.#judge(line));
    return this.#known.get(line);
  }

  /** Whether a record of decisions.jsonl is signed by who says to have recorded it. */
  signedRecord(record: Record<string, unknown>): boolean {
    const by = record["recorded_by"];
    const key = typeof by === "string" ? this.#keys.get(by) : undefined;
    return key !== undefined && isSigned(record, key);
  }

  #judge(line: string): Genuine | undefined {
    let fields: unknown;
    try {
      fields = JSON.parse(line);
    } catch {
      return undefined;
    }
    if (!isObject(fields)) return undefined;
    const { from, log, seq, prev, type, timestamp, to, wire, body } = fields;
    const key = typeof from === "string" ? this.#keys.get(from) : undefined;
    if (key === undefined || typeof from !== "string") return undefined;
    const id = digestOf(fields);
    const isChained = typeof seq === "number" && typeof log === "string";
    if (isChained ? wire !== WIRE_ID : wire !== undefined && wire !== WIRE_ID) return undefined;
    if (isChained ? !isSigned(fields, key) : !this.#isPlain(fields, key, from)) return undefined;
    return {
      line,
      id,
      from,
      log: isChained ? log : "",
      seq: isChained ? seq : 0,
      prev: typeof prev === "string" ? prev : undefined,
      type: String(type),
      timestamp: String(timestamp),
      to: Array.isArray(to) ? to.map(String) : ["*"],
      thread: String(fields["correlation_id"]),
      body: isObject(body) ? body : {},
    };
  }

  /** Signed in one of the two ways, or admitted without. */
  #isPlain(fields: Record<string, unknown>, key: KeyObject, from: string): boolean {
    const { event_id: id, signature, public_key_id: keyId } = fields;
    if (signature === undefined && keyId === undefined) return this.#unsigned.has(from);
    if (id !== undefined) return isSigned(fields, key);
    const raw = strictBase64(signature);
    return raw !== undefined && verify(null, Buffer.from(saidIn(fields), "utf8"), key, raw);
  }
}

function isSigned(fields: Record<string, unknown>, key: KeyObject): boolean {
  const raw = strictBase64(fields["signature"]);
  const digest = digestOf(fields);
  if (raw === undefined || digest !== fields["event_id"]) return false;
  return verify(null, Buffer.from(digest, "hex"), key, raw);
}

function strictBase64(signature: unknown): Buffer | undefined {
  if (typeof signature !== "string") return undefined;
  const raw = Buffer.from(signature, "base64");
  return raw.toString("base64") === signature ? raw : undefined;
}

function saidIn(fields: Record<string, unknown>): string {
  return canonical(
    Object.fromEntries(Object.entries(fields).filter(([name]) => !UNSIGNED.has(name))),
  );
}

function digestOf(fields: Record<string, unknown>): string {
  return createHash("sha256").update(saidIn(fields), "utf8").digest("hex");
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.keys(value).toSorted(compareCodePoints);
  return `{${members.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(",")}}`;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
