import { agentName } from "../wire/handle.ts";
import { isJsonArray, toPlain, type JsonValue } from "../wire/json/json.ts";
import { decodeKey, encodeBase64, isAcceptableKey, keyId } from "../wire/signature.ts";
import { openDocument, shown, type DocumentReader } from "./policy/document.ts";
import {
  MAX_KEYS_PER_AGENT,
  type Hold,
  type LinePlace,
  type Peer,
  type PinnedKey,
  type TrustStore,
} from "./store.ts";
import { tierNamed, type Tier } from "./tiers.ts";

/** What a trust file says, ours or an advertised one; nothing in it is believed yet. */
export interface TrustDocument {
  readonly schema: "v3.0" | "v3.1";
  readonly version: number | undefined;
  readonly peers: ReadonlyMap<string, Peer>;
  /** What had to be left out, in words. */
  readonly problems: readonly string[];
}

export type TrustParse =
  | { readonly ok: true; readonly document: TrustDocument }
  | { readonly ok: false; readonly detail: string };

const MAX_AGENTS = 1024;
const ID = /^[0-9a-f]{64}$/u;
const MAX_NUMBER = Number.MAX_SAFE_INTEGER;

/**
 * Reads a trust file of either version (spec 2.1). Keys that must not be pinned and agents that
 * make no sense are left out and named in `problems`.
 *
 * @param untiered the tier of agents in a v3.0 file, which knows no tiers
 */
export function parseTrustFile(bytes: Uint8Array, file: string, untiered: Tier): TrustParse {
  const opened = openDocument(bytes, file);
  if (!opened.ok) return opened;
  const { reader } = opened;
  const stated = reader.value("schema_version");
  const schema = stated === undefined ? "v3.0" : stated;
  if (schema !== "v3.0" && schema !== "v3.1") {
    const detail = `${file}: schema_version is ${shown(schema)}; expected "v3.1" (or none, in a v3.0 file)`;
    return { ok: false, detail };
  }
  const version = reader.wholeNumber("version", 0, MAX_NUMBER);
  const peers = new Map<string, Peer>();
  for (const [name, fields] of reader.entries("agents", MAX_AGENTS)) {
    const peer = readPeer(reader, name, fields, schema === "v3.0" ? untiered : "UNTRUSTED");
    if (peer === undefined) continue;
    if (peers.has(peer.handle)) reader.problem(`agents.${name}`, "names an agent a second time");
    else peers.set(peer.handle, peer);
  }
  return { ok: true, document: { schema, version, peers, problems: reader.problems } };
}

export type StoreResult =
  | { readonly ok: true; readonly store: TrustStore }
  | { readonly ok: false; readonly detail: string };

/**
 * Reads the private store. It is ours, so nothing in it may be wrong, and it may not be older
 * than the last one seen: somebody who puts back an old copy brings back revoked keys. Spec 2.1.
 */
export function parseTrustStore(bytes: Uint8Array, lastVersionSeen: number): StoreResult {
  const parsed = parseTrustFile(bytes, "trust.json", "UNTRUSTED");
  if (!parsed.ok) return parsed;
  const { schema, version, peers, problems } = parsed.document;
  const [problem] = problems;
  if (problem !== undefined) return { ok: false, detail: problem };
  if (schema !== "v3.1" || version === undefined) {
    const detail =
      "trust.json: this is no private store (schema_version v3.1 with a version); take a file of another make in with: deaddrop trust import FILE";
    return { ok: false, detail };
  }
  if (version < lastVersionSeen) {
    const detail = `trust.json: version ${version} is older than version ${lastVersionSeen}, which was seen here before; put the newer store back (deaddrop backup restore)`;
    return { ok: false, detail };
  }
  return { ok: true, store: { version, peers } };
}

/** The private store as it is in its file. */
export function serialiseTrustStore(store: TrustStore): string {
  const agents = Object.fromEntries([...store.peers.values()].map((p) => [p.handle, plainPeer(p)]));
  return `${JSON.stringify({ schema_version: "v3.1", version: store.version, agents }, null, 2)}\n`;
}

const READ_FIELDS: ReadonlySet<string> = new Set([
  "tier",
  "tier_set_at",
  "attested_since",
  "sas_verified",
  "sas_verified_at",
  "successful_reciprocations",
  "blocked",
  "held",
  "follows",
  "allow_unchained",
  "allow_unsigned",
  "agent_card_url",
  "agent_card_fetched_at",
  "public_keys",
]);

function readPeer(
  reader: DocumentReader,
  name: string,
  value: JsonValue,
  untiered: Tier,
): Peer | undefined {
  const handle = agentName(name);
  if (handle === undefined) {
    reader.problem(`agents: ${shown(name)}`, "is neither a handle nor did:wire:<handle>");
    return undefined;
  }
  const fields = reader.objectAt(`agents.${name}`, value);
  if (fields === undefined) return undefined;
  const tierName = fields.text("tier");
  const tier = tierName === undefined ? untiered : tierNamed(tierName);
  const tierSetAtMs = readTime(fields, "tier_set_at");
  const attestedSince = readTime(fields, "attested_since");
  const attested = tier === "ATTESTED" || tier === "TRUSTED";
  const follows = fields
    .items("follows", Infinity)
    .flatMap((item, at) => readLinePlace(fields, item, `follows[${at}]`) ?? []);
  const extra = fields.names.filter((name) => !READ_FIELDS.has(name));
  return {
    handle,
    tier,
    tierSetAtMs,
    attestedSinceMs: attested ? (attestedSince ?? tierSetAtMs) : undefined,
    sasVerifiedAt: fields.textOrNull("sas_verified_at"),
    reciprocations: fields.wholeNumber("successful_reciprocations", 0, MAX_NUMBER) ?? 0,
    blocked: fields.flag("blocked") ?? false,
    held: readHold(fields.object("held")),
    ...(follows.length === 0 ? {} : { follows }),
    allowUnchained: fields.flag("allow_unchained") ?? false,
    mayBeUnsigned: fields.flag("allow_unsigned") ?? false,
    keys: readKeys(fields, handle),
    cardUrl: fields.textOrNull("agent_card_url"),
    cardFetchedAt: fields.textOrNull("agent_card_fetched_at"),
    extra: Object.fromEntries(extra.map((name) => [name, toPlain(fields.value(name) ?? null)])),
  };
}

function readKeys(fields: DocumentReader, handle: string): readonly PinnedKey[] {
  const keys: PinnedKey[] = [];
  for (const [at, item] of fields.items("public_keys", MAX_KEYS_PER_AGENT, "keys").entries()) {
    const path = `public_keys[${at}]`;
    const entry = fields.objectAt(path, item);
    const key = entry && readKey(entry, handle);
    if (key === undefined) continue;
    if (keys.some((other) => other.keyId === key.keyId)) {
      fields.problem(path, `repeats the key id ${key.keyId}`);
    } else keys.push(key);
  }
  return keys;
}

function readKey(fields: DocumentReader, handle: string): PinnedKey | undefined {
  const id = fields.text("key_id");
  const key = decodeKey(fields.text("key") ?? "");
  if (key === undefined || !isAcceptableKey(key)) {
    fields.problem(
      "key",
      "is no usable Ed25519 key; expected 32 bytes in standard base64, a canonical point that is not of small order",
    );
    return undefined;
  }
  const expected = keyId(handle, key);
  if (id !== expected) {
    fields.problem("key_id", `is ${shown(id ?? null)}; that key of ${handle} is ${expected}`);
    return undefined;
  }
  const deactivatedAt = fields.text("deactivated_at");
  const revoked = fields.flag("revoked");
  const place = fields.value("last");
  const last = place === undefined ? undefined : readLinePlace(fields, place, "last");
  return {
    keyId: id,
    key,
    addedAt: fields.text("added_at") ?? "",
    active: fields.flag("active") ?? true,
    ...(deactivatedAt === undefined ? {} : { deactivatedAt }),
    ...(revoked === undefined ? {} : { revoked }),
    ...(last === undefined ? {} : { last }),
  };
}

function readLinePlace(
  fields: DocumentReader,
  value: JsonValue,
  path: string,
): LinePlace | undefined {
  const [seq, id, ...more] = isJsonArray(value) ? value : [];
  const isPlace = typeof seq === "number" && seq >= 1 && typeof id === "string" && ID.test(id);
  if (isPlace && more.length === 0) return { seq, id };
  return fields.unexpected(path, "[number, id] of a line", value);
}

function readHold(fields: DocumentReader | undefined): Hold | undefined {
  return (
    fields && {
      cause: fields.text("cause") ?? "held",
      detail: fields.text("detail") ?? "",
      sinceMs: readTime(fields, "since") ?? 0,
    }
  );
}

function readTime(fields: DocumentReader, name: string): number | undefined {
  const text = fields.text(name);
  if (text === undefined) return undefined;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? fields.unexpected(name, "a time such as 2026-06-01T10:00:00Z") : ms;
}

function plainPeer(peer: Peer): Record<string, unknown> {
  return {
    // "NONE" names no tier, so it reads as none again.
    tier: peer.tier ?? "NONE",
    tier_set_at: time(peer.tierSetAtMs),
    attested_since: time(peer.attestedSinceMs),
    sas_verified: peer.sasVerifiedAt !== undefined,
    sas_verified_at: peer.sasVerifiedAt,
    successful_reciprocations: peer.reciprocations,
    blocked: peer.blocked || undefined,
    held: peer.held && {
      cause: peer.held.cause,
      detail: peer.held.detail,
      since: time(peer.held.sinceMs),
    },
    follows: peer.follows?.map(({ seq, id }) => [seq, id]),
    allow_unchained: peer.allowUnchained || undefined,
    allow_unsigned: peer.mayBeUnsigned || undefined,
    agent_card_url: peer.cardUrl,
    agent_card_fetched_at: peer.cardFetchedAt,
    ...peer.extra,
    public_keys: peer.keys.map(plainKey),
  };
}

function plainKey(key: PinnedKey): Record<string, unknown> {
  return {
    key_id: key.keyId,
    key: encodeBase64(key.key),
    added_at: key.addedAt,
    active: key.active,
    deactivated_at: key.deactivatedAt,
    revoked: key.revoked,
    last: key.last && [key.last.seq, key.last.id],
  };
}

function time(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString();
}
