import { dirname, join } from "node:path";
import type { GrowthView } from "../../api/growth.ts";
import { StorageError, type Disk } from "../../storage/disk/disk.ts";
import type { AgentConfig } from "../config/agent-config.ts";

/** Beyond this a start, a search and a copy of it take seconds to minutes. */
const LARGE_BYTES = 256 * 1_048_576;

const NEW_WIRE =
  "nothing shortens it: begin a new wire for new work, in a new folder: deaddrop init --wire";
const ARCHIVE = "compress what of it is over: deaddrop archive --compress";

/** What to do when it is large. Quarantine and evidence are bounded and need nothing. */
const ADVICE: { readonly [W in GrowthView["what"]]?: string } = {
  logs: ARCHIVE,
  journal: NEW_WIRE,
  decisions: ARCHIVE,
  incidents: ARCHIVE,
  inbox: "read it, and what is read goes by itself: deaddrop inbox --unread --mark-read",
};

/** How large each file is that grows with use; it looks at names and sizes only. */
export function growthOf(disk: Disk, { wire, layout, paths }: AgentConfig): GrowthView[] {
  const logs = [...layout.logs.values()].map(({ path }) => join(wire.folder, path));
  const rows: readonly (readonly [GrowthView["what"], readonly string[]])[] = [
    ["logs", logs],
    ["journal", [paths.journal]],
    ["decisions", [wire.decisions]],
    ["incidents", [wire.incidents]],
    ["inbox", filesLike(disk, paths.stateDir, /^inbox(\.[0-9]{16})?\.jsonl$/)],
    ["index", [paths.lineIndex, ...filesLike(disk, paths.shownRows, /./)]],
    ["quarantine", filesLike(disk, dirname(paths.quarantine), /^quarantine\b.*\.jsonl$/)],
    ["evidence", filesLike(disk, paths.evidence, /./)],
  ];
  return rows.map(([what, files]) => {
    const sizes = files.flatMap((path) => sizeOf(disk, path) ?? []);
    const bytes = sizes.reduce((sum, size) => sum + size, 0);
    const advice = bytes > LARGE_BYTES ? ADVICE[what] : undefined;
    const size = { what, files: sizes.length, bytes };
    return advice === undefined ? size : { ...size, advice };
  });
}

function filesLike(disk: Disk, folder: string, name: RegExp): string[] {
  if (disk.stat(folder)?.kind !== "folder") return [];
  return disk.list(folder).flatMap((each) => (name.test(each) ? join(folder, each) : []));
}

function sizeOf(disk: Disk, path: string): number | undefined {
  try {
    const stat = disk.stat(path);
    return stat?.kind === "file" ? stat.size : undefined;
  } catch (error) {
    // A folder that is closed to us is another check's business.
    if (error instanceof StorageError) return undefined;
    throw error;
  }
}
