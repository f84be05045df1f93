import { createHash } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
  type Dirent,
} from "node:fs";
import { join } from "node:path";
import { calling, errnoOf } from "../../storage/disk/errno.ts";
import type { SkillFile } from "../format/skill.ts";
import type { TreeEntry } from "../mirror/mirror.ts";

/** Of one skill; what has more is no skill but a data set. */
const MAX_TREE_ENTRIES = 512;
const MAX_TREE_DEPTH = 8;
const MAX_SKILL_FILE_BYTES = 4 * 1_024 * 1_024;
/** What version control and file managers leave in folders. */
const PASSED_OVER: ReadonlySet<string> = new Set([".git", ".DS_Store", "Thumbs.db", "__pycache__"]);

export interface Tree {
  /** By path from the folder, with `/`; folders themselves are not in it. */
  readonly entries: ReadonlyMap<string, TreeEntry>;
  /** Why some of it was not read; undefined: all was. */
  readonly cut: string | undefined;
}

/** All that a folder holds, links not followed. Throws StorageError. */
export function readTree(folder: string): Tree {
  const entries = new Map<string, TreeEntry>();
  const cut = walk(folder, "", 0, entries);
  return { entries, cut };
}

function walk(
  root: string,
  below: string,
  depth: number,
  entries: Map<string, TreeEntry>,
): string | undefined {
  if (depth > MAX_TREE_DEPTH) return `folders within each other, more than ${MAX_TREE_DEPTH}`;
  const folder = join(root, below);
  const found = calling(folder, "listing", () => readdirSync(folder, { withFileTypes: true }));
  for (const dirent of found.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    if (PASSED_OVER.has(dirent.name)) continue;
    const path = below === "" ? dirent.name : `${below}/${dirent.name}`;
    if (dirent.isDirectory()) {
      const cut = walk(root, path, depth + 1, entries);
      if (cut !== undefined) return cut;
      continue;
    }
    if (entries.size >= MAX_TREE_ENTRIES) return `more than ${MAX_TREE_ENTRIES} files`;
    entries.set(path, entryAt(join(root, path), dirent));
  }
  return undefined;
}

function entryAt(path: string, dirent: Dirent): TreeEntry {
  if (dirent.isSymbolicLink()) return { kind: "link", isBroken: realPathOf(path) === undefined };
  if (!dirent.isFile()) return { kind: "other" };
  const file = readSkillFile(path);
  if (file === undefined) return { kind: "other" };
  return { kind: "file", sha256: file.sha256, isExecutable: file.isExecutable };
}

/** Undefined: there is nothing, or a link that leads nowhere. */
export function realPathOf(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch (error) {
    if (["ENOENT", "ELOOP", "ENOTDIR"].includes(errnoOf(error) ?? "")) return undefined;
    throw error;
  }
}

export interface FileRead extends SkillFile {
  readonly bytes: Uint8Array;
}

/** A regular file, never through a link; undefined when it is something else, or too long. */
export function readSkillFile(path: string): FileRead | undefined {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  const fd = calling(path, "opening", () => openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile() || stat.size > MAX_SKILL_FILE_BYTES) return undefined;
    const bytes = Buffer.alloc(stat.size);
    const length = calling(path, "reading", () => readSync(fd, bytes, 0, bytes.length, 0));
    const read = bytes.subarray(0, length);
    const sha256 = createHash("sha256").update(read).digest("hex");
    return { bytes: read, sha256, isExecutable: (stat.mode & 0o100) !== 0 };
  } finally {
    closeSync(fd);
  }
}
