import { contextOf } from "../../agent/session/environment.ts";
import type { AgentConfig } from "../../agent/config/agent-config.ts";
import { authenticate } from "../../admission/authenticate.ts";
import type { AdmissionContext } from "../../admission/context.ts";
import { DeaddropError } from "../../api/errors.ts";
import { logSource } from "../../audit/source.ts";
import { addedKey } from "../../protocol/keys/key-changes.ts";
import { wholeLogs } from "../../storage/archive/whole-logs.ts";
import { signingKey } from "../../trust/cards/card.ts";
import { isUnproved, type EarlierKey } from "../../trust/pins.ts";
import { newPeer, type KeyEnd, type PinnedKey } from "../../trust/store.ts";
import { isChained, isOfAnotherWire } from "../../wire/chain.ts";
import { ownLogs, type Log } from "../../wire/layout.ts";
import { keyId } from "../../wire/signature.ts";
import type { SetupHost } from "../host.ts";
import { lookAt } from "./first-contact.ts";

/** A chained line of a peer, signed by one of the keys that may be the peer's. */
interface Line {
  readonly id: string;
  readonly seq: number;
  readonly prev: string | undefined;
  readonly keyId: string;
  /** The id of the key that the line announces as its author's next one. */
  readonly adds: string | undefined;
}

/**
 * The keys that a peer has used before `key`, whose digits or fingerprint the operators have compared,
 * and the last line of each in each log. Spec 2.5: a line counts when the hash chain that `key` goes on
 * with covers it, and when its own key has announced its successor, up to `key`, in lines that such a
 * chain covers. So neither a key that was given up without an announcement counts (it may be stolen),
 * nor what another program has put before or beside the peer's lines.
 *
 * Throws a DeaddropError when an earlier key has announced `key`, and the log has no line of `key` yet.
 */
export function earlierKeys(
  host: SetupHost,
  place: AgentConfig,
  peer: string,
  key: Uint8Array,
): readonly EarlierKey[] {
  if (!isUnproved(place.store.peers.get(peer))) return [];
  const current = keyId(peer, key);
  const candidates = candidatesFor(host, place, peer, key);
  if (candidates.length === 0) return [];
  const pinned = { keyId: current, key, addedAt: "", active: true };
  const peers = new Map([[peer, { ...newPeer(peer), keys: [pinned, ...candidates] }]]);
  const ctx = { ...contextOf(place), store: { ...place.store, peers } };
  const logs = ownLogs(place.layout, peer).map((log) => {
    const lines = readLines(host, place, log, ctx);
    return { log, lines, covered: linesBefore(lines, current) };
  });
  const announcers = announcersOf(
    logs.flatMap(({ lines }) => [...lines.values()]),
    current,
  );
  const open = logs.find(({ log, lines, covered }) => {
    const isEarlier = [...lines.values()].some((line) => announcers.has(line.keyId));
    return covered === undefined && log.into === undefined && isEarlier;
  });
  if (open !== undefined) {
    const { name } = open.log;
    throw new DeaddropError("refused", `${name} has no line yet that ${current} has signed`, {
      hint: `that line shows up to where the earlier key counts. ${peer}'s daemon writes it within minutes; then repeat this command`,
    });
  }
  const believed = announcersOf(
    logs.flatMap(({ covered = [] }) => covered),
    current,
  );
  return candidates
    .filter((candidate) => believed.has(candidate.keyId))
    .map((candidate) => {
      const ends = logs.flatMap(({ log, covered = [] }) => {
        const end = endOf(covered, candidate.keyId, believed);
        return end === undefined ? [] : [[log.name, end] as const];
      });
      return { key: candidate.key, ends: new Map(ends) };
    });
}

/**
 * Other keys that may have been the peer's: those that are pinned and active, and those in the card
 * that `key` has signed. A key that was deactivated here stays so.
 */
function candidatesFor(
  host: SetupHost,
  place: AgentConfig,
  peer: string,
  key: Uint8Array,
): readonly PinnedKey[] {
  const pinned = place.store.peers.get(peer)?.keys ?? [];
  const look = lookAt(host, place, peer);
  const isSigned = look.is === "card" && Buffer.compare(signingKey(look.card).key, key) === 0;
  const shown = isSigned ? [...look.card.keys, ...look.card.oldKeys] : [];
  const all = [...pinned, ...shown.map((each) => ({ ...each, addedAt: "", active: true }))];
  const byId = new Map(all.toReversed().map((each) => [each.keyId, each] as const));
  byId.delete(keyId(peer, key));
  return [...byId.values()].filter(({ active }) => active);
}

function readLines(
  { disk }: SetupHost,
  { wire }: AgentConfig,
  log: Log,
  ctx: AdmissionContext,
): ReadonlyMap<string, Line> {
  const lines = new Map<string, Line>();
  for (const { bytes } of logSource(wholeLogs(disk, wire.folder), wire.folder, log).lines()) {
    const read = authenticate(bytes, { owner: log.owner, log: log.name }, ctx);
    if (!read.ok || !isChained(read.message)) continue;
    const { id, seq, prev, publicKeyId } = read.message;
    if (publicKeyId === undefined || isOfAnotherWire(read.message, ctx.wireId)) continue;
    lines.set(id, { id, seq, prev, keyId: publicKeyId, adds: addedKey(read.message)?.keyId });
  }
  return lines;
}

/** The lines that the first one of a key is chained to, the last first; undefined without such a line. */
function linesBefore(
  lines: ReadonlyMap<string, Line>,
  current: string,
): readonly Line[] | undefined {
  let first: Line | undefined;
  for (const line of lines.values()) {
    if (line.keyId === current && line.seq < (first?.seq ?? Infinity)) first = line;
  }
  if (first === undefined) return undefined;
  const covered: Line[] = [];
  let line = lines.get(first.prev ?? "");
  // A hash chain has no loops.
  while (line !== undefined) {
    covered.push(line);
    line = lines.get(line.prev ?? "");
  }
  return covered;
}

/** `current` and the keys that have announced it, or each other up to it. */
function announcersOf(lines: readonly Line[], current: string): ReadonlySet<string> {
  const announcements = lines.filter(({ adds }) => adds !== undefined);
  const keys = new Set([current]);
  // A set is walked on to what is added meanwhile.
  for (const next of keys) {
    for (const { adds, keyId: by } of announcements) if (adds === next) keys.add(by);
  }
  return keys;
}

/** The last line of a key in a chain that is signed by keys which are believed, from its end backwards. */
function endOf(
  covered: readonly Line[],
  key: string,
  believed: ReadonlySet<string>,
): KeyEnd | undefined {
  for (const line of covered) {
    if (!believed.has(line.keyId)) return undefined;
    if (line.keyId === key) return { seq: line.seq, id: line.id };
  }
  return undefined;
}
