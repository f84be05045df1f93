import type { ListedCarrier, Transport } from "../carriers/carrier.ts";
import { readAllLines, readCarrier } from "../carriers/reader.ts";
import { SharedLines } from "../carriers/shared-lines.ts";
import { textField } from "../protocol/body.ts";
import { ScratchDisk } from "../storage/disk/scratch-disk.ts";
import type { Disk } from "../storage/disk/disk.ts";
import { Database } from "../store/database.ts";
import { Store } from "../store/store.ts";
import { agentName } from "../wire/handle.ts";
import { isJsonArray, parseObject } from "../wire/json/json.ts";
import { MAX_ROSTER } from "../wire/limits.ts";
import { Core, EVERYTHING, type CorePlace, type CoreWorld } from "./core.ts";
import { DECISIONS } from "./duties/decision-record.ts";

/** Of one agent so many keys are taken for its own where none is known. */
const MOST_KEYS = 64;
/** Rounds without anything to do, after which nothing more follows from what was read. */
const QUIET_ROUNDS = 3;

/** Lines in carriers that prove nothing about anybody. */
export interface SkippedLines {
  /** Of the carriers. */
  readonly owner: string;
  readonly reason: string;
  readonly count: number;
  /** Of the first of them. */
  readonly detail: string;
}

/** What the store of a daemon knows, whether that runs or not. Nothing is written. @throws StorageError */
export function coreOfStore(world: CoreWorld, place: CorePlace, storePath: string): Core {
  return new Core(world, place, Store.openToRead(storePath), undefined);
}

/**
 * What the lines of carriers say, taken in by the daemon's own intake into a database in memory. Nothing is signed
 * or published, and files are written to a disk of this process alone.
 *
 * @throws StorageError
 */
export async function coreOfCarriers(
  world: CoreWorld,
  place: CorePlace,
  transports: readonly Transport[],
): Promise<{ readonly core: Core; readonly skipped: readonly SkippedLines[] }> {
  const disk = new ScratchDisk(world.disk);
  const store = new Store(Database.open(":memory:"));
  const core = new Core({ ...world, disk }, place, store, EVERYTHING);
  core.use(transports.map(toRead));
  const skipped = new Map<string, SkippedLines>();
  for (let quiet = 0; quiet < QUIET_ROUNDS;) {
    quiet = (await core.round()) ? 0 : quiet + 1;
    for (const [owner, problems] of core.lastPass?.skipped ?? [])
      for (const { reason, detail } of problems) {
        const known = skipped.get(`${owner} ${reason}`);
        const count = (known?.count ?? 0) + 1;
        skipped.set(`${owner} ${reason}`, { owner, reason, detail, ...known, count });
      }
  }
  return { core, skipped: [...skipped.values()] };
}

/** The same carriers, to which nothing is written. */
function toRead(
  transport: Pick<Transport, "kind" | "list" | "read" | "knownMs" | "health">,
): Transport {
  return {
    kind: transport.kind,
    publishedThrough: 0,
    list: () => transport.list(),
    read: (carrier, cursor, budget) => transport.read(carrier, cursor, budget),
    knownMs: (owner, nowMs) => transport.knownMs(owner, nowMs),
    health: () => transport.health(),
    publish: () => undefined,
    onChange: () => undefined,
    refresh: () => undefined,
    start: () => undefined,
    stop: () => Promise.resolve(),
  };
}

/** Every line of decisions.jsonl, archived parts first. @throws StorageError */
export function* recordedLines(disk: Disk, wireDir: string): Generator<Uint8Array> {
  const lines = new SharedLines(disk, wireDir, DECISIONS);
  for (let hasMore = true; hasMore;) {
    const read = lines.read();
    yield* read.lines;
    ({ hasMore } = read);
  }
}

/** What files say of those who have written them. */
export interface FileAuthors {
  /** The wires that lines name. */
  readonly wireIds: ReadonlySet<string>;
  /** Everybody who has written a line, or is addressed by one; more than a wire has when there are more. */
  readonly handles: ReadonlySet<string>;
  /** Key ids that lines of an agent state: all that is known of its keys where nobody has pinned any. */
  readonly keyIds: ReadonlyMap<string, ReadonlySet<string>>;
  /** By path: whose the first line is that says so. */
  readonly owners: ReadonlyMap<string, string>;
}

/** @throws StorageError */
export function readFileAuthors(disk: Disk, paths: readonly string[]): FileAuthors {
  const [wireIds, handles] = [new Set<string>(), new Set<string>()];
  const keyIds = new Map<string, Set<string>>();
  const owners = new Map<string, string>();
  for (const path of paths)
    for (const line of readAllLines(disk, path)) {
      const parsed = parseObject(line);
      const from = parsed.ok ? agentName(textField(parsed.value, "from") ?? "") : undefined;
      if (!parsed.ok || from === undefined || handles.size > MAX_ROSTER) continue;
      const { to, wire, public_key_id: keyId } = parsed.value;
      const addressed = isJsonArray(to) ? to : [to];
      for (const name of [from, ...addressed]) {
        const handle = typeof name === "string" ? agentName(name) : undefined;
        if (handle !== undefined) handles.add(handle);
      }
      if (typeof wire === "string" && wireIds.size < 2) wireIds.add(wire);
      const known = keyIds.get(from) ?? new Set();
      keyIds.set(from, known);
      if (typeof keyId === "string" && known.size < MOST_KEYS) known.add(keyId);
      if (!owners.has(path)) owners.set(path, from);
    }
  return { wireIds, handles, keyIds, owners };
}

/** Files by themselves as carriers of those who have written their first lines. */
export function fileTransport(
  disk: Disk,
  { owners }: Pick<FileAuthors, "owners">,
  clock: { wallMs(): number },
): Transport {
  const carriers = [...owners].map(([name, owner]): ListedCarrier => ({
    name,
    owner,
    reader: undefined,
  }));
  return toRead({
    kind: "folder",
    list: () => carriers,
    read: ({ name }, cursor, budget) => readCarrier(disk, name, cursor, budget),
    knownMs: () => clock.wallMs(),
    health: () => ({
      ...{ remote: "", isMover: false, fetchedMs: undefined, pushedMs: undefined, waiting: 0 },
      ...{ problem: undefined, troubles: [] },
    }),
  });
}
