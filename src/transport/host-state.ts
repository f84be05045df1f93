import { readWhole, StorageError, type Disk, type DiskFile } from "../storage/disk/disk.ts";
import type { Grown } from "./copies/growth.ts";
import type { Agreed } from "./copies/document-copies.ts";
import type { TransportPaths } from "./transport-settings.ts";
import { PRIVATE_FILE, PRIVATE_FOLDER } from "../storage/disk/file-modes.ts";

/**
 * What the daemons of one machine and one wire share: which of them writes the local copies, what the
 * folder and the remote have agreed on, and when the last fetch began. Spec 5.
 */
export interface HostState {
  /** Takes the lock if it is free; true as long as we hold it. The kernel frees it when we die. */
  mayMove(): boolean;
  readonly agreed: Agreed;
  /** What the copies of peers' logs have grown by, by their paths. */
  readonly grown: Map<string, Grown>;
  /**
   * When the last fetch of any daemon here began that is over. Wall ms. One that began later than now
   * counts for nothing, also when that time has come: the clock was set back since.
   */
  fetchedMs(nowMs: number): number | undefined;
  noteFetched(beganMs: number): void;
  /**
   * Writes both down, for the other daemons of this machine and our next start, if we move the copies.
   * What is lost in a crash before says less than is true. Throws StorageError.
   */
  save(): void;
  close(): void;
}

const MAX_STATE_BYTES = 4 * 1_048_576;

export function openHostState(disk: Disk, paths: TransportPaths, remote: string): HostState {
  disk.makeFolder(paths.folder, PRIVATE_FOLDER);
  let lock: DiskFile | undefined;
  let ownFetchMs: number | undefined;
  let savedFetchMs: number | undefined;
  /** A fetch that counts for nothing. */
  let voidMs: number | undefined;
  const agreed = openAgreed(disk, paths.agreed, remote);
  return {
    mayMove() {
      if (lock !== undefined) return true;
      const file = disk.open(paths.moverLock, "append", PRIVATE_FILE);
      if (!file.lock(0)) {
        file.close();
        return false;
      }
      lock = file;
      // Another daemon may have moved on since we read it.
      agreed.reload();
      return true;
    },
    agreed,
    grown: agreed.grown,
    fetchedMs(nowMs) {
      const beganMs = lock === undefined ? readMoment(disk, paths.fetched) : ownFetchMs;
      if (beganMs !== undefined && beganMs > nowMs) voidMs = beganMs;
      return beganMs === voidMs ? undefined : beganMs;
    },
    noteFetched(beganMs) {
      // Who does not move the copies has brought nothing into the folder.
      if (lock !== undefined) ownFetchMs = beganMs;
    },
    save() {
      if (lock === undefined) return;
      agreed.save();
      if (ownFetchMs === savedFetchMs) return;
      const bytes = Buffer.from(`${JSON.stringify({ began_ms: ownFetchMs })}\n`);
      disk.replace(paths.fetched, bytes, PRIVATE_FILE);
      savedFetchMs = ownFetchMs;
    },
    close() {
      lock?.close();
      lock = undefined;
    },
  };
}

function readMoment(disk: Disk, path: string): number | undefined {
  const { began_ms: began } = readFields(disk, path);
  return typeof began === "number" ? began : undefined;
}

/** Kept for one remote: with another one, nothing is agreed yet. */
function openAgreed(
  disk: Disk,
  path: string,
  remote: string,
): Agreed & { readonly grown: Map<string, Grown>; save(): void; reload(): void } {
  let ids = load();
  const grown = new Map(grownIn(readFields(disk, path)["grown"]));
  let saved = textOfAll();

  function textOfAll(): string {
    const fields = { remote, ids: Object.fromEntries(ids), grown: Object.fromEntries(grown) };
    return `${JSON.stringify(fields)}\n`;
  }

  function load(): Map<string, string> {
    const fields = readFields(disk, path);
    const { ids: known } = fields;
    if (fields["remote"] !== remote || typeof known !== "object" || known === null)
      return new Map();
    return new Map(
      Object.entries(known).flatMap(([name, id]) => (typeof id === "string" ? [[name, id]] : [])),
    );
  }

  return {
    get: (name) => ids.get(name),
    set: (name, id) => ids.set(name, id),
    grown,
    save() {
      const now = textOfAll();
      if (now === saved) return;
      disk.replace(path, Buffer.from(now, "utf8"), PRIVATE_FILE);
      saved = now;
    },
    reload() {
      ids = load();
      for (const [name, each] of grownIn(readFields(disk, path)["grown"])) grown.set(name, each);
      saved = textOfAll();
    },
  };
}

function grownIn(value: unknown): [path: string, grown: Grown][] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value as Record<string, Partial<Grown> | null>).flatMap(([name, each]) => {
    const { day, bytes, lines } = each ?? {};
    const isSound =
      typeof day === "string" && typeof bytes === "number" && typeof lines === "number";
    return isSound ? [[name, { day, bytes, lines }]] : [];
  });
}

/** Nothing, where the file is missing or damaged: all of it can be found out again. */
function readFields(disk: Disk, path: string): Readonly<Record<string, unknown>> {
  try {
    const bytes = readWhole(disk, path, MAX_STATE_BYTES);
    if (bytes === undefined) return {};
    const value: unknown = JSON.parse(Buffer.from(bytes).toString("utf8"));
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof StorageError) return {};
    throw error;
  }
}
