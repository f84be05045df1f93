import { isHandle } from "../../wire/handle.ts";
import type { Disk } from "../disk/disk.ts";

const KEY_FILE = ".key";

/** The handles whose private key is in a configuration folder. Spec 4.6. Signs nothing, so it loads no key. */
export function listIdentities(disk: Disk, folder: string): string[] {
  const names = disk.list(folder).filter((name) => name.endsWith(KEY_FILE));
  return names.map((name) => name.slice(0, -KEY_FILE.length)).filter(isHandle);
}
