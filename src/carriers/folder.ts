import { basename, join } from "node:path";
import { StorageError, type Disk } from "../storage/disk/disk.ts";
import { SECOND_MS } from "../wire/durations.ts";
import { isJsonArray, parseObject } from "../wire/json/json.ts";
import { quote } from "../wire/quote.ts";
import {
  listArchive,
  listNames,
  makeFolderLike,
  PartNames,
  SHARED_FILES,
  type PassedOver,
} from "./archive.ts";
import type {
  ListedCarrier,
  OwnCarrier,
  OwnLines,
  Transport,
  TransportHealth,
  TransportProblem,
  TransportTrouble,
  WireLayout,
} from "./carrier.ts";
import { publish, type OwnChain, type OwnLine, type Published } from "./publisher.ts";
import { readCarrier, type CarrierRead, type ReadBudget } from "./reader.ts";

/** Who belongs to a wire, for one of its agents. */
export interface Membership {
  readonly handle: string;
  /** Every handle of any roster that is known, the earliest rosters first. */
  readonly handles: readonly string[];
  /** The roster in force, and who of it chains. */
  readonly members: ReadonlyMap<string, boolean>;
}

/**
 * Which files of a wire's folder belong to whom. Names are formed from handles that are known; one that two pairs
 * of different rosters form belongs to the earlier one. Spec 1.1, 1.9.
 */
export function makeWireLayout({ handle, handles, members }: Membership): WireLayout {
  const carriers = new Map<string, ListedCarrier>();
  const add = (name: string, owner: string, reader: string | undefined): void => {
    if (!carriers.has(name)) carriers.set(name, { name, owner, reader });
  };
  for (const owner of handles)
    for (const reader of handles) if (owner !== reader) add(pairPath(owner, reader), owner, reader);
  for (const owner of handles) add(outboxPath(owner), owner, undefined);
  const parts = new PartNames(carriers.keys());
  return { carriers, parts, handles, ours: carriersOf(handle, members) };
}

function outboxPath(owner: string): string {
  return `outbox/${owner}.jsonl`;
}

export function pairPath(owner: string, reader: string): string {
  return `${owner}_to_${reader}.jsonl`;
}

/** What an agent that chains writes: with two members a pair's file; else the outbox, with copies for each that does not. */
export function carriersOf(handle: string, members: ReadonlyMap<string, boolean>): OwnCarrier[] {
  const others = [...members].filter(([member]) => member !== handle);
  const [other] = others;
  if (members.has(handle) && others.length === 1 && other !== undefined)
    return [{ path: pairPath(handle, other[0]) }];
  const unchained = others.flatMap(([member, chains]) => (chains ? [] : [member]));
  return [
    { path: outboxPath(handle) },
    ...unchained.map((member) => ({
      path: pairPath(handle, member),
      takes: (line: OwnLine) => isAddressedTo(line, member),
    })),
  ];
}

/** A chained line without `to` is for everybody. Spec 1.2. */
export function isAddressedTo({ bytes }: OwnLine, member: string): boolean {
  const parsed = parseObject(bytes);
  const to = parsed.ok ? (parsed.value["to"] ?? "*") : [];
  return isJsonArray(to) ? to.includes(member) || to.includes("*") : to === "*";
}

/** What lies in a wire's folder. Paths are relative to it, with "/". */
export interface FolderListing {
  /** Files that exist of those that a layout knows, live or archived. */
  readonly carriers: readonly ListedCarrier[];
  /** Files of lines that belong to nobody (`unowned_log`). */
  readonly unowned: readonly string[];
  readonly passedOver: readonly PassedOver[];
}

/**
 * Lists each folder of a wire once, and compares its names with those that are known.
 *
 * @throws StorageError when the disk fails
 */
export function listWire(
  disk: Disk,
  wireDir: string,
  { carriers, parts }: WireLayout,
): FolderListing {
  const passedOver: PassedOver[] = [];
  const live = [
    ...listNames(disk, wireDir, ".", passedOver),
    ...listNames(disk, wireDir, "outbox", passedOver).map((name) => `outbox/${name}`),
  ].filter((path) => path.endsWith(".jsonl") && !SHARED_FILES.includes(path));
  const archive = listArchive(disk, wireDir, parts);
  return {
    carriers: [
      ...live.flatMap((path) => carriers.get(path) ?? []),
      ...archive.parts.flatMap((part) => {
        const carrier = carriers.get(part.live);
        return carrier === undefined ? [] : [{ ...carrier, name: part.path }];
      }),
    ],
    unowned: [...live.filter((path) => !carriers.has(path)), ...archive.unowned],
    passedOver: [...passedOver, ...archive.passedOver],
  };
}

/** Carriers of a wire in one folder, as they were just listed. */
interface CarrierFolder {
  readonly disk: Disk;
  readonly root: string;
  /** Of new carriers. */
  readonly mode: number;
  readonly layout: WireLayout;
  readonly carriers: readonly ListedCarrier[];
}

/** How far each carrier of ours in one folder was published, by its path. */
export type PublishedCarriers = Map<string, Published>;

/** Appends to a carrier of ours what it and its archived parts lack of our chain. @throws StorageError */
export function publishTo(
  { disk, root, mode, layout, carriers }: CarrierFolder,
  { path, takes }: OwnCarrier,
  ours: OwnLines,
  chain: OwnChain,
  published: PublishedCarriers,
): void {
  // Copies for one member are in its own file; all else may be in any carrier of ours.
  const isOther = ({ name, owner }: ListedCarrier): boolean =>
    takes === undefined ? owner === ours.handle : layout.parts.liveOf(basename(name)) === path;
  const others = carriers.filter((each) => each.name !== path && isOther(each));
  const carrier = {
    ...{ path: join(root, path), others: others.map(({ name }) => join(root, name)), mode },
    ...(takes && { takes }),
  };
  const before = (last: OwnLine): void => ours.beforeAppend(last);
  published.set(path, publish(disk, carrier, chain, published.get(path), before));
}

/** What the folder needs of the world, so that a simulator can own all of it. */
export interface FolderWorld {
  readonly clock: { wallMs(): number };
  /** Calls back after that time; returns how to cancel it. */
  after(inMs: number, act: () => void): () => void;
  /** Calls back when files of the wire may have changed, with the name if it is known; returns how to end it. */
  watch(listener: (name?: string) => void): () => void;
}

export interface FolderOptions {
  readonly disk: Disk;
  readonly wireDir: string;
  /** Of new carriers. */
  readonly mode: number;
  readonly world: FolderWorld;
  readonly ours: OwnLines;
  /** The same object while nothing changes. */
  layout(): WireLayout;
}

/** Backoff of a failed publish: the first delay, then all others. On a full disk, how often free space is polled. */
const FIRST_RETRY_MS = SECOND_MS;
const NEXT_RETRY_MS = 30 * SECOND_MS;
const POLL_SPACE_MS = 2 * SECOND_MS;
const MIN_FREE_BYTES = 64 * 1024;

/** Why our lines are not published: wall ms. */
export interface PublishTrouble {
  readonly error: StorageError;
  readonly sinceMs: number;
}

interface Waiting extends PublishTrouble {
  readonly triedMs: number;
  readonly waitMs: number;
  /** The filesystem had no free space. */
  readonly wasFull: boolean;
}

/** The wire's folder on this machine, or on a filesystem that is shared. Spec 5.1. */
export class FolderTransport implements Transport {
  readonly kind = "folder";
  readonly #options: FolderOptions;
  readonly #listeners: ((name?: string) => void)[] = [];
  readonly #published: PublishedCarriers = new Map();
  /** Why compressed parts cannot be read to their end, by path. */
  readonly #unreadable = new Map<string, string>();
  #listing: FolderListing = { carriers: [], unowned: [], passedOver: [] };
  #listedMs: number | undefined;
  #publishedMs: number | undefined;
  #publishedThrough = 0;
  #listProblem: TransportProblem | undefined;
  #waiting: Waiting | undefined;
  #askedMs = 0;
  #unwatch: (() => void) | undefined;
  #cancelRetry: (() => void) | undefined;

  constructor(options: FolderOptions) {
    this.#options = options;
  }

  /** Files that belong to nobody, as of the last listing: what is said in them counts for nothing. */
  get unowned(): readonly string[] {
    return this.#listing.unowned;
  }

  list(): readonly ListedCarrier[] {
    try {
      this.#list();
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
      const sinceMs = this.#listProblem?.sinceMs ?? this.#options.world.clock.wallMs();
      this.#listProblem = problemOf({ error, sinceMs });
    }
    return this.#listing.carriers;
  }

  #list(): FolderListing {
    const { disk, wireDir, world } = this.#options;
    this.#listing = listWire(disk, wireDir, this.#options.layout());
    this.#listedMs = world.clock.wallMs();
    this.#listProblem = undefined;
    return this.#listing;
  }

  read({ name }: ListedCarrier, cursor: string | undefined, budget: ReadBudget): CarrierRead {
    const { disk, wireDir } = this.#options;
    const read = readCarrier(disk, join(wireDir, name), cursor, budget);
    if (read.unreadable !== undefined) this.#unreadable.set(name, read.unreadable);
    else if (read.isAgain) this.#unreadable.delete(name);
    return read;
  }

  publish(): void {
    const before = this.#waiting;
    if (before !== undefined && !this.#isDue(before)) return;
    try {
      this.#publish();
      this.#waiting = undefined;
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
      const triedMs = this.#options.world.clock.wallMs();
      this.#waiting = {
        ...{ error, triedMs, sinceMs: before?.sinceMs ?? triedMs },
        waitMs: before === undefined ? FIRST_RETRY_MS : NEXT_RETRY_MS,
        wasFull: error.code === "disk_full" && !this.#hasRoom(),
      };
    }
    this.#keepTrying();
  }

  #keepTrying(): void {
    this.#cancelRetry?.();
    this.#cancelRetry =
      this.#waiting &&
      this.#options.world.after(FIRST_RETRY_MS, () => {
        this.publish();
        this.#keepTrying();
      });
  }

  #isDue({ triedMs, waitMs, wasFull }: Waiting): boolean {
    const nowMs = this.#options.world.clock.wallMs();
    // Also when the clock was set back.
    if (nowMs < triedMs || nowMs >= triedMs + waitMs) return true;
    if (!wasFull || Math.abs(nowMs - this.#askedMs) < POLL_SPACE_MS) return false;
    this.#askedMs = nowMs;
    return this.#hasRoom();
  }

  #hasRoom(): boolean {
    const { disk, wireDir } = this.#options;
    return disk.room(join(wireDir, "config.json")) >= MIN_FREE_BYTES;
  }

  /** Why nothing of ours is published now. */
  get trouble(): PublishTrouble | undefined {
    return this.#waiting;
  }

  #publish(): void {
    const { disk, wireDir, mode, ours } = this.#options;
    const layout = this.#options.layout();
    // What cannot be listed must not seem to be missing.
    const { carriers } = this.#list();
    const chain = ours.chain();
    const hasOutbox = layout.ours.some(({ path }) => path.startsWith("outbox/"));
    if (hasOutbox && disk.stat(wireDir) !== undefined)
      makeFolderLike(disk, join(wireDir, "outbox"));
    const place = { disk, root: wireDir, mode, layout, carriers };
    for (const carrier of layout.ours) publishTo(place, carrier, ours, chain, this.#published);
    if (layout.ours.length > 0) this.#publishedThrough = chain.last;
    this.#publishedMs = this.#options.world.clock.wallMs();
  }

  get publishedThrough(): number {
    return this.#publishedThrough;
  }

  onChange(listener: (name?: string) => void): void {
    this.#listeners.push(listener);
  }

  knownMs(_owner: string, nowMs: number): number | undefined {
    return this.#listProblem === undefined ? nowMs : undefined;
  }

  refresh(): void {
    if (this.#waiting !== undefined) this.publish();
  }

  health(): TransportHealth {
    const problem = this.#waiting === undefined ? this.#listProblem : problemOf(this.#waiting);
    const unreadable = this.#listing.carriers.flatMap(({ name }) => {
      const reason = this.#unreadable.get(name);
      return reason === undefined ? [] : [{ path: name, problem: reason }];
    });
    return {
      ...{ remote: this.#options.wireDir, isMover: false, problem },
      ...{ fetchedMs: this.#listedMs, pushedMs: this.#publishedMs },
      waiting: this.#waiting === undefined ? 0 : this.#options.layout().ours.length,
      troubles: [...this.#listing.passedOver, ...unreadable].map(asTrouble),
    };
  }

  start(): void {
    this.#unwatch ??= this.#options.world.watch((name) => {
      for (const listener of this.#listeners) listener(name);
    });
  }

  stop(): Promise<void> {
    this.#unwatch?.();
    this.#cancelRetry?.();
    this.#unwatch = undefined;
    this.#cancelRetry = undefined;
    return Promise.resolve();
  }
}

function problemOf({ error, sinceMs }: PublishTrouble): TransportProblem {
  return { code: "local", detail: error.message, hint: error.hint, sinceMs };
}

function asTrouble({ path, problem }: PassedOver): TransportTrouble {
  return {
    cause: "wire_tampered",
    where: quote(path, 200),
    detail: `it is passed over: ${problem}`,
  };
}
