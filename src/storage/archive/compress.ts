import { Buffer } from "node:buffer";
import { LOCK_WAIT_MS, StorageError, stillNamed, type Disk } from "../disk/disk.ts";
import { packed } from "./packed-segment.ts";
import { segmentAt, segmentPlaces } from "./segments.ts";

/** What was compressed: the bytes before and after. */
export interface Compressed {
  readonly path: string;
  readonly before: number;
  readonly after: number;
}

const COMPARED_BYTES = 1024 * 1024;

/**
 * Compresses the closed segments of a log that are not compressed yet. The plain one goes only when the
 * compressed one was read back and is the same; until then readers take the plain one. Spec 3.10.
 */
export function* compressSegments(
  disk: Disk,
  archive: string,
  name: string,
): Generator<Compressed> {
  for (const { path } of segmentPlaces(disk, archive, name)) {
    if (!path.endsWith(".gz") && segmentAt(disk, path) !== undefined) yield compress(disk, path);
  }
}

function compress(disk: Disk, path: string): Compressed {
  const target = `${path}.gz`;
  const file = disk.open(path, "read");
  try {
    // Two that compress the same segment must not each remove what the other one has left.
    if (!file.lock(LOCK_WAIT_MS) || !stillNamed(disk, file)) {
      throw new StorageError("locked", path, "another program has it open to write, or moves it", {
        hint: "compress it again later; lslocks shows which program holds it",
      });
    }
    const { size, mode, gid } = file.stat();
    disk.replace(target, packed(file), mode);
    const made = disk.stat(target);
    if (made !== undefined && made.gid !== gid) disk.setMode(target, mode, gid);
    if (!isSame(disk, path, target)) {
      disk.remove(target);
      throw new StorageError("io", target, "what was read back is not what was written", {
        hint: "the plain segment was kept; check the disk, and try again",
      });
    }
    disk.remove(path);
    return { path: target, before: size, after: disk.stat(target)?.size ?? 0 };
  } finally {
    file.close();
  }
}

function isSame(disk: Disk, path: string, target: string): boolean {
  const [plain, other] = [path, target].map((each) => segmentAt(disk, each, () => false));
  if (plain === undefined || other?.size !== plain.size) return false;
  const [one, two] = [plain.open(), other.open()];
  try {
    for (let at = 0; at < plain.size; at += COMPARED_BYTES) {
      const [a, b] = [one.read(COMPARED_BYTES, at), two.read(COMPARED_BYTES, at)];
      if (a.length === 0 || Buffer.compare(a, b) !== 0) return false;
    }
    return true;
  } finally {
    one.close();
    two.close();
  }
}
