import type { Disk } from "../../storage/disk/disk.ts";
import { StorageError } from "../../storage/disk/disk.ts";
import { isJsonArray, parseObject } from "../../wire/json/json.ts";

/**
 * Our last line, beside our key: `[seq, id]`, and `[0, null]` before the first. What our key has signed behind
 * it is not ours. Spec 1.6.
 */
export interface Mark {
  readonly seq: number;
  readonly id: string | null;
}

const MAX_BYTES = 1_024;
const ID = /^[0-9a-f]{64}$/u;

/** Undefined where there is none: then nothing is signed. @throws StorageError */
export function readMark(disk: Disk, path: string): Mark | undefined {
  if (disk.stat(path) === undefined) return undefined;
  const file = disk.open(path, "read");
  try {
    const text = Buffer.from(file.read(MAX_BYTES, 0)).toString("utf8").trim();
    // A list is no object, which is all that the strict reader reads.
    const parsed = parseObject(Buffer.from(`{"mark":${text}}`));
    const mark = parsed.ok ? parsed.value["mark"] : undefined;
    if (isJsonArray(mark) && mark.length === 2) {
      const [seq, id] = mark;
      const isNone = seq === 0 && id === null;
      const isPlace = typeof seq === "number" && seq >= 1 && typeof id === "string" && ID.test(id);
      if (isNone) return { seq: 0, id: null };
      if (isPlace) return { seq, id };
    }
  } finally {
    file.close();
  }
  throw new StorageError("corrupt", path, "this is no mark of a key", {
    hint: "put it back from a backup, or say that the key is used nowhere else: deaddrop key reclaim",
  });
}

/** Durable when it returns. @throws StorageError */
export function writeMark(disk: Disk, path: string, { seq, id }: Mark): void {
  disk.replace(path, Buffer.from(`${JSON.stringify([seq, id])}\n`), 0o600);
}
