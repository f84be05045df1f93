import type { World } from "../../src/agent/session/world.ts";
import type { Disk, DiskFile } from "../../src/storage/disk/disk.ts";

/** What an agent asked of the world: the same on every machine, however busy. */
export interface Work {
  /** Of files and of folders; replacing a file is one of each. */
  syncs: number;
  opens: number;
  /** Of names and of open files. */
  stats: number;
  lists: number;
  reads: number;
  bytesRead: number;
  appends: number;
  /** Whole files: written beside, synced, renamed. */
  replaces: number;
  locks: number;
  signatureChecks: number;
}

const NONE: Work = {
  syncs: 0,
  opens: 0,
  stats: 0,
  lists: 0,
  reads: 0,
  bytesRead: 0,
  appends: 0,
  replaces: 0,
  locks: 0,
  signatureChecks: 0,
};

export interface CountedWorld {
  readonly world: World;
  /** What is done from now on, until the work has ended. */
  during(work: () => unknown): Promise<Work>;
}

/** The same world, counted at its ports. */
export function countWorld(world: World): CountedWorld {
  let work = { ...NONE };
  const count = (name: keyof Work, by = 1): void => {
    work[name] += by;
  };
  return {
    world: {
      ...world,
      disk: countDisk(world.disk, count),
      verifyAll(items) {
        count("signatureChecks", items.length);
        return world.verifyAll(items);
      },
    },
    async during(act) {
      work = { ...NONE };
      await act();
      return { ...work };
    },
  };
}

type Count = (name: keyof Work, by?: number) => void;

function countDisk(disk: Disk, count: Count): Disk {
  return {
    open(path, how, mode) {
      count("opens");
      return countFile(disk.open(path, how, mode), count);
    },
    stat(path) {
      count("stats");
      return disk.stat(path);
    },
    list(path) {
      count("lists");
      return disk.list(path);
    },
    replace(path, bytes, mode) {
      count("replaces");
      count("syncs", 2);
      disk.replace(path, bytes, mode);
    },
    syncFolder(path) {
      count("syncs");
      disk.syncFolder(path);
    },
    room: (path) => disk.room(path),
    makeFolder: (path, mode) => disk.makeFolder(path, mode),
    renameExclusive: (from, to) => disk.renameExclusive(from, to),
    remove: (path) => disk.remove(path),
    realPath: (path) => disk.realPath(path),
    setMode: (path, mode, groupId) => disk.setMode(path, mode, groupId),
  };
}

function countFile(file: DiskFile, count: Count): DiskFile {
  return {
    path: file.path,
    stat() {
      count("stats");
      return file.stat();
    },
    read(length, position) {
      const bytes = file.read(length, position);
      count("reads");
      count("bytesRead", bytes.length);
      return bytes;
    },
    append(bytes) {
      count("appends");
      file.append(bytes);
    },
    datasync() {
      count("syncs");
      file.datasync();
    },
    lock(waitMs) {
      count("locks");
      return file.lock(waitMs);
    },
    writeAgain: (from, to) => file.writeAgain(from, to),
    rewrite: (bytes) => file.rewrite(bytes),
    truncate: (length) => file.truncate(length),
    close: () => file.close(),
  };
}
