import { join } from "node:path";
import { lookOf, readWhole, StorageError } from "../../storage/disk/disk.ts";
import { wirePaths } from "../../storage/paths.ts";
import { claimedWireId } from "../../wire/roster/claimed-wire-id.ts";
import { MAX_CONFIG_BYTES } from "../../wire/limits.ts";
import { ownLogs, type Log } from "../../wire/layout.ts";
import { quote } from "../../wire/quote.ts";
import type { TransportTrouble } from "../port.ts";
import { bringLog, foreignLines } from "./bring-logs.ts";
import { DailyGate, HISTORY, limitedGate, type Grown } from "./growth.ts";
import { bringShared, SHARED_LIMIT } from "./bring-shared.ts";
import type { Change } from "./changes.ts";
import { bringDocuments, documentChanges, type Agreed } from "./document-copies.ts";
import { foreignTrouble, hasOurs, type OwnLogs } from "./foreign-lines.ts";
import type { LocalFolder } from "./local-folder.ts";
import { ownLogChanges, sharedChanges, type PushedLooks } from "./own-files.ts";
import { partsOf, wholeOf, type RemoteFiles } from "./remote-files.ts";

export interface Brought {
  readonly changed: readonly string[];
  readonly troubles: readonly TransportTrouble[];
  /** Of which files something could not be written: the next fetch tries again. */
  readonly failed: readonly StorageError[];
  /** A log of ours waits for its repair, or a peer's for tomorrow: the next fetch looks at it again. */
  readonly isUnjudged: boolean;
  /** The remote is another wire: nothing was taken, and nothing may be pushed. */
  readonly isForeign: boolean;
}

export interface ReplicaOptions extends OwnLogs {
  readonly folder: LocalFolder;
  readonly agreed: Agreed;
  /** By the paths of logs; it is kept over a restart. */
  readonly grown: Map<string, Grown>;
  /** The UTC date. */
  today(): string;
}

/** More of one log in the remote is not read; it is read as it comes. */
const MAX_REMOTE_BYTES = 256 * 1_048_576;

/** Makes the local folder and the remote the same, file by file. What moves the bytes is not its matter. */
export class Replica {
  readonly #options: ReplicaOptions;
  readonly #looks: PushedLooks = new Map();
  /** For each log and shared file the ids of the parts that were taken in. */
  readonly #taken = new Map<string, string>();
  /** Logs of ours that the remote is ahead in, as both were when that was found: nothing of them is pushed. */
  readonly #ahead = new Map<string, Ahead>();
  /** Which wire the remote is, by which version of its configuration. */
  #wire: { readonly config: string; readonly id: string | undefined } | undefined;
  /** The operator has accepted our logs as they are, until the remote's have been compared with them once. */
  #takesOursAsRight = false;
  #held: readonly string[] = [];

  constructor(options: ReplicaOptions) {
    this.#options = options;
  }

  /** Logs of ours of which nothing was pushed the last time: they lack lines, or may. */
  get held(): readonly string[] {
    return this.#held;
  }

  /** Takes in what the remote has. `isMover`: whether we write the local copies of this machine. */
  async bring(remote: RemoteFiles, isMover: boolean): Promise<Brought> {
    const { folder, agreed } = this.#options;
    const foreign = await this.#foreignWire(remote);
    if (foreign !== undefined) {
      return { ...newRound(), troubles: [foreign], isForeign: true };
    }
    const round = newRound();
    const parts = partsOf(remote, folder.wire);
    for (const log of folder.wire.layout.logs.values()) {
      const paths = parts.logs.get(log.name) ?? [];
      const isOwn = log.owner === folder.handle;
      if (!isOwn && (!isMover || folder.local().has(log.owner))) continue;
      await this.#once(round, log.path, { paths, remote }, () =>
        isOwn
          ? this.#lookAtOwn(log, paths, remote, round)
          : this.#takeLog(log, paths, remote, round),
      );
    }
    for (const [name, paths] of isMover ? parts.shared : []) {
      const path = `${name}.jsonl`;
      await this.#once(round, path, { paths, remote }, async () => {
        const lines = await bringShared(folder, remote, path, paths);
        if (lines === undefined) round.troubles.push(tooLarge(path, SHARED_LIMIT));
        else if (lines > 0) round.changed.push(path);
        return "taken";
      });
    }
    const documents = await bringDocuments(folder, remote, agreed, isMover);
    round.changed.push(...documents.changed);
    round.troubles.push(...documents.troubles);
    round.failed.push(...documents.failed);
    if (!round.isUnjudged && round.failed.length === 0) this.#takesOursAsRight = false;
    return { ...round, isForeign: false };
  }

  /** The operator has looked: what we have of our logs is right, and replaces what the remote has now. */
  acceptOurs(): void {
    this.#takesOursAsRight = true;
    this.#ahead.clear();
    this.#taken.clear();
  }

  /** What the remote lacks of ours. */
  async changes(remote: RemoteFiles, isMover: boolean): Promise<readonly Change[]> {
    const { folder, agreed } = this.#options;
    // Copies only grow: what a power cut has left of a log must not get into them.
    const own = ownLogs(folder.wire.layout, folder.handle);
    const whole = own.filter(({ name }) => this.#options.isWhole(name));
    for (const log of whole) await this.#lookAgain(log, remote);
    const logs = whole.filter(({ name }) => !this.#ahead.has(name));
    this.#held = own.filter((log) => !logs.includes(log)).map(({ name }) => name);
    return [
      ...logs.flatMap((log) => ownLogChanges(folder, remote, log, this.#looks)),
      ...documentChanges(folder, remote, agreed, isMover),
      ...(isMover ? await sharedChanges(folder, remote, this.#looks) : []),
    ];
  }

  /** What we have pushed of our logs is not read back. `remote`: as it is since that push. */
  notePushed(remote: RemoteFiles, paths: ReadonlySet<string>): void {
    const { folder } = this.#options;
    const parts = partsOf(remote, folder.wire);
    for (const log of ownLogs(folder.wire.layout, folder.handle)) {
      const of = parts.logs.get(log.name) ?? [];
      if (of.some((path) => paths.has(path))) this.#taken.set(log.path, markOf(remote, of));
    }
  }

  /**
   * Another wire id in the remote than the pinned one, or none: the remote was swapped. Without a pinned id
   * the folder's counts. The folder's copy of the configuration follows the remote, so it proves nothing.
   */
  async #foreignWire(remote: RemoteFiles): Promise<TransportTrouble | undefined> {
    const { disk, wireDir, wireId } = this.#options.folder;
    const config = remote.files.get("config.json");
    if (config === undefined || config.bytes > MAX_CONFIG_BYTES) return undefined;
    if (this.#wire?.config !== config.id) {
      const id = claimedWireId(await wholeOf(remote, ["config.json"]));
      this.#wire = { config: config.id, id };
    }
    const theirs = this.#wire.id;
    const ours =
      wireId ?? claimedWireId(readWhole(disk, wirePaths(wireDir).config, MAX_CONFIG_BYTES));
    if (ours === undefined || theirs === ours) return undefined;
    if (theirs === undefined && wireId === undefined) return undefined;
    const named = theirs === undefined ? "a wire without an id" : `the wire ${quote(theirs)}`;
    return {
      cause: "foreign_wire",
      where: theirs === undefined ? "config.json" : quote(theirs),
      detail: `the remote holds ${named}, and this folder is the wire ${quote(ours)}`,
    };
  }

  /** What was taken in as it is now is not read again; what is too large is named, and not read. */
  async #once(
    round: Round,
    path: string,
    { paths, remote }: { readonly paths: readonly string[]; readonly remote: RemoteFiles },
    work: () => Promise<"taken" | "cut" | "unjudged">,
  ): Promise<void> {
    const found = paths.flatMap((each) => remote.files.get(each) ?? []);
    const mark = markOf(remote, paths);
    const cutMark = `${mark} ${this.#options.today()}`;
    const taken = this.#taken.get(path);
    if (mark === "" || taken === mark) return;
    if (taken === cutMark) {
      // Tomorrow more of it may come in.
      round.isUnjudged = true;
      return;
    }
    if (found.some(({ bytes }) => bytes > MAX_REMOTE_BYTES)) {
      round.troubles.push(tooLarge(path, `${MAX_REMOTE_BYTES / 1_048_576} MiB`));
      return;
    }
    try {
      const ended = await work();
      if (ended === "taken") this.#taken.set(path, mark);
      else round.isUnjudged = true;
      if (ended === "cut") this.#taken.set(path, cutMark);
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
      round.failed.push(error);
    }
  }

  async #lookAtOwn(
    log: Log,
    paths: readonly string[],
    remote: RemoteFiles,
    round: Round,
  ): Promise<"taken" | "unjudged"> {
    const as = { look: this.#lookOf(log), mark: markOf(remote, paths) };
    const lines = await this.#foreignLines(log, paths, remote);
    this.#ahead.delete(log.name);
    if (lines.length === 0) return "taken";
    if (!this.#options.isWhole(log.name)) {
      // It may lack what we have pushed ourselves.
      this.#ahead.set(log.name, as);
      return "unjudged";
    }
    const found = foreignTrouble(this.#options, log, lines);
    if (this.#takesOursAsRight) return "taken";
    if (found.cause === "own_log_ahead") this.#ahead.set(log.name, as);
    round.troubles.push(found);
    return "taken";
  }

  /**
   * What a log of ours lacked of the remote may be in it again: the agent restores what was taken from
   * it. Not when the remote has another part of it since: that is for a fetch to look at.
   */
  async #lookAgain(log: Log, remote: RemoteFiles): Promise<void> {
    const before = this.#ahead.get(log.name);
    const look = this.#lookOf(log);
    if (before === undefined || before.look === look) return;
    const paths = partsOf(remote, this.#options.folder.wire).logs.get(log.name) ?? [];
    if (before.mark !== markOf(remote, paths)) return;
    const lines = await this.#foreignLines(log, paths, remote);
    if (hasOurs(this.#options, log, lines)) this.#ahead.set(log.name, { ...before, look });
    else this.#ahead.delete(log.name);
  }

  async #takeLog(
    log: Log,
    paths: readonly string[],
    remote: RemoteFiles,
    round: Round,
  ): Promise<"taken" | "cut"> {
    const { folder, grown, isSigned } = this.#options;
    const { path, name } = log;
    const day = this.#options.today();
    const before = grown.get(path);
    const daily = new DailyGate(
      before?.day === day ? before : { day, bytes: 0, lines: 0 },
      (line) => isSigned(name, line),
    );
    const isNew = (folder.disk.stat(join(folder.wireDir, path))?.size ?? 0) === 0;
    try {
      const gate = isNew ? limitedGate(HISTORY) : daily;
      const { lines, isCut, troubles } = await bringLog(folder, remote, log, paths, gate);
      if (lines > 0) round.changed.push(path);
      round.troubles.push(...troubles);
      return isCut ? "cut" : "taken";
    } finally {
      grown.set(path, daily.grown);
    }
  }

  #lookOf({ path }: Log): string {
    const { disk, wireDir } = this.#options.folder;
    return lookOf(disk, join(wireDir, path));
  }

  #foreignLines(
    log: Log,
    paths: readonly string[],
    remote: RemoteFiles,
  ): Promise<readonly Uint8Array[]> {
    return foreignLines(this.#options.folder, remote, log, paths);
  }
}

/** How a log of ours looked here, and which parts of it the remote had. */
interface Ahead {
  readonly look: string;
  readonly mark: string;
}

/** The ids of these parts: equal marks are equal bytes. */
function markOf({ files }: RemoteFiles, paths: readonly string[]): string {
  return paths.flatMap((each) => files.get(each)?.id ?? []).join(" ");
}

interface Round {
  readonly changed: string[];
  readonly troubles: TransportTrouble[];
  readonly failed: StorageError[];
  isUnjudged: boolean;
}

function newRound(): Round {
  return { changed: [], troubles: [], failed: [], isUnjudged: false };
}

function tooLarge(path: string, limit: string): TransportTrouble {
  return {
    cause: "wire_tampered",
    where: quote(path),
    detail: `it is larger than ${limit} in the remote, and is not taken in`,
  };
}
