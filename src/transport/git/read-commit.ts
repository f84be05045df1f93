import type { ObjectReader } from "./object-reader.ts";
import { isPlainFile, treeWith, type ListedEntry, type Tree } from "./tree.ts";

/** The bytes of blobs, by their ids. */
export type Blobs = ReadonlyMap<string, Buffer>;

/** What a commit holds, and what of it is new. */
export interface CommitFiles {
  readonly tree: Tree;
  /** The files that were not known, but for large ones. */
  readonly blobs: Blobs;
  /** Whether the commit that was known is among the last ones of its history. */
  readonly isAfterKnown: boolean;
}

/** What is known of an earlier commit. */
export interface KnownCommit {
  readonly id: string | undefined;
  /** How many bytes its files have, by their ids. */
  readonly sizes: ReadonlyMap<string, number>;
}

/** A wire has one level of folders; what holds it, few. */
const MAX_FOLDERS_DEEP = 8;
/** So many commits are looked at for the one that was known. */
const MAX_COMMITS = 32;
const FOLDER = "40000";

/**
 * Reads a commit by its objects: few are new. Undefined: it has too much, or something is wrong; then
 * `readTree` lists it and says what. Spec 5.2.
 */
export async function readCommit(
  reader: ObjectReader,
  id: string,
  known: KnownCommit,
): Promise<CommitFiles | undefined> {
  const commit = await commitAt(reader, id);
  if (commit === undefined) return undefined;
  const entries = await entriesBelow(reader, { id: commit.tree, path: "", depth: 0 });
  if (entries === undefined) return undefined;
  const blobs = new Map<string, Buffer>();
  const sized = await Promise.all(
    entries.map(async (entry): Promise<ListedEntry | undefined> => {
      const size = isPlainFile(entry.mode) ? known.sizes.get(entry.id) : 0;
      if (size !== undefined) return { ...entry, bytes: size };
      const object = await reader.read(entry.id);
      if (object?.type !== "blob") return undefined;
      if (object.bytes !== undefined) blobs.set(entry.id, object.bytes);
      return { ...entry, bytes: object.size };
    }),
  );
  const listed = sized.filter((entry) => entry !== undefined);
  if (listed.length < sized.length) return undefined;
  const isAfterKnown = known.id !== undefined && (await isAfter(reader, commit, known.id));
  return { tree: treeWith(listed, true), blobs, isAfterKnown };
}

interface Commit {
  readonly tree: string;
  readonly parents: readonly string[];
}

async function commitAt(reader: ObjectReader, id: string): Promise<Commit | undefined> {
  const object = await reader.read(id);
  if (object?.type !== "commit" || object.bytes === undefined) return undefined;
  // Strictly as git reads it: its author chooses every other row, and what is in a row but a newline.
  const rows = object.bytes.toString("latin1").split("\n");
  const [, tree] = /^tree ([0-9a-f]+)$/.exec(rows[0] ?? "") ?? [];
  if (tree === undefined) return undefined;
  const parents: string[] = [];
  for (const row of rows.slice(1)) {
    const [, parent] = /^parent ([0-9a-f]+)$/.exec(row) ?? [];
    if (parent === undefined) break;
    parents.push(parent);
  }
  return { tree, parents };
}

/** Whether `older` is one of the last commits before that one. */
async function isAfter(reader: ObjectReader, { parents }: Commit, older: string): Promise<boolean> {
  const waiting = [...parents];
  for (let looked = 0; looked < MAX_COMMITS; looked += 1) {
    const id = waiting.shift();
    if (id === undefined) return false;
    if (id === older) return true;
    waiting.push(...((await commitAt(reader, id))?.parents ?? []));
  }
  return false;
}

type Entry = Omit<ListedEntry, "bytes">;

/** All entries that are no folders, in git's own order. Undefined: there is something else than expected. */
async function entriesBelow(
  reader: ObjectReader,
  { id, path, depth }: { readonly id: string; readonly path: string; readonly depth: number },
): Promise<Entry[] | undefined> {
  if (depth > MAX_FOLDERS_DEEP) return undefined;
  const object = await reader.read(id);
  if (object?.type !== "tree" || object.bytes === undefined) return undefined;
  const parts = await Promise.all(
    entriesIn(object.bytes, id.length / 2).map(async (entry) => {
      const at = { ...entry, path: path + entry.path };
      if (entry.mode !== FOLDER) return [at];
      return entriesBelow(reader, { id: entry.id, path: `${at.path}/`, depth: depth + 1 });
    }),
  );
  const found = parts.filter((part) => part !== undefined);
  return found.length < parts.length ? undefined : found.flat();
}

/** git's own form of a tree: `<mode> <name>`, a zero byte, and the bytes of the id. */
function entriesIn(tree: Buffer, idBytes: number): Entry[] {
  const entries: Entry[] = [];
  for (let at = 0; at < tree.length;) {
    const end = tree.indexOf(0, at);
    if (end < 0) break;
    const [mode = "", ...name] = tree.toString("utf8", at, end).split(" ");
    const id = tree.toString("hex", end + 1, end + 1 + idBytes);
    entries.push({ mode: listedMode(mode), id, path: name.join(" ") });
    at = end + 1 + idBytes;
  }
  return entries;
}

/** As git lists it: a program by one of its bits, and what is nothing else as a submodule. */
function listedMode(octal: string): string {
  const mode = Number.parseInt(octal, 8);
  switch (mode >> 12) {
    case 0o10:
      return (mode & 0o100) === 0 ? "100644" : "100755";
    case 0o12:
      return "120000";
    case 0o04:
      return FOLDER;
    default:
      return "160000";
  }
}
