// A slow, independent model of what one reader holds of a wire: which lines are
// authentic, linked, struck and mail. Written from the text of docs/spec alone (1.2, 1.5, 1.6, 1.8, 1.9,
// 2.1, 2.4, 2.5, 3.2.2). Everything but verdicts that are final is computed anew after each event from all
// lines that were found. README.md lists the readings that were chosen where the text allows two.
import { canonicalBytes, canonicalText, sha256Hex, V30_OMIT } from "../../src/wire/canonical.ts";
import {
  isJsonArray,
  isJsonObject,
  parseObject,
  type JsonObject,
  type JsonValue,
} from "../../src/wire/json/json.ts";
import { schemaProblem } from "../../src/wire/message-schema.ts";
import {
  decodeKey,
  decodeSignature,
  isAcceptableKey,
  keyId as keyIdOf,
  verifySignature,
} from "../../src/wire/signature.ts";
import { parseTimestamp } from "../../src/wire/timestamp.ts";
import { findingsOf, isChange, isLeave, placesNamedBy, type ModelLine } from "./model.ts";

// --- Input ---

export type Tier = "UNTRUSTED" | "VERIFIED" | "ATTESTED" | "TRUSTED";
/** `[seq, id]` in the chain of an author who is known. */
export type SeqId = readonly [seq: number, id: string];

/** A key in the private `trust.json` (next 2.1). */
export interface PinnedKey {
  /** Standard base64 of 32 bytes; its key id follows from it and the author. */
  readonly key: string;
  readonly isActive: boolean;
  /** Of a deactivated key, the last line for which it is believed. */
  readonly last: SeqId | null;
}

/** An agent in the private `trust.json` (next 2.1). */
export interface PinnedAgent {
  readonly tier: Tier;
  readonly isBlocked: boolean;
  /** `allow_unchained` (next 1.8), `allow_unsigned` (next 1.5). */
  readonly isUnchainedAllowed: boolean;
  readonly isUnsignedAllowed: boolean;
  readonly keys: readonly PinnedKey[];
}

export interface ReaderPolicy {
  readonly enforceSigned: boolean;
  readonly allowUnsignedFrom: readonly string[];
  readonly max_message_body_kb: number;
  readonly max_clock_skew_seconds: number;
  readonly max_refs: number;
}

/** What one reader is and believes at the beginning, when it holds nothing. */
export interface Reader {
  readonly handle: string;
  readonly wireId: string;
  /** The pinned configuration (next 1.1). */
  readonly roster: readonly string[];
  readonly unchained: readonly string[];
  readonly epoch: number;
  readonly policy: ReaderPolicy;
  readonly agents: Readonly<Record<string, PinnedAgent>>;
}

/** A file of `owner`: that of a pair, with its reader, or the outbox (next 1.9). */
export interface Carrier {
  readonly owner: string;
  readonly reader: string | null;
}

export type Happening =
  /** One whole line of a carrier, without its newline; blank ones are not reported. */
  | {
      readonly kind: "found";
      readonly carrier: Carrier;
      readonly line: Uint8Array;
      /** It was in the carriers at the first reading (next 2.4). */
      readonly isHistorical: boolean;
    }
  /** The first reading has ended. */
  | { readonly kind: "caught-up" }
  /** Nothing but the time. */
  | { readonly kind: "clock" }
  /** The operator or an ack pins a key (next 2.2, 2.5). Ignored for a key that was deactivated here. */
  | { readonly kind: "pin"; readonly author: string; readonly key: string }
  /** The digits of this key were compared (next 2.3). Ignored for a revoked key. */
  | { readonly kind: "verify"; readonly author: string; readonly key: string }
  | { readonly kind: "tier"; readonly author: string; readonly tier: Tier }
  | { readonly kind: "block"; readonly author: string; readonly isBlocked: boolean }
  /** An approved `deactivate_key`, or `verify` of another key. Ignored for a key that is not active. */
  | {
      readonly kind: "deactivate";
      readonly author: string;
      readonly keyId: string;
      readonly last: SeqId | null;
    }
  /** `trust revoke` (next 2.5). `last` undefined is the last line of `whole`, null is no line at all. */
  | {
      readonly kind: "revoke";
      readonly author: string;
      readonly keyId: string;
      readonly last?: SeqId | null;
    }
  /** The operator names the place that is followed (next 1.6). Ignored without a fork. */
  | { readonly kind: "follow"; readonly author: string; readonly place: SeqId };

/** Times never fall from one event to the next. */
export type ReaderEvent = Happening & { readonly atMs: number };

// --- Output ---

export type Reason =
  | "oversized"
  | "malformed"
  | "schema"
  | "kind_mismatch"
  | "wrong_file"
  | "unsigned"
  | "event_id_mismatch"
  | "from_mismatch"
  | "untrusted_key"
  | "invalid_signature"
  | "wrong_wire"
  | "unchained"
  | "left_member"
  | "log_forked"
  | "clock_skew"
  | "replayed"
  | "tier_refused"
  | "body_too_large"
  | "too_many_refs";

export type Verdict =
  | { readonly is: "mail"; readonly event: number; readonly isAfterGap: boolean }
  /** Nothing is wrong with it; it is not for us, or of a type that is never mail. */
  | { readonly is: "accepted"; readonly event: number }
  | { readonly is: "refused"; readonly event: number; readonly reason: Reason }
  | {
      readonly is: "waits";
      readonly for: "first reading" | "gap" | "fork" | "revoked" | "key" | "clock" | "tier";
    }
  /** It is the reader's own. */
  | { readonly is: "own" };

/** A line that is held: a chained authentic one, or an unchained one that was taken, but for beats. */
export interface ExpectedLine {
  readonly author: string;
  readonly seq: number | null;
  readonly verdict: Verdict;
  /** Whether it is addressed to the reader: refused, it is named in `refused` of a beat (next 3.2.3). */
  readonly isForUs: boolean;
  /** Whether a copy with a valid signature was found. */
  readonly isVerified: boolean;
}

/** Lines `first` to `last` of the branch that ends at the last place (next 3.2.4). */
export interface Want {
  readonly author: string;
  readonly first: number;
  readonly last: number;
  readonly id: string;
}

/** What is held of the chain of one author. Ids are sorted by `seq`, then by themselves. */
export interface ExpectedAuthor {
  readonly authentic: readonly string[];
  readonly linked: readonly string[];
  readonly ahead: readonly string[];
  readonly struck: readonly string[];
  /** Lines that the operator has decided against. */
  readonly against: readonly string[];
  readonly whole: SeqId | null;
  /** The lowest `seq` of an undecided fork, and the lines there. */
  readonly forkAt: number | null;
  readonly forked: readonly string[];
  /** Which of them the reader took second, and names in `refused`; null when it took them together. */
  readonly tookSecond: string | null;
  readonly heldFor: "fork" | "revoked" | null;
}

export interface Expected {
  /** An act of the operator that has no effect; nothing changed. */
  readonly isIgnored: boolean;
  /** Why the line that was found is not held after the event; null when it is held, or nothing was found. */
  readonly out: Reason | null;
  readonly authors: Readonly<Record<string, ExpectedAuthor>>;
  readonly lines: ReadonlyMap<string, ExpectedLine>;
  /** What became mail: author by author, chained lines by `seq`, then unchained ones as they were taken. */
  readonly delivered: readonly string[];
  /** What heads show once everything refused was named (next 3.2.2), without `read`. */
  readonly heads: Readonly<Record<string, SeqId>>;
  /** What is wanted once all carriers were read to their end, without the limits of next 3.2.4; sorted. */
  readonly wants: readonly Want[];
}

const MINUTE_MS = 60_000;
const GAP_MS = 10 * MINUTE_MS;
const CLOCK_WAIT_MS = 15 * MINUTE_MS;
const NEVER_MAIL = ["heartbeat", "agent_card", "trust_tier_announcement"];

// --- One line by itself (next 1.2 to 1.6) ---

/** A line that is a JSON object within the limits. */
interface Reading {
  readonly fields: JsonObject;
  readonly id: string;
  readonly author: string | undefined;
  readonly isChained: boolean;
  readonly seq: number | null;
  readonly prev: string | null;
  readonly type: string;
  /** Undefined: absent. */
  readonly to: readonly string[] | undefined;
  readonly body: JsonValue;
  readonly timestampMs: number | undefined;
  readonly keyId: string | undefined;
  readonly signature: Uint8Array | undefined;
  /** What the signature has to cover: the id as bytes (v3.1), or the canonical form (v3.0). */
  readonly signedBytes: Uint8Array;
  readonly hasBrokenSchema: boolean;
  readonly hasKindMismatch: boolean;
}

const KINDS: Readonly<Record<string, number>> = {
  decision: 1,
  heartbeat: 100,
  claim: 1100,
  release: 1101,
  ship: 1200,
  warning: 1201,
  request: 1210,
  feedback: 1300,
  incident: 1400,
  ack: 1500,
  proposal: 1600,
  correction: 1700,
  shutdown: 1800,
  agent_card: 10000,
  trust_tier_announcement: 10001,
};
const OTHER_SPELLINGS: Readonly<Record<string, string>> = {
  shutdown_request: "request",
  shutdown_response: "ack",
  plan_approval_response: "ack",
};
const HANDLE = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/u;
const ID = /^[0-9a-f]{64}$/u;

const isText = (value: JsonValue | undefined): value is string => typeof value === "string";
const isSeq = (value: JsonValue | undefined): value is number =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 1;
const isId = (value: JsonValue | undefined): value is string => isText(value) && ID.test(value);
const own = (object: JsonObject, key: string): JsonValue | undefined =>
  Object.hasOwn(object, key) ? object[key] : undefined;

/** A handle in either spelling (next 1.1). */
function readHandle(value: JsonValue | undefined): string | undefined {
  const plain = isText(value) ? value.replace(/^did:wire:/u, "") : "";
  return HANDLE.test(plain) ? plain : undefined;
}

/** The type with which a line is read (next 1.3): of `type` and `kind` the first that is there. */
function readType(fields: JsonObject): string {
  const type = own(fields, "type");
  const kind = own(fields, "kind");
  if (isText(type)) return OTHER_SPELLINGS[type] ?? type;
  return Object.keys(KINDS).find((name) => KINDS[name] === kind) ?? `kind:${Number(kind)}`;
}

const readings = new WeakMap<Uint8Array, Reading | "oversized" | "malformed">();

function readLine(bytes: Uint8Array): Reading | "oversized" | "malformed" {
  const known = readings.get(bytes);
  if (known !== undefined) return known;
  const reading = readLineAnew(bytes);
  readings.set(bytes, reading);
  return reading;
}

function readLineAnew(bytes: Uint8Array): Reading | "oversized" | "malformed" {
  if (bytes.length > 1_048_576) return "oversized";
  const parsed = parseObject(bytes);
  if (!parsed.ok) return "malformed";
  const fields = parsed.value;
  const id = sha256Hex(canonicalBytes(fields, ["event_id", "public_key_id", "signature"]));
  const isChained = Object.hasOwn(fields, "seq");
  const seq = own(fields, "seq");
  const prev = own(fields, "prev");
  const hasPlace = isSeq(seq) && (seq === 1 ? prev === undefined : isId(prev));
  const to = own(fields, "to");
  const timestamp = own(fields, "timestamp");
  const keyId = own(fields, "public_key_id");
  const signature = own(fields, "signature");
  const type = own(fields, "type");
  const kind = own(fields, "kind");
  const kindByType = isText(type) ? KINDS[OTHER_SPELLINGS[type] ?? type] : undefined;
  return {
    fields,
    id,
    author: readHandle(own(fields, "from")),
    isChained,
    seq: isSeq(seq) ? seq : null,
    prev: isId(prev) ? prev : null,
    type: readType(fields),
    to: isJsonArray(to) && to.every(isText) ? to : undefined,
    body: own(fields, "body") ?? null,
    timestampMs: isText(timestamp) ? parseTimestamp(timestamp) : undefined,
    keyId: isText(keyId) ? keyId : undefined,
    signature: isText(signature) ? decodeSignature(signature) : undefined,
    signedBytes: Object.hasOwn(fields, "event_id")
      ? Buffer.from(id, "hex")
      : canonicalBytes(fields, V30_OMIT),
    hasBrokenSchema: schemaProblem(fields) !== undefined || (isChained && !hasPlace),
    hasKindMismatch: kindByType !== undefined && kind !== undefined && kind !== kindByType,
  };
}

/** The handle of a key id ends at the first colon (next 1.5). */
const namesAuthor = ({ keyId, author }: Reading): boolean =>
  keyId?.split(":")[0] === author && author !== undefined && keyId?.includes(":") === true;

const hasWrongId = ({ fields, id }: Reading): boolean =>
  Object.hasOwn(fields, "event_id") && own(fields, "event_id") !== id;

/** A chained line that may be authentic (next 1.6). */
function isSound(reading: Reading, wireId: string): boolean {
  const { fields, author, isChained, seq, prev, signature } = reading;
  return (
    isChained &&
    author !== undefined &&
    own(fields, "wire") === wireId &&
    !Object.hasOwn(fields, "log") &&
    seq !== null &&
    (seq === 1 ? !Object.hasOwn(fields, "prev") : prev !== null) &&
    !hasWrongId(reading) &&
    namesAuthor(reading) &&
    signature !== undefined
  );
}

// --- Keys (next 1.5, 1.6, 2.1) ---

interface Key {
  readonly keyId: string;
  readonly base64: string;
  readonly bytes: Uint8Array;
}

/** A key that may be pinned or named for the author. */
function readKey(author: string, base64: string): Key | undefined {
  const bytes = decodeKey(base64);
  if (bytes === undefined || !isAcceptableKey(bytes)) return undefined;
  return { keyId: keyIdOf(author, bytes), base64, bytes };
}

const checked = new WeakMap<Reading, Map<string, boolean>>();

/** Whether the key that this copy names is this one, and its signature is valid under it. */
function isSignedWith(reading: Reading, key: Key): boolean {
  if (reading.signature === undefined || reading.keyId !== key.keyId) return false;
  const known = checked.get(reading) ?? new Map<string, boolean>();
  checked.set(reading, known);
  const verdict =
    known.get(key.base64) ?? verifySignature(key.bytes, reading.signedBytes, reading.signature);
  known.set(key.base64, verdict);
  return verdict;
}

/** The key that a line names (next 2.5). */
function keyNamedBy(author: string, { type, body }: Reading): Key | undefined {
  if (type !== "proposal" || !isJsonObject(body) || own(body, "action") !== "add_key")
    return undefined;
  const base64 = own(body, "key");
  const key = isText(base64) ? readKey(author, base64) : undefined;
  return key?.keyId === own(body, "key_id") ? key : undefined;
}

// --- What is held of one author (next 1.6) ---

/** A chained line that is authentic, with all copies of it that were found. */
interface Line {
  readonly author: string;
  readonly seq: number;
  readonly id: string;
  readonly prev: string | null;
  readonly reading: Reading;
  /** The keys under which some copy is valid; none when a later line alone vouches for it. */
  readonly signers: readonly Key[];
}

interface Revocation {
  readonly keyId: string;
  /** Null: the key was never good. */
  readonly last: SeqId | null;
}

/** What the operator has said of an author, and what revocations its own lines brought. */
interface Standing {
  agent: PinnedAgent | undefined;
  readonly revokedByOperator: Revocation[];
  /** By the id of the line: believed once, it counts for good. */
  readonly revokedByLines: Map<string, Revocation>;
  readonly followed: SeqId[];
  /** The last good place of the latest revocation, until a new key was compared. */
  heldAfter: SeqId | null | undefined;
}

interface Chain {
  readonly author: string;
  readonly lines: readonly Line[];
  readonly byId: ReadonlyMap<string, Line>;
  readonly linked: ReadonlySet<Line>;
  readonly struck: ReadonlySet<Line>;
  readonly against: ReadonlySet<Line>;
  readonly whole: Line | undefined;
  readonly forkAt: number | null;
  readonly believed: ReadonlySet<Line>;
  readonly knownKeys: readonly Key[];
}

const NO_AGENT: PinnedAgent = {
  tier: "UNTRUSTED",
  isBlocked: false,
  isUnchainedAllowed: false,
  isUnsignedAllowed: false,
  keys: [],
};

const agentOf = (standing: Standing | undefined): PinnedAgent => standing?.agent ?? NO_AGENT;

/** The authentic lines of an author: the smallest set that next 1.6 describes. */
function authenticLines(
  author: string,
  agent: PinnedAgent,
  copies: readonly Reading[],
): { readonly lines: readonly Line[]; readonly keys: readonly Key[] } {
  const keys = new Map<string, Key>();
  for (const { key } of agent.keys) addKey(readKey(author, key));
  const authentic = new Map<string, Reading>();
  for (let before = -1; before < authentic.size + keys.size;) {
    before = authentic.size + keys.size;
    const vouchedFor = new Set(
      [...authentic.values()].map(({ seq, prev }) => `${(seq ?? 0) - 1} ${prev}`),
    );
    for (const copy of copies) {
      const isSigned = [...keys.values()].some((key) => isSignedWith(copy, key));
      if (!isSigned && !vouchedFor.has(`${copy.seq} ${copy.id}`)) continue;
      authentic.set(copy.id, copy);
      addKey(keyNamedBy(author, copy));
    }
  }
  const lines = [...authentic.values()].map((reading): Line => {
    const { id, seq, prev } = reading;
    const ofLine = copies.filter((copy) => copy.id === id);
    const signers = [...keys.values()].filter((key) =>
      ofLine.some((copy) => isSignedWith(copy, key)),
    );
    return { author, seq: seq ?? 0, id, prev, reading, signers };
  });
  return { lines: lines.toSorted(bySeq), keys: [...keys.values()] };

  function addKey(key: Key | undefined): void {
    if (key !== undefined) keys.set(key.base64, key);
  }
}

const bySeq = (a: Line, b: Line): number => a.seq - b.seq || (a.id < b.id ? -1 : 1);

/** The line before, when it is held. */
const before = (byId: ReadonlyMap<string, Line>, line: Line): Line | undefined => {
  const previous = line.prev === null ? undefined : byId.get(line.prev);
  return previous?.seq === line.seq - 1 ? previous : undefined;
};

/** All that `prev` leads to, the line itself first. */
function branchOf(byId: ReadonlyMap<string, Line>, line: Line): readonly Line[] {
  const branch: Line[] = [];
  for (let at: Line | undefined = line; at !== undefined; at = before(byId, at)) branch.push(at);
  return branch;
}

/** The ids at each `seq` that the branch of a line is known to have, also the first one that is not held. */
function placesBelow(byId: ReadonlyMap<string, Line>, line: Line): ReadonlyMap<number, string> {
  const branch = branchOf(byId, line);
  const places = new Map(branch.map(({ seq, id }) => [seq, id]));
  const lowest = branch.at(-1);
  if (lowest !== undefined && lowest.prev !== null) places.set(lowest.seq - 1, lowest.prev);
  return places;
}

/** What is held and linked at a place. */
function lineAt(chain: Chain, place: SeqId): Line | undefined {
  const line = chain.byId.get(place[1]);
  return line !== undefined && line.seq === place[0] && chain.linked.has(line) ? line : undefined;
}

/** The lines that revocations strike, with what descends from them (next 1.6). */
function struckLines(
  lines: readonly Line[],
  byId: ReadonlyMap<string, Line>,
  revocations: readonly Revocation[],
): ReadonlySet<Line> {
  const isHit = (line: Line, { last }: Revocation): boolean => {
    if (last === null || line.seq > last[0]) return true;
    const lastLine = byId.get(last[1]);
    if (line.seq === last[0]) return line.id !== last[1];
    const good = lastLine === undefined ? undefined : placesBelow(byId, lastLine).get(line.seq);
    return good !== undefined && good !== line.id;
  };
  const struck = new Set<Line>();
  // By rising `seq`: what a line descends from was looked at before it.
  for (const line of lines) {
    const previous = before(byId, line);
    const isDirectlyHit =
      line.signers.length > 0 &&
      line.signers.every(({ keyId }) =>
        revocations.some((revocation) => revocation.keyId === keyId && isHit(line, revocation)),
      );
    if (isDirectlyHit || (previous !== undefined && struck.has(previous))) struck.add(line);
  }
  return struck;
}

/** Lines that are on another branch than a place that the operator follows (next 1.6). */
function linesAgainst(
  lines: readonly Line[],
  byId: ReadonlyMap<string, Line>,
  followed: readonly SeqId[],
): ReadonlySet<Line> {
  const branches = followed.flatMap(([, id]) => {
    const line = byId.get(id);
    return line === undefined ? [] : [placesBelow(byId, line)];
  });
  return new Set(
    lines.filter((line) =>
      branches.some((branch) =>
        [...placesBelow(byId, line)].some(([seq, id]) => (branch.get(seq) ?? id) !== id),
      ),
    ),
  );
}

/** The lines that are believed for their key (next 2.1). */
function believedLines(
  lines: readonly Line[],
  byId: ReadonlyMap<string, Line>,
  agent: PinnedAgent,
  struck: ReadonlySet<Line>,
): ReadonlySet<Line> {
  const believed = new Set<Line>();
  for (const line of lines) {
    if (struck.has(line)) continue;
    const pins = agent.keys.filter((pin) => line.signers.some(({ base64 }) => base64 === pin.key));
    if (pins.some(({ isActive }) => isActive)) {
      for (const vouched of branchOf(byId, line)) believed.add(vouched);
    }
    const isBelow = ({ isActive, last }: PinnedKey): boolean => {
      const lastLine = isActive || last === null ? undefined : byId.get(last[1]);
      return lastLine !== undefined && branchOf(byId, lastLine).includes(line);
    };
    if (pins.some(isBelow)) believed.add(line);
  }
  return believed;
}

/** A `correction` that revokes a key of its author (next 2.5). */
function revocationIn(byId: ReadonlyMap<string, Line>, line: Line): Revocation | undefined {
  const { type, body } = line.reading;
  if (type !== "correction" || !isJsonObject(body)) return undefined;
  const keyId = own(body, "revokes");
  const last = own(body, "last");
  if (!isText(keyId) || !isJsonArray(last) || last.length !== 2) return undefined;
  const [seq, id] = last;
  if (!isSeq(seq) || !isId(id)) return undefined;
  const isOnBranch = branchOf(byId, line)
    .slice(1)
    .some((earlier) => earlier.seq === seq && earlier.id === id);
  const isByAnotherKey = line.signers.some((signer) => signer.keyId !== keyId);
  return isOnBranch && isByAnotherKey ? { keyId, last: [seq, id] } : undefined;
}

/** What is held of an author's chain. Adds to the standing what its lines revoke. */
function readChain(author: string, standing: Standing, copies: readonly Reading[]): Chain {
  const agent = agentOf(standing);
  const { lines, keys } = authenticLines(author, agent, copies);
  const byId = new Map(lines.map((line) => [line.id, line]));
  const linked = new Set(lines.filter((line) => branchOf(byId, line).some(({ seq }) => seq === 1)));
  const { revokedByOperator, revokedByLines } = standing;

  // What other lines of the author revoke takes no revocation back.
  const struckByOperator = struckLines(lines, byId, revokedByOperator);
  const against = linesAgainst(lines, byId, standing.followed);
  revokedByLines.clear();
  for (const line of believedLines(lines, byId, agent, struckByOperator)) {
    const revocation =
      linked.has(line) && !against.has(line) ? revocationIn(byId, line) : undefined;
    if (revocation !== undefined && !revokedByLines.has(line.id))
      revokedByLines.set(line.id, revocation);
  }
  const revocations = [...revokedByOperator, ...revokedByLines.values()];
  const struck = struckLines(lines, byId, revocations);

  const counted = lines.filter((line) => !struck.has(line) && !against.has(line));
  let whole: Line | undefined;
  let forkAt: number | null = null;
  for (;;) {
    const seq: number = (whole?.seq ?? 0) + 1;
    const next = counted.filter((line) => line.seq === seq);
    const [line] = next;
    if (line === undefined) break;
    if (next.length > 1 || line.prev !== (whole?.id ?? null)) {
      forkAt = seq;
      break;
    }
    whole = line;
  }
  // Further on two lines with one `seq` are a fork as well, while a gap is below them.
  const twin = counted.find((line, index) => line.seq === counted[index + 1]?.seq);
  return {
    author,
    lines,
    byId,
    linked,
    struck,
    against,
    whole,
    forkAt: forkAt ?? twin?.seq ?? null,
    believed: believedLines(lines, byId, agent, struck),
    knownKeys: keys,
  };
}

// --- What was found, and unchained lines (next 1.5, 1.8, 2.4) ---

interface Found {
  readonly reading: Reading;
  readonly carrier: Carrier;
  readonly isHistorical: boolean;
  /** Policy took unsigned lines of its author when it was found. */
  readonly isUnsignedTaken: boolean;
}

/** An unchained line that is held. */
interface Loose {
  readonly author: string;
  readonly id: string;
  readonly reading: Reading;
  readonly signers: readonly Key[];
  readonly to: readonly string[];
}

/** Whether policy takes an unsigned line of this author now (next 1.5). */
function isUnsignedTaken(policy: ReaderPolicy, author: string, agent: PinnedAgent): boolean {
  const isAllowed = !policy.enforceSigned || policy.allowUnsignedFrom.includes(author);
  return isAllowed && (agent.keys.length === 0 || agent.isUnsignedAllowed);
}

/**
 * The reasons of next 2.4 that depend on no other line of a chain and no clock, in their order, each with
 * whether the line is out for it. `keys` are those under which a line of the author is authentic.
 */
function reasonsAgainst(
  found: Found,
  wireId: string,
  handles: ReadonlySet<string>,
  keys: readonly Key[],
): readonly { readonly reason: Reason; readonly isOut: boolean }[] {
  const { reading, carrier } = found;
  const { fields, author, isChained, to } = reading;
  const hasKeyId = Object.hasOwn(fields, "public_key_id");
  const hasSignature = Object.hasOwn(fields, "signature");
  const isSigned = hasKeyId && hasSignature;
  const hasWire = Object.hasOwn(fields, "wire");
  const isOfOtherWire = hasWire && own(fields, "wire") !== wireId;
  const others = to?.filter((handle) => handle !== author && handles.has(handle)) ?? [];
  const isReplayed =
    !isChained &&
    carrier.reader !== null &&
    to?.some((handle) => handle === "*" || handle === carrier.reader) === false &&
    others.length > 0;
  const checks: readonly (readonly [Reason, boolean, "out" | "stored"])[] = [
    ["schema", reading.hasBrokenSchema, isSound(reading, wireId) ? "stored" : "out"],
    ["kind_mismatch", reading.hasKindMismatch, "stored"],
    ["wrong_file", !isChained && author !== carrier.owner, "out"],
    ["unsigned", !isSigned && (hasKeyId || hasSignature || isChained), "out"],
    ["unsigned", !isSigned && !found.isUnsignedTaken, "out"],
    ["event_id_mismatch", hasWrongId(reading), "out"],
    ["from_mismatch", hasKeyId && !namesAuthor(reading), "out"],
    ["untrusted_key", isSigned && !keys.some(({ keyId }) => keyId === reading.keyId), "out"],
    ["invalid_signature", isSigned && !keys.some((key) => isSignedWith(reading, key)), "out"],
    [
      "wrong_wire",
      isOfOtherWire || (isChained && (!hasWire || Object.hasOwn(fields, "log"))),
      "out",
    ],
    ["replayed", isReplayed, "out"],
  ];
  return checks.flatMap(([reason, applies, effect]) =>
    applies ? [{ reason, isOut: effect === "out" }] : [],
  );
}

// --- The reader ---

/** What is carried from one event to the next: what was found and said, and what is final. */
interface Memory {
  readonly found: Found[];
  readonly standings: Map<string, Standing>;
  readonly verdicts: Map<string, Verdict>;
  /** When a line was first held: its receipt time (next 2.4), and the order of unchained lines. */
  readonly receipts: Map<
    string,
    { readonly atMs: number; readonly event: number; readonly order: number }
  >;
  /** Since when lines of an author are ahead of a gap. */
  readonly gapSince: Map<string, number>;
  hasCaughtUp: boolean;
}

/** What follows from what was found and said until now. */
interface Holding {
  readonly chains: ReadonlyMap<string, Chain>;
  readonly loose: readonly Loose[];
  readonly historical: ReadonlySet<string>;
  /** Without a leave or a change the roster in force is the pinned one, and finding it would take long. */
  readonly hasRosterLines: boolean;
}

/** What the reader holds, believes and delivers after each of the events (next 1.6, 1.8, 2.1, 2.4, 2.5). */
export function expectedOf(reader: Reader, events: readonly ReaderEvent[]): readonly Expected[] {
  const memory: Memory = {
    found: [],
    standings: new Map(
      Object.entries(reader.agents).map(([author, agent]) => [author, newStanding(agent)]),
    ),
    verdicts: new Map(),
    receipts: new Map(),
    gapSince: new Map(),
    hasCaughtUp: !events.some(({ kind }) => kind === "caught-up"),
  };
  let holding = hold(reader, memory, undefined, undefined);
  return events.map((event, index): Expected => {
    const isIgnored = !applyEvent(reader, memory, holding, event);
    holding = hold(reader, memory, holding, authorIn(event));
    judgeAll(reader, memory, holding, event.atMs, index);
    return describe(reader, memory, holding, event, index, isIgnored);
  });
}

const newStanding = (agent: PinnedAgent | undefined): Standing => ({
  agent,
  revokedByOperator: [],
  revokedByLines: new Map(),
  followed: [],
  heldAfter: undefined,
});

function standingOf(memory: Memory, author: string): Standing {
  const standing = memory.standings.get(author) ?? newStanding(undefined);
  memory.standings.set(author, standing);
  return standing;
}

/** Returns false for an act of the operator that has no effect. */
function applyEvent(reader: Reader, memory: Memory, holding: Holding, event: ReaderEvent): boolean {
  if (event.kind === "clock") return true;
  if (event.kind === "caught-up") {
    memory.hasCaughtUp = true;
    return true;
  }
  if (event.kind === "found") {
    const { carrier, line, isHistorical } = event;
    const reading = readLine(line);
    if (typeof reading === "string") return true;
    const author = reading.author ?? "";
    const agent = agentOf(memory.standings.get(author));
    const isTaken = isUnsignedTaken(reader.policy, author, agent);
    memory.found.push({ reading, carrier, isHistorical, isUnsignedTaken: isTaken });
    return true;
  }
  const standing = standingOf(memory, event.author);
  const chain = holding.chains.get(event.author);
  const agent = agentOf(standing);
  const { keys } = agent;
  const change = (changed: Partial<PinnedAgent>): true => {
    standing.agent = { ...agent, ...changed };
    return true;
  };
  const revoked = [...standing.revokedByOperator, ...standing.revokedByLines.values()];
  switch (event.kind) {
    case "tier":
      return change({ tier: event.tier });
    case "block":
      return change({ isBlocked: event.isBlocked });
    case "pin": {
      if (readKey(event.author, event.key) === undefined) return false;
      if (keys.some(({ key }) => key === event.key)) return false;
      return change({ keys: [...keys, { key: event.key, isActive: true, last: null }] });
    }
    case "verify": {
      const key = readKey(event.author, event.key);
      if (key === undefined || revoked.some(({ keyId }) => keyId === key.keyId)) return false;
      const others = keys
        .filter((pin) => pin.key !== event.key)
        .map((pin) => ({ ...pin, isActive: false }));
      standing.heldAfter = undefined;
      return change({
        tier: agent.tier === "UNTRUSTED" ? "VERIFIED" : agent.tier,
        keys: [...others, { key: event.key, isActive: true, last: null }],
      });
    }
    case "deactivate": {
      const pin = keys.find(
        ({ key, isActive }) => isActive && readKey(event.author, key)?.keyId === event.keyId,
      );
      if (pin === undefined) return false;
      const others = keys.filter((other) => other !== pin);
      return change({ keys: [...others, { ...pin, isActive: false, last: event.last }] });
    }
    case "revoke": {
      const key = chain?.knownKeys.find(({ keyId }) => keyId === event.keyId);
      if (key === undefined || standing.revokedByOperator.some(({ keyId }) => keyId === key.keyId))
        return false;
      const whole = chain?.whole;
      const wholePlace: SeqId | null = whole === undefined ? null : [whole.seq, whole.id];
      const last = event.last === undefined ? wholePlace : event.last;
      const lastLine = last === null || chain === undefined ? undefined : lineAt(chain, last);
      if (last !== null && (lastLine === undefined || !isCounted(chain, lastLine))) return false;
      standing.revokedByOperator.push({ keyId: key.keyId, last });
      standing.heldAfter = last;
      const others = keys.filter((other) => other.key !== key.base64);
      return change({
        tier: "UNTRUSTED",
        keys: [...others, { key: key.base64, isActive: false, last }],
      });
    }
    case "follow": {
      const line = chain === undefined ? undefined : lineAt(chain, event.place);
      if (chain === undefined || chain.forkAt === null || line === undefined) return false;
      if (!isCounted(chain, line)) return false;
      standing.followed.push(event.place);
      return true;
    }
  }
}

/** Neither struck nor decided against. */
const isCounted = (chain: Chain | undefined, line: Line): boolean =>
  chain?.struck.has(line) === false && !chain.against.has(line);

/** The one author of whom an event can change what is held. */
function authorIn(event: ReaderEvent): string | undefined {
  if (event.kind === "clock" || event.kind === "caught-up") return undefined;
  if (event.kind !== "found") return event.author;
  const reading = readLine(event.line);
  return typeof reading === "string" ? undefined : reading.author;
}

/** All lines that are held, anew from what was found; those of other authors than this one are as before. */
function hold(
  reader: Reader,
  memory: Memory,
  earlier: Holding | undefined,
  changed: string | undefined,
): Holding {
  const { found, standings } = memory;
  const authors = new Set(found.flatMap(({ reading }) => reading.author ?? []));
  for (const author of standings.keys()) authors.add(author);
  const chains = new Map<string, Chain>();
  for (const author of [...authors].toSorted()) {
    const chain = author === changed ? undefined : earlier?.chains.get(author);
    if (chain !== undefined) {
      chains.set(author, chain);
      continue;
    }
    const copies = found
      .map(({ reading }) => reading)
      .filter((reading) => reading.author === author && isSound(reading, reader.wireId));
    chains.set(author, readChain(author, standingOf(memory, author), copies));
  }

  const loose = new Map<string, Loose>();
  for (const one of found) {
    const { author, id, isChained, to } = one.reading;
    if (author === undefined || isChained || loose.has(id)) continue;
    if (author !== changed && earlier !== undefined) {
      const known = earlier.loose.find((line) => line.id === id);
      if (known !== undefined) loose.set(id, known);
      continue;
    }
    const keys = pinnedKeys(memory, author);
    const copies = found.filter(({ reading }) => reading.id === id);
    const taken = copies.filter((copy) =>
      reasonsAgainst(copy, reader.wireId, knownHandles(reader), keys).every(({ isOut }) => !isOut),
    );
    const [first] = taken;
    if (first === undefined) continue;
    const readers = copies.flatMap(({ carrier }) =>
      carrier.owner === author && carrier.reader !== null ? [carrier.reader] : [],
    );
    loose.set(id, {
      author,
      id,
      reading: first.reading,
      signers: keys.filter((key) => taken.some(({ reading }) => isSignedWith(reading, key))),
      to: to ?? readers,
    });
  }
  const historical = found.filter(({ isHistorical }) => isHistorical);
  const chained = [...chains.values()].flatMap(({ lines }) => lines);
  return {
    hasRosterLines: [...chained, ...loose.values()].some((line) => {
      const modelLine = asModelLine(line);
      return isLeave(modelLine) || isChange(modelLine);
    }),
    chains,
    loose: [...loose.values()],
    historical: new Set(historical.map(({ reading }) => reading.id)),
  };
}

function pinnedKeys(memory: Memory, author: string): readonly Key[] {
  return agentOf(memory.standings.get(author)).keys.flatMap(
    ({ key }) => readKey(author, key) ?? [],
  );
}

/** Those whose files the reader knows (next 1.9). */
const knownHandles = (reader: Reader): ReadonlySet<string> => new Set(reader.roster);

// --- Verdicts (next 2.4) ---

const asVerdict = (reason: Reason, event: number): Verdict => ({ is: "refused", event, reason });

/** A verdict that no later event changes. */
function isFinal(verdict: Verdict | undefined, isChained: boolean): boolean {
  if (verdict === undefined || verdict.is === "waits") return false;
  if (verdict.is === "refused") return verdict.reason !== "untrusted_key";
  // A copy in another file of its author may make an unchained line one for us (next 1.8).
  return verdict.is !== "accepted" || isChained;
}

function judgeAll(
  reader: Reader,
  memory: Memory,
  holding: Holding,
  nowMs: number,
  event: number,
): void {
  const { chains, loose } = holding;
  const lines = [...chains.values()].flatMap((chain) => chain.lines);
  for (const { id } of [...lines, ...loose]) {
    if (!memory.receipts.has(id))
      memory.receipts.set(id, { atMs: nowMs, event, order: memory.receipts.size });
  }
  for (const chain of chains.values()) {
    const { author, lines: chained, linked } = chain;
    const hasGap = chained.some((line) => !linked.has(line) && isCounted(chain, line));
    if (!hasGap) memory.gapSince.delete(author);
    else if (!memory.gapSince.has(author)) memory.gapSince.set(author, nowMs);
  }
  const judge = (id: string, isChained: boolean, judged: () => Verdict): void => {
    const earlier = memory.verdicts.get(id);
    if (isFinal(earlier, isChained)) return;
    const verdict = judged();
    if (JSON.stringify({ ...earlier, event }) === JSON.stringify({ ...verdict, event })) return;
    memory.verdicts.set(id, verdict);
  };
  for (const chain of chains.values()) {
    for (const line of chain.lines) {
      judge(line.id, true, () =>
        judgeChained({ reader, memory, holding, nowMs, event }, chain, line),
      );
    }
  }
  for (const line of loose) {
    judge(line.id, false, () => judgeLoose({ reader, memory, holding, nowMs, event }, line));
  }
}

interface Moment {
  readonly reader: Reader;
  readonly memory: Memory;
  readonly holding: Holding;
  readonly nowMs: number;
  readonly event: number;
}

function judgeChained(moment: Moment, chain: Chain, line: Line): Verdict {
  const { reader, memory, event } = moment;
  const { author, reading } = line;
  if (author === reader.handle) return { is: "own" };
  const standing = standingOf(memory, author);
  const isStruck = chain.struck.has(line);
  const isAgainst = chain.against.has(line);
  if (isHistoricalYet(moment, line.id)) return { is: "waits", for: "first reading" };
  if (!isStruck && !isAgainst) {
    if (chain.forkAt !== null && line.seq >= chain.forkAt) return { is: "waits", for: "fork" };
    if (isHeldAfter(chain, standing, line)) return { is: "waits", for: "revoked" };
    const gapSince = memory.gapSince.get(author) ?? moment.nowMs;
    if (!chain.linked.has(line) && moment.nowMs < gapSince + GAP_MS)
      return { is: "waits", for: "gap" };
  }
  if (reading.hasBrokenSchema) return asVerdict("schema", event);
  if (reading.hasKindMismatch) return asVerdict("kind_mismatch", event);
  if (isStruck) return asVerdict("untrusted_key", event);
  if (!chain.believed.has(line)) {
    return isKeyOver(chain, agentOf(standing), line)
      ? asVerdict("untrusted_key", event)
      : { is: "waits", for: "key" };
  }
  if (!membersAt(moment, line).has(author)) return asVerdict("left_member", event);
  if (isAgainst) return asVerdict("log_forked", event);
  const later = chain.lines.filter(
    (other) => other !== line && branchOf(chain.byId, other).includes(line),
  );
  return (
    judgeClock(moment, line, later) ??
    judgeContent(moment, reading, reading.to ?? ["*"], author, !chain.linked.has(line))
  );
}

function judgeLoose(moment: Moment, line: Loose): Verdict {
  const { reader, memory, holding, event } = moment;
  const { author, reading, signers } = line;
  if (author === reader.handle) return { is: "own" };
  const standing = standingOf(memory, author);
  const agent = agentOf(standing);
  const chain = holding.chains.get(author);
  if (isHistoricalYet(moment, line.id)) return { is: "waits", for: "first reading" };
  const revocations = [...standing.revokedByOperator, ...standing.revokedByLines.values()];
  const isSigned = signers.length > 0;
  const isActive = ({ keyId, base64 }: Key): boolean =>
    agent.keys.some((pin) => pin.key === base64 && pin.isActive) &&
    !revocations.some((revocation) => revocation.keyId === keyId);
  const isBelieved = !isSigned || signers.some(isActive);
  if (isBelieved && chain !== undefined && chain.forkAt !== null)
    return { is: "waits", for: "fork" };
  if (isBelieved && standing.heldAfter !== undefined) return { is: "waits", for: "revoked" };
  if (reading.hasKindMismatch) return asVerdict("kind_mismatch", event);
  if (!isBelieved) return asVerdict("untrusted_key", event);
  const isChaining = (chain?.lines.length ?? 0) > 0;
  if (isSigned && isChaining && !agent.isUnchainedAllowed && reading.type !== "heartbeat")
    return asVerdict("unchained", event);
  if (!membersAt(moment, line).has(author)) return asVerdict("left_member", event);
  const orderOf = ({ id }: { readonly id: string }): number => memory.receipts.get(id)?.order ?? 0;
  const later = holding.loose.filter(
    (other) => other.author === author && orderOf(other) > orderOf(line),
  );
  return judgeClock(moment, line, later) ?? judgeContent(moment, reading, line.to, author, false);
}

/** The first reading has not ended, so nobody knows the roster in force then (13 of next 2.4). */
const isHistoricalYet = ({ memory, holding }: Moment, id: string): boolean =>
  !memory.hasCaughtUp && holding.historical.has(id);

/** A key of the author was revoked, and the line is behind the last good place (next 2.4). */
function isHeldAfter(chain: Chain, { heldAfter }: Standing, line: Line): boolean {
  if (heldAfter === undefined) return false;
  const last = heldAfter === null ? undefined : chain.byId.get(heldAfter[1]);
  return last === undefined || !branchOf(chain.byId, last).includes(line);
}

/**
 * Whether no key of a line that is not believed can become so by lines that are missing: each was deactivated
 * with a `last` which is held and does not descend from the line.
 */
function isKeyOver(chain: Chain, agent: PinnedAgent, line: Line): boolean {
  return (
    line.signers.length > 0 &&
    line.signers.every(({ base64 }) => {
      const pin = agent.keys.find(({ key }) => key === base64);
      return pin?.isActive === false && pin.last !== null && lineAt(chain, pin.last) !== undefined;
    })
  );
}

/** The members of the roster in force (next 3.11), as it is without the line and what descends from it. */
function membersAt({ reader, holding }: Moment, judged: Line | Loose): ReadonlySet<string> {
  if (!holding.hasRosterLines) return new Set(reader.roster);
  const pinned = {
    wireId: reader.wireId,
    roster: reader.roster,
    unchained: reader.unchained,
    epoch: reader.epoch,
  };
  const lines = [...holding.chains.values()].flatMap(({ byId, lines: chained }) =>
    chained.filter((line) => !branchOf(byId, line).some(({ id }) => id === judged.id)),
  );
  const findings = findingsOf(pinned, [...lines, ...holding.loose].map(asModelLine));
  return new Set(Object.keys(findings.roster.members));
}

function asModelLine({ author, id, reading, signers }: Line | Loose): ModelLine {
  const textIn = (key: string): string | undefined => {
    const value = own(reading.fields, key);
    return isText(value) ? value : undefined;
  };
  return {
    author,
    id,
    seq: reading.seq,
    prev: reading.prev,
    timestamp: textIn("timestamp") ?? "",
    thread: textIn("correlation_id"),
    type: reading.type,
    to: reading.to,
    body: reading.body,
    isSigned: reading.seq !== null || signers.length > 0,
  };
}

/** Number 16 of next 2.4; undefined when the line is not dated ahead, or no longer. */
function judgeClock(
  { reader, memory, holding, nowMs, event }: Moment,
  line: Line | Loose,
  later: readonly (Line | Loose)[],
): Verdict | undefined {
  const skewMs = reader.policy.max_clock_skew_seconds * 1_000;
  const receivedMs = ({ id }: Line | Loose): number => memory.receipts.get(id)?.atMs ?? nowMs;
  /** From when on our clock shows that it is not dated ahead. */
  const rightFromMs = ({ id, reading }: Line | Loose): number =>
    holding.historical.has(id) ? -Infinity : (reading.timestampMs ?? 0) - skewMs;
  const endMs = receivedMs(line) + CLOCK_WAIT_MS;
  if (rightFromMs(line) <= Math.min(nowMs, endMs)) return undefined;
  const isFollowed = later.some(
    (other) => receivedMs(other) < endMs && rightFromMs(other) <= receivedMs(other),
  );
  if (isFollowed) return undefined;
  return nowMs < endMs ? { is: "waits", for: "clock" } : asVerdict("clock_skew", event);
}

/** Numbers 18 to 20 of next 2.4, and what becomes of a line that passes. */
function judgeContent(
  { reader, memory, event }: Moment,
  { type, body, fields }: Reading,
  to: readonly string[],
  author: string,
  isAfterGap: boolean,
): Verdict {
  const { tier, isBlocked } = agentOf(memory.standings.get(author));
  const isNeverMail = NEVER_MAIL.includes(type);
  if (isBlocked) return asVerdict("tier_refused", event);
  if (tier === "UNTRUSTED" && !isNeverMail) return { is: "waits", for: "tier" };
  if (tier === "VERIFIED" && type === "claim") return asVerdict("tier_refused", event);
  const bodyBytes = Buffer.byteLength(canonicalText(body));
  if (tier !== "TRUSTED" && bodyBytes > reader.policy.max_message_body_kb * 1_024)
    return asVerdict("body_too_large", event);
  const refs = own(fields, "refs");
  if (isJsonArray(refs) && refs.length > reader.policy.max_refs)
    return asVerdict("too_many_refs", event);
  if (isNeverMail || !isForUs(reader, to)) return { is: "accepted", event };
  return { is: "mail", event, isAfterGap };
}

const isForUs = (reader: Reader, to: readonly string[]): boolean =>
  to.includes("*") || to.includes(reader.handle);

// --- What is shown ---

const idsOf = (lines: Iterable<Line>): readonly string[] =>
  [...lines].toSorted(bySeq).map(({ id }) => id);

function describe(
  reader: Reader,
  memory: Memory,
  holding: Holding,
  event: ReaderEvent,
  index: number,
  isIgnored: boolean,
): Expected {
  const chains = [...holding.chains.values()];
  const loose = holding.loose.filter(({ reading }) => reading.type !== "heartbeat");
  const verdictOf = (id: string): Verdict => {
    const verdict = memory.verdicts.get(id);
    if (verdict === undefined) throw new Error(`no verdict on ${id}`);
    return verdict;
  };
  const lines = new Map<string, ExpectedLine>();
  const show = ({ author, id, reading, signers }: Line | Loose, to: readonly string[]): void => {
    lines.set(id, {
      author,
      seq: reading.seq,
      verdict: verdictOf(id),
      isForUs: isForUs(reader, to),
      isVerified: signers.length > 0,
    });
  };
  for (const line of chains.flatMap((chain) => chain.lines)) show(line, line.reading.to ?? ["*"]);
  const ordered = loose.toSorted(
    (a, b) => (memory.receipts.get(a.id)?.order ?? 0) - (memory.receipts.get(b.id)?.order ?? 0),
  );
  for (const line of ordered) show(line, line.to);
  const isNew = ({ verdict }: ExpectedLine): boolean =>
    verdict.is === "mail" && verdict.event === index;
  const ofAuthors = chains.filter((chain) => chain.lines.length > 0);
  return {
    isIgnored,
    out: event.kind === "found" ? reasonOut(reader, memory, holding, event.line) : null,
    authors: Object.fromEntries(
      ofAuthors.map((chain) => [chain.author, describeChain(memory, chain)]),
    ),
    lines,
    delivered: sortByAuthor([...lines].filter(([, line]) => isNew(line))),
    heads: Object.fromEntries(
      ofAuthors.flatMap((chain) => {
        const head = chain.author === reader.handle ? undefined : headOf(reader, memory, chain);
        return head === undefined ? [] : [[chain.author, [head.seq, head.id] as const]];
      }),
    ),
    wants: wantsOf(reader, holding),
  };
}

/** Why the line that was found last is not held; null when it is. */
function reasonOut(
  reader: Reader,
  memory: Memory,
  holding: Holding,
  bytes: Uint8Array,
): Reason | null {
  const reading = readLine(bytes);
  if (typeof reading === "string") return reading;
  const found = memory.found.at(-1);
  const { id, author = "", isChained } = reading;
  const chain = holding.chains.get(author);
  const isHeld = chain?.byId.has(id) === true || holding.loose.some((line) => line.id === id);
  if (isHeld || found === undefined) return null;
  const keys = isChained ? (chain?.knownKeys ?? []) : pinnedKeys(memory, author);
  return reasonsAgainst(found, reader.wireId, knownHandles(reader), keys)[0]?.reason ?? null;
}

/** Author by author; the order of one author's lines is kept. */
function sortByAuthor(lines: readonly (readonly [string, ExpectedLine])[]): readonly string[] {
  return lines
    .toSorted(([, a], [, b]) => (a.author < b.author ? -1 : Number(a.author > b.author)))
    .map(([id]) => id);
}

function describeChain(memory: Memory, chain: Chain): ExpectedAuthor {
  const { author, lines, linked, struck, against, whole, forkAt } = chain;
  const forked = lines.filter((line) => line.seq === forkAt && isCounted(chain, line));
  const isHeld = standingOf(memory, author).heldAfter !== undefined;
  return {
    authentic: idsOf(lines),
    linked: idsOf(linked),
    ahead: idsOf(lines.filter((line) => !linked.has(line))),
    struck: idsOf(struck),
    against: idsOf(against),
    whole: whole === undefined ? null : [whole.seq, whole.id],
    forkAt,
    forked: idsOf(forked),
    tookSecond: tookSecond(memory, forked),
    heldFor: isHeld ? "revoked" : forkAt === null ? null : "fork",
  };
}

/** The last line up to which the chain is whole and nothing for us waits (next 3.2.2). */
function headOf(reader: Reader, memory: Memory, { whole, byId }: Chain): Line | undefined {
  let head: Line | undefined;
  if (whole === undefined) return head;
  for (const line of branchOf(byId, whole).toReversed()) {
    const isWaiting = memory.verdicts.get(line.id)?.is === "waits";
    if (isWaiting && isForUs(reader, line.reading.to ?? ["*"])) return head;
    head = line;
  }
  return head;
}

/** Of a line with another `prev` than the last one of `whole`, its like is not held: it came second itself. */
function tookSecond(memory: Memory, forked: readonly Line[]): string | null {
  const eventOf = ({ id }: Line): number => memory.receipts.get(id)?.event ?? 0;
  const byEvent = forked.toSorted((a, b) => eventOf(a) - eventOf(b));
  const [first, second, third] = byEvent;
  if (first === undefined || second === undefined) return first?.id ?? null;
  const isAlone = third === undefined || eventOf(third) > eventOf(second);
  return eventOf(second) > eventOf(first) && isAlone ? second.id : null;
}

/** Places that authentic lines name, or have as `prev`, and that are not held (next 3.2.4). */
function wantsOf(reader: Reader, { chains }: Holding): readonly Want[] {
  const wants = new Map<string, Want>();
  const lines = [...chains.values()].flatMap((chain) => chain.lines);
  for (const line of lines) {
    const prev = line.prev === null ? [] : [[line.author, line.seq - 1, line.prev] as const];
    for (const [author, seq, id] of [...placesNamedBy(asModelLine(line)), ...prev]) {
      if (seq === null || author === reader.handle) continue;
      if (chains.get(author)?.byId.get(id)?.seq === seq) continue;
      const wholeSeq = chains.get(author)?.whole?.seq ?? 0;
      const first = seq > wholeSeq ? wholeSeq + 1 : seq;
      wants.set(`${author} ${seq} ${id}`, { author, first, last: seq, id });
    }
  }
  return [...wants].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, want]) => want);
}
