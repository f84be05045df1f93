import { createHash } from "node:crypto";
import { dirname, join } from "node:path";
import { lookOf, openUnlessObstructed, type Disk } from "../../storage/disk/disk.ts";
import { PRIVATE_FILE, PRIVATE_FOLDER } from "../../storage/disk/file-modes.ts";
import { sharingOf } from "../../storage/sharing.ts";
import { quote } from "../../wire/quote.ts";
import type { TransportTrouble } from "../carrier.ts";
import { listArchive, SHARED_FILES } from "../archive.ts";
import { carrierLines } from "../packed.ts";
import { appendLines } from "../publisher.ts";
import type { Mirror } from "./mirror.ts";
import { MAX_BYTES, type WirePaths } from "./wire-paths.ts";

/** The wire's folder, and who uses it here. */
export interface WireFolder {
  readonly disk: Disk;
  readonly path: string;
  readonly handle: string;
  /** Whether that agent runs on this machine: its daemon alone publishes its card. */
  isLocal(handle: string): boolean;
}

const MAX_SHARED_LINES = 200_000;

/** How shared files looked when both sides had the same lines: they are not read again. */
export type Looks = Map<string, string>;

/**
 * Makes the documents and the shared files the same in the folder and in the mirror. Answers what cannot be.
 * Spec 5.2.
 *
 * @param mayPush false: only the folder is changed
 * @throws StorageError
 */
export function exchange(
  folder: WireFolder,
  mirror: Mirror,
  paths: WirePaths,
  looks: Looks,
  mayPush: boolean,
): TransportTrouble[] {
  for (const [path, { is, owner }] of paths.live)
    if (is === "document") exchangeDocument(folder, mirror, path, owner, mayPush);
  const { disk } = folder;
  const roots = [folder.path, mirror.folder] as const;
  const archives = roots.map((root) => listArchive(disk, root, paths.layout.parts).parts);
  return SHARED_FILES.flatMap((name) => {
    const [here = [], there = []] = roots.map((root, side) => {
      const parts = archives[side]?.filter(({ live }) => live === name) ?? [];
      return [name, ...parts.map(({ path }) => path)].map((path) => join(root, path));
    });
    const look = (): string => [...here, ...there].map((file) => lookOf(disk, file)).join();
    if (looks.get(name) === look()) return [];
    const isSame = uniteLines(folder, here, there, mayPush);
    if (isSame === true) looks.set(name, look());
    return isSame === undefined ? [tooLarge(name)] : [];
  });
}

/** The side that changed since both were the same wins, else the mirror; a document of ours is as it is here. */
function exchangeDocument(
  { disk, path: folder, handle, isLocal }: WireFolder,
  { agreed, folder: mirrored }: Pick<Mirror, "agreed" | "folder">,
  path: string,
  owner: string | undefined,
  mayPush: boolean,
): void {
  const isOurs = owner === handle;
  if (owner !== undefined && !isOurs && isLocal(owner)) return;
  const [here, there] = [join(folder, path), join(mirrored, path)];
  const [ours, theirs] = [readDocument(disk, here), readDocument(disk, there)];
  const [ourId, theirId] = [digestOf(ours), digestOf(theirs)];
  const isPushed = isOurs || (owner === undefined && theirId === agreed.get(path));
  if (ourId === theirId) {
    if (ourId !== undefined) agreed.set(path, ourId);
  } else if (ours !== undefined && (isPushed || (theirs === undefined && owner === undefined))) {
    if (mayPush) replace(disk, there, ours, PRIVATE_FOLDER, PRIVATE_FILE);
  } else if (theirs !== undefined && theirId !== undefined && !isOurs) {
    const { folderMode, sharedMode, groupId } = sharingOf(disk, folder);
    replace(disk, here, theirs, folderMode, sharedMode);
    disk.setMode(here, sharedMode, groupId);
    agreed.set(path, theirId);
  }
}

function replace(
  disk: Disk,
  at: string,
  bytes: Uint8Array,
  folderMode: number,
  mode: number,
): void {
  disk.makeFolder(dirname(at), folderMode);
  disk.replace(at, bytes, mode);
}

/** Undefined where there is none, something else is in its place, or it is too large. */
function readDocument(disk: Disk, at: string): Uint8Array | undefined {
  const file = openUnlessObstructed(disk, at);
  if (file === undefined || file === "obstructed") return undefined;
  try {
    const { size } = file.stat();
    return size > MAX_BYTES.document ? undefined : file.read(size, 0);
  } finally {
    file.close();
  }
}

function digestOf(bytes: Uint8Array | undefined): string | undefined {
  return bytes && createHash("sha256").update(bytes).digest("hex");
}

/**
 * Appends to the first file of each side the lines that the other side has. Two lines are one only when all their
 * bytes are the same: by an id alone, anybody could keep another's line away. True: both have the same now;
 * undefined: one side is too large.
 */
function uniteLines(
  { disk, path: folder }: WireFolder,
  here: readonly string[],
  there: readonly string[],
  mayPush: boolean,
): boolean | undefined {
  const [ours, theirs] = [readLines(disk, here), readLines(disk, there)];
  if (ours === undefined || theirs === undefined) return undefined;
  const [ourFile = "", theirFile = ""] = [here[0], there[0]];
  const lackedHere = [...theirs].filter((line) => !ours.has(line));
  if (lackedHere.length > 0)
    appendLines(disk, ourFile, sharingOf(disk, folder).sharedMode, encode(lackedHere));
  const lackedThere = [...ours].filter((line) => !theirs.has(line));
  if (lackedThere.length === 0) return true;
  if (mayPush) appendLines(disk, theirFile, PRIVATE_FILE, encode(lackedThere));
  return false;
}

function encode(lines: readonly string[]): Uint8Array[] {
  return lines.map((line) => Buffer.from(line, "latin1"));
}

/** Whole lines of files, byte for byte as latin1, without CR at their ends and without blank ones. */
function readLines(disk: Disk, files: readonly string[]): Set<string> | undefined {
  const lines = new Set<string>();
  let bytes = 0;
  for (const path of files) {
    const file = openUnlessObstructed(disk, path);
    if (file === undefined || file === "obstructed") continue;
    try {
      const { size } = file.stat();
      bytes += size;
      if (bytes > MAX_BYTES.shared) return undefined;
      for (const line of carrierLines(file)) {
        if (line.bytes === undefined) continue;
        const text = Buffer.from(line.bytes).toString("latin1").replace(/\r$/, "");
        if (text.trim() !== "") lines.add(text);
        if (lines.size > MAX_SHARED_LINES) return undefined;
      }
    } finally {
      file.close();
    }
  }
  return lines;
}

function tooLarge(name: string): TransportTrouble {
  const limit = `${MAX_BYTES.shared / 1_048_576} MiB or ${MAX_SHARED_LINES} lines`;
  const detail = `${name} has more than ${limit} on one side; it is not compared`;
  return { cause: "wire_tampered", where: quote(name), detail };
}
