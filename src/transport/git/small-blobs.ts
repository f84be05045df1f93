import { NEWLINE } from "../../storage/disk/line-splitter.ts";
import type { RemoteFile } from "../copies/remote-files.ts";
import type { Git } from "./run-git.ts";

/** The bytes of blobs, by their ids. */
export type Blobs = ReadonlyMap<string, Buffer>;

/** Larger ones are read one by one, as they come. */
const MAX_SMALL_BYTES = 512 * 1_024;
/** Of all that are read at once. */
const MAX_AT_ONCE_BYTES = 2 * 1_048_576;

/** The ids of small files that are not `known`: as many as may be read at once. */
export function smallIds(files: Iterable<RemoteFile>, known: ReadonlySet<string>): string[] {
  const ids = new Set<string>();
  let total = 0;
  for (const { id, bytes } of files) {
    if (known.has(id) || ids.has(id) || bytes > MAX_SMALL_BYTES) continue;
    total += bytes;
    if (total > MAX_AT_ONCE_BYTES) break;
    ids.add(id);
  }
  return [...ids];
}

/** These blobs, by one call of git. One that is not there is left out. Throws GitFailed. */
export async function readBlobs(git: Git, ids: readonly string[]): Promise<Blobs> {
  if (ids.length === 0) return new Map();
  const input = Buffer.from(`${ids.join("\n")}\n`, "utf8");
  return blobsIn(await git(["cat-file", "--batch"], { input }));
}

/**
 * What git answers: for each id a row `<id> <type> <bytes>`, the bytes, and a newline; or `<id> missing`.
 * A tree may name as a file what is none: that is passed over whole, since its bytes may look like a row.
 */
function blobsIn(answer: Buffer): Blobs {
  const blobs = new Map<string, Buffer>();
  for (let at = 0; at < answer.length;) {
    const end = answer.indexOf(NEWLINE, at);
    if (end < 0) break;
    const row = answer.toString("utf8", at, end);
    const [, id, type, size] = /^(\S+) (\w+) (\d+)$/.exec(row) ?? [];
    at = end + 1;
    if (id === undefined) continue;
    if (type === "blob") blobs.set(id, answer.subarray(at, at + Number(size)));
    at += Number(size) + 1;
  }
  return blobs;
}
