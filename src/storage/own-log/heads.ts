import { readWhole, StorageError, type Disk } from "../disk/disk.ts";
import { PRIVATE_FILE } from "../disk/file-modes.ts";
import { isRecord } from "../../wire/json/json-value.ts";

/** The last chained line that was admitted from a peer's log. */
export interface PeerHead {
  readonly seq: number;
  readonly id: string;
}

/** Our own log up to where it is known to be durable. */
export interface OwnHead {
  readonly seq: number;
  readonly id: string;
  /** Byte offset in the live file that a sync has covered. */
  readonly end: number;
  /** `prefixHash` of the live file at `end`. */
  readonly prefixHash: string;
}

/** Heads to remember; undefined forgets one. */
export interface HeadsChange {
  readonly peers?: ReadonlyMap<string, PeerHead | undefined>;
  readonly own?: ReadonlyMap<string, OwnHead | undefined>;
}

/** All that heads.json holds. */
export interface Heads {
  readonly peers: ReadonlyMap<string, PeerHead>;
  readonly own: ReadonlyMap<string, OwnHead>;
}

/** heads.json: the last chain head seen of every log, by the log's name. Spec 1.1, 1.6. */
export interface HeadsStore {
  peer(log: string): PeerHead | undefined;
  own(log: string): OwnHead | undefined;
  peers(): ReadonlyMap<string, PeerHead>;
  /** A peer's head that the journal has already: it is written with the next `save`. */
  see(log: string, head: PeerHead): void;
  /** Durable when it returns; writes nothing when nothing has changed. */
  save(change?: HeadsChange): void;
}

/** Reads heads.json, which cannot be rebuilt: damage is an error, never an empty store. */
export function openHeads(disk: Disk, path: string): HeadsStore {
  const { peers, own } = load(disk, path);
  let hasSeen = false;

  return {
    peer: (log) => peers.get(log),
    own: (log) => own.get(log),
    peers: () => peers,
    see(log, head) {
      peers.set(log, head);
      hasSeen = true;
    },
    save(change = {}) {
      const nextPeers = merged(peers, change.peers);
      const nextOwn = merged(own, change.own);
      if (nextPeers === undefined && nextOwn === undefined && !hasSeen) return;
      const bytes = serialiseHeads({ peers: nextPeers ?? peers, own: nextOwn ?? own });
      disk.replace(path, bytes, PRIVATE_FILE);
      hasSeen = false;
      // Memory follows the disk: a failed save leaves what was remembered before.
      if (nextPeers !== undefined) refill(peers, nextPeers);
      if (nextOwn !== undefined) refill(own, nextOwn);
    },
  };
}

function merged<T extends object>(
  current: ReadonlyMap<string, T>,
  change: ReadonlyMap<string, T | undefined> | undefined,
): Map<string, T> | undefined {
  const next = new Map(current);
  let changed = false;
  for (const [log, head] of change ?? []) {
    if (JSON.stringify(next.get(log)) === JSON.stringify(head)) continue;
    changed = true;
    if (head === undefined) next.delete(log);
    else next.set(log, head);
  }
  return changed ? next : undefined;
}

function refill<T>(target: Map<string, T>, from: ReadonlyMap<string, T>): void {
  target.clear();
  for (const [key, value] of from) target.set(key, value);
}

function load(disk: Disk, path: string) {
  const bytes = readWhole(disk, path);
  if (bytes === undefined)
    return { peers: new Map<string, PeerHead>(), own: new Map<string, OwnHead>() };
  return parseHeads(bytes, path);
}

/** The file as it is on disk. */
export function serialiseHeads({ peers, own }: Heads): Uint8Array {
  const text = JSON.stringify({
    version: 1,
    peers: Object.fromEntries(peers),
    own: Object.fromEntries(own),
  });
  return Buffer.from(`${text}\n`, "utf8");
}

/** Throws "corrupt": half of what was seen is not enough. `path` is for the message. */
export function parseHeads(
  bytes: Uint8Array,
  path: string,
): { peers: Map<string, PeerHead>; own: Map<string, OwnHead> } {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(bytes).toString("utf8"));
  } catch (cause) {
    throw damaged(path, cause);
  }
  if (!isRecord(value)) throw damaged(path, undefined);
  return {
    peers: headsOf(value["peers"], isPeerHead, path),
    own: headsOf(value["own"], isOwnHead, path),
  };
}

function headsOf<T>(
  value: unknown,
  is: (head: unknown) => head is T,
  path: string,
): Map<string, T> {
  if (!isRecord(value)) throw damaged(path, undefined);
  const heads = new Map<string, T>();
  for (const [log, head] of Object.entries(value)) {
    if (!is(head)) throw damaged(path, undefined);
    heads.set(log, head);
  }
  return heads;
}

function isPeerHead(head: unknown): head is PeerHead {
  return isRecord(head) && Number.isSafeInteger(head["seq"]) && typeof head["id"] === "string";
}

function isOwnHead(head: unknown): head is OwnHead {
  if (!isPeerHead(head)) return false;
  const { end, prefixHash } = head as Partial<OwnHead>;
  return Number.isSafeInteger(end) && typeof prefixHash === "string";
}

function damaged(path: string, cause: unknown): StorageError {
  return new StorageError("corrupt", path, "is damaged and cannot be rebuilt from the logs", {
    hint: "restore it from a backup (deaddrop restore); without one, move it away: heads are then learnt again, and a log that was rewritten meanwhile is not noticed",
    cause,
  });
}
