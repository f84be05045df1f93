import { NEWLINE } from "../../storage/disk/line-splitter.ts";
import { DeaddropError } from "../../api/errors.ts";
import type { Git } from "./git.ts";

/** The content of blobs by their ids, read by one process. */
export function readBlobs(git: Git, ids: Iterable<string>): ReadonlyMap<string, Buffer> {
  const asked = [...new Set(ids)];
  const found = new Map<string, Buffer>();
  if (asked.length === 0) return found;
  const output = git(["cat-file", "--batch"], asked.map((id) => `${id}\n`).join(""));
  let at = 0;
  for (const id of asked) {
    const end = output.indexOf(NEWLINE, at);
    const [, type, size = ""] = output.toString("utf8", at, end).split(" ");
    if (type !== "blob") {
      throw new DeaddropError("refused", `git cannot read object ${id}`, {
        hint: "`git fsck` says what the repository lacks",
      });
    }
    at = end + 1;
    found.set(id, output.subarray(at, at + Number(size)));
    at += Number(size) + 1;
  }
  return found;
}
