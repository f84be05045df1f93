import { basename, dirname, join } from "node:path";
import { StorageError, type Disk } from "../../storage/disk/disk.ts";

/** Something that grows with use. Spec 4.6. */
export interface GrowthView {
  what: "logs" | "store" | "decisions" | "incidents" | "inbox";
  /** How many files. */
  files: number;
  bytes: number;
  /** What to do; absent while it is small, or where it is kept small by itself. */
  advice?: string;
}

/** Paths of what the wire's folder has. */
export interface SharedFiles {
  readonly logs: readonly string[];
  readonly decisions: readonly string[];
  readonly incidents: readonly string[];
}

/** Where the private files lie. */
interface Grown {
  readonly store: { readonly path: string };
  readonly place: { readonly inboxPath: string };
  readonly world: { readonly disk: Disk };
}

/** Beyond this a copy of it takes seconds to minutes. */
const LARGE_BYTES = 256 * 1_048_576;
const ARCHIVE = "compress what of it is over: deaddrop transport archive --compress";
const ADVICE: { readonly [W in GrowthView["what"]]: string } = {
  logs: ARCHIVE,
  store:
    "nothing shortens it: begin a new wire for new work, in a new folder: deaddrop init --wire",
  decisions: ARCHIVE,
  incidents: ARCHIVE,
  inbox: "read it, and what is read goes by itself: deaddrop inbox --unread --mark-read",
};

/** How large each file is that grows with use; it looks at names and sizes only. */
export function growthView(
  { store, place, world: { disk } }: Grown,
  { logs, decisions, incidents }: SharedFiles,
): GrowthView[] {
  const rows: readonly (readonly [GrowthView["what"], readonly string[]])[] = [
    ["logs", logs],
    ["store", [store.path, `${store.path}-wal`]],
    ["decisions", decisions],
    ["incidents", incidents],
    ["inbox", partsOf(disk, place.inboxPath)],
  ];
  return rows.map(([what, files]) => {
    const sizes = files.flatMap((path) => sizeOf(disk, path) ?? []);
    const bytes = sizes.reduce((sum, size) => sum + size, 0);
    const size = { what, files: sizes.length, bytes };
    return bytes > LARGE_BYTES ? { ...size, advice: ADVICE[what] } : size;
  });
}

/** A file, and what lies beside it under the same name with a number. */
function partsOf(disk: Disk, path: string): string[] {
  const folder = dirname(path);
  if (disk.stat(folder)?.kind !== "folder") return [];
  const base = basename(path, ".jsonl");
  return disk
    .list(folder)
    .filter((name) => name.endsWith(".jsonl") && (name + ".").startsWith(`${base}.`))
    .map((name) => join(folder, name));
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
