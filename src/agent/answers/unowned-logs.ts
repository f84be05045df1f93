import { join } from "node:path";
import type { Disk } from "../../storage/disk/disk.ts";
import { quote } from "../../wire/quote.ts";

const MAX_NAMED = 20;

/** Logs that nobody reads: anybody can fill a folder, so only some are named. */
interface UnownedLogs {
  /** Their paths within the wire, quoted where a name is not plain. */
  readonly names: readonly string[];
  /** How many more there are. */
  readonly more: number;
}

/**
 * Files of lines in a wire's folder that belong to nobody (`unowned_log`): they are not read, and what is said in
 * them counts for nothing. Spec 1.9.
 *
 * @param paths within the wire, as the folder's transport has listed them
 * @throws StorageError
 */
export function unownedLogs(disk: Disk, wireDir: string, paths: readonly string[]): UnownedLogs {
  const unread = paths.filter((path) => {
    const stat = disk.stat(join(wireDir, path));
    // An empty file hides nothing; what is no file may.
    return stat !== undefined && stat.kind !== "folder" && (stat.kind !== "file" || stat.size > 0);
  });
  const names = unread.slice(0, MAX_NAMED);
  return {
    names: names.map((path) => (/^[\w./-]+$/u.test(path) ? path : quote(path))),
    more: unread.length - names.length,
  };
}
