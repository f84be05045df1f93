import { join } from "node:path";
import type { Disk } from "../disk/disk.ts";
import { programFolder, type Places } from "../paths.ts";

/** The agents of this user that are on that wire: they have private folders for it. */
export function agentsHere(
  disk: Disk,
  places: Places,
  wireKey: string,
  handle: string,
): ReadonlySet<string> {
  const folder = join(programFolder(places), wireKey);
  const found = disk.list(folder).filter((name) => isAgentHere(disk, places, wireKey, name));
  return new Set([handle, ...found]);
}

/** Whether an agent of that handle is one of them. */
export function isAgentHere(disk: Disk, places: Places, wireKey: string, handle: string): boolean {
  return disk.stat(join(programFolder(places), wireKey, handle, "wire.json")) !== undefined;
}
