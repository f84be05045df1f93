import { createHash } from "node:crypto";
import { join } from "node:path";
import type { AgentConfig } from "../../agent/config/agent-config.ts";
import { wholeLogs } from "../../storage/archive/whole-logs.ts";
import type { Disk } from "../../storage/disk/disk.ts";
import { programFolder, type AgentPaths, type Places } from "../../storage/paths.ts";
import type { LocalFolder } from "../../transport/copies/local-folder.ts";
import { wireFiles } from "../../transport/copies/wire-files.ts";
import { PRIVATE_FILE, PRIVATE_FOLDER } from "../../storage/disk/file-modes.ts";

const MAX_REMOTE_EVIDENCE = 16;

/** An agent's wire folder, as a transport uses it. */
export function localFolder(
  disk: Disk,
  places: Places,
  { paths, handle, layout, config }: Pick<AgentConfig, "paths" | "handle" | "layout" | "config">,
): LocalFolder {
  const whole = wholeLogs(disk, paths.wireDir);
  const closed = [...layout.logs.values()].filter(({ into }) => into !== undefined);
  const names = closed.map(({ name }) => name);
  const wire = wireFiles(layout.kind, layout.roster, names);
  const local = (): ReadonlySet<string> => agentsHere(disk, places, paths.wireKey, handle);
  return {
    ...{ disk, whole, wire, handle, local },
    ...{ wireDir: paths.wireDir, wireId: config.wireId },
  };
}

/** The agents of this user that are on that wire: they have private folders for it. */
export function agentsHere(
  disk: Disk,
  places: Places,
  wireKey: string,
  handle: string,
): ReadonlySet<string> {
  const folder = join(programFolder(places), wireKey);
  const found = disk
    .list(folder)
    .filter((name) => disk.stat(join(folder, name, "wire.json")) !== undefined);
  return new Set([handle, ...found]);
}

/** Lines of a log of ours that are not ours: for people, and for `reclaim --from`. Kept once. */
export function keepLines(
  disk: Disk,
  { evidence }: Pick<AgentPaths, "evidence">,
  log: string,
  lines: Uint8Array,
): string | undefined {
  const name = createHash("sha256").update(lines).digest("hex").slice(0, 16);
  const path = join(evidence, `remote-${log}-${name}.jsonl`);
  if (disk.stat(path) !== undefined) return path;
  // Everybody who can push can make more of them: the first ones stay.
  const kept = disk.list(evidence).filter((each) => each.startsWith("remote-"));
  if (kept.length >= MAX_REMOTE_EVIDENCE) return undefined;
  disk.makeFolder(evidence, PRIVATE_FOLDER);
  disk.replace(path, lines, PRIVATE_FILE);
  return path;
}
