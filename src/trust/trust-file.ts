import { agentName } from "../wire/handle.ts";
import {
  isJsonArray,
  parseObject,
  toPlain,
  type JsonObject,
  type JsonValue,
} from "../wire/json/json.ts";
import { decodeKey, encodeBase64, isAcceptableKey, keyId } from "../wire/signature.ts";
import { DocumentReader, shown } from "./policy/document.ts";
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
  const parsed = parseObject(bytes);
  if (!parsed.ok) return { ok: false, detail: `${file}: ${parsed.detail}` };
  const { value } = parsed;
  const { schema_version: stated, agents: entries } = value;
  const named = stated === undefined ? "v3.0" : stated;
  if (named !== "v3.0" && named !== "v3.1") {
    const detail = `${file}: schema_version is ${shown(named)}; expected "v3.1" (or none, in a v3.0 file)`;
    return { ok: false, detail };
  }
  const reader = new DocumentReader(file);
  const version = reader.wholeNumber(value["version"], "version", 0, MAX_NUMBER);
  const agents = Object.entries(reader.object(entries, "agents") ?? {});
  if (agents.length > MAX_AGENTS) {
    reader.problem("agents", `has ${agents.length} entries; at most ${MAX_AGENTS} are read`);
  }
  const peers = new Map<string, Peer>();
  for (const [name, fields] of agents.slice(0, MAX_AGENTS)) {
    const peer = readPeer(reader, name, fields, named === "v3.0" ? untiered : "UNTRUSTED");
    if (peer === undefined) continue;
    if (peers.has(peer.handle)) reader.problem(`agents.${name}`, "names an agent a second time");
    else peers.set(peer.handle, peer);
  }
  return { ok: true, document: { schema: named, version, peers, problems: reader.problems } };
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
    const detail = `trust.json: version ${version} is older than version ${lastVersionSeen}, which was seen here before; put the newer store back (deaddrop restore)`;
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
  const path = `agents.${name}`;
  if (handle === undefined) {
    reader.problem(`agents: ${shown(name)}`, "is neither a handle nor did:wire:<handle>");
    return undefined;
  }
  const fields = reader.object(value, path);
  if (fields === undefined) return undefined;
  const tierName = reader.text(fields["tier"], `${path}.tier`);
  const tier = tierName === undefined ? untiered : tierNamed(tierName);
  const tierSetAtMs = readTime(reader, fields["tier_set_at"], `${path}.tier_set_at`);
  const attestedSince = readTime(reader, fields["attested_since"], `${path}.attested_since`);
  const attested = tier === "ATTESTED" || tier === "TRUSTED";
  // The schema lets some be null, which says no more than absent.
  const textOrNull = (field: string) => reader.text(fields[field] ?? undefined, `${path}.${field}`);
  const follows = (reader.list(fields["follows"], `${path}.follows`) ?? []).flatMap(
    (item, at) => readLinePlace(reader, item, `${path}.follows[${at}]`) ?? [],
  );
  const extra = Object.entries(fields).filter(([key]) => !READ_FIELDS.has(key));
  return {
    handle,
    tier,
    tierSetAtMs,
    attestedSinceMs: attested ? (attestedSince ?? tierSetAtMs) : undefined,
    sasVerifiedAt: textOrNull("sas_verified_at"),
    reciprocations:
      reader.wholeNumber(
        fields["successful_reciprocations"],
        `${path}.successful_reciprocations`,
        0,
        MAX_NUMBER,
      ) ?? 0,
    blocked: reader.flag(fields["blocked"], `${path}.blocked`) ?? false,
    held: readHold(reader, fields["held"], `${path}.held`),
    ...(follows.length === 0 ? {} : { follows }),
    allowUnchained: reader.flag(fields["allow_unchained"], `${path}.allow_unchained`) ?? false,
    mayBeUnsigned: reader.flag(fields["allow_unsigned"], `${path}.allow_unsigned`) ?? false,
    keys: readKeys(reader, handle, fields["public_keys"], `${path}.public_keys`),
    cardUrl: textOrNull("agent_card_url"),
    cardFetchedAt: textOrNull("agent_card_fetched_at"),
    extra: Object.fromEntries(extra.map(([key, field]) => [key, toPlain(field)])),
  };
}

function readKeys(
  reader: DocumentReader,
  handle: string,
  value: JsonValue | undefined,
  path: string,
): readonly PinnedKey[] {
  const keys: PinnedKey[] = [];
  const list = reader.list(value, path) ?? [];
  if (list.length > MAX_KEYS_PER_AGENT) {
    reader.problem(path, `has ${list.length} keys; at most ${MAX_KEYS_PER_AGENT} are read`);
  }
  for (const [at, item] of list.slice(0, MAX_KEYS_PER_AGENT).entries()) {
    const fields = reader.object(item, `${path}[${at}]`);
    const key = fields && readKey(reader, handle, fields, `${path}[${at}]`);
    if (key === undefined) continue;
    if (keys.some((other) => other.keyId === key.keyId)) {
      reader.problem(`${path}[${at}]`, `repeats the key id ${key.keyId}`);
    } else keys.push(key);
  }
  return keys;
}

function readKey(
  reader: DocumentReader,
  handle: string,
  fields: JsonObject,
  path: string,
): PinnedKey | undefined {
  const id = reader.text(fields["key_id"], `${path}.key_id`);
  const key = decodeKey(reader.text(fields["key"], `${path}.key`) ?? "");
  if (key === undefined || !isAcceptableKey(key)) {
    reader.problem(
      `${path}.key`,
      "is no usable Ed25519 key; expected 32 bytes in standard base64, a canonical point that is not of small order",
    );
    return undefined;
  }
  const expected = keyId(handle, key);
  if (id !== expected) {
    reader.problem(
      `${path}.key_id`,
      `is ${shown(id ?? null)}; that key of ${handle} is ${expected}`,
    );
    return undefined;
  }
  const deactivatedAt = reader.text(fields["deactivated_at"], `${path}.deactivated_at`);
  const revoked = reader.flag(fields["revoked"], `${path}.revoked`);
  const last =
    fields["last"] === undefined
      ? undefined
      : readLinePlace(reader, fields["last"], `${path}.last`);
  return {
    keyId: id,
    key,
    addedAt: reader.text(fields["added_at"], `${path}.added_at`) ?? "",
    active: reader.flag(fields["active"], `${path}.active`) ?? true,
    ...(deactivatedAt === undefined ? {} : { deactivatedAt }),
    ...(revoked === undefined ? {} : { revoked }),
    ...(last === undefined ? {} : { last }),
  };
}

function readLinePlace(
  reader: DocumentReader,
  value: JsonValue,
  path: string,
): LinePlace | undefined {
  const [seq, id, ...more] = isJsonArray(value) ? value : [];
  const isPlace = typeof seq === "number" && seq >= 1 && typeof id === "string" && ID.test(id);
  if (isPlace && more.length === 0) return { seq, id };
  reader.problem(path, `is ${shown(value)}; expected [number, id] of a line`);
  return undefined;
}

function readHold(
  reader: DocumentReader,
  value: JsonValue | undefined,
  path: string,
): Hold | undefined {
  const fields = reader.object(value, path);
  if (fields === undefined) return undefined;
  return {
    cause: reader.text(fields["cause"], `${path}.cause`) ?? "held",
    detail: reader.text(fields["detail"], `${path}.detail`) ?? "",
    sinceMs: readTime(reader, fields["since"], `${path}.since`) ?? 0,
  };
}

function readTime(
  reader: DocumentReader,
  value: JsonValue | undefined,
  path: string,
): number | undefined {
  const text = reader.text(value, path);
  if (text === undefined) return undefined;
  const ms = Date.parse(text);
  if (!Number.isNaN(ms)) return ms;
  reader.problem(path, `is ${shown(text)}; expected a time such as 2026-06-01T10:00:00Z`);
  return undefined;
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
