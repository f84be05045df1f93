import { dirname, join } from "node:path";
import { lookOf, readWhole, StorageError } from "../../storage/disk/disk.ts";
import { sharingOf } from "../../storage/sharing.ts";
import { MAX_CONFIG_BYTES } from "../../wire/limits.ts";
import { quote } from "../../wire/quote.ts";
import type { TransportTrouble } from "../port.ts";
import type { Change } from "./changes.ts";
import { documentStep, mergedJson, type DocumentStep } from "./documents.ts";
import type { LocalFolder } from "./local-folder.ts";
import { wholeOf, type RemoteFiles } from "./remote-files.ts";

/** The id that each document had when the folder and the remote were last the same. It is durable. */
export interface Agreed {
  get(path: string): string | undefined;
  set(path: string, id: string): void;
}

export interface BroughtDocuments {
  readonly changed: string[];
  readonly troubles: TransportTrouble[];
  /** Documents that could not be written. */
  readonly failed: StorageError[];
}

/** Who writes a document, as far as this daemon is concerned; undefined: it is none of its business. */
type Whose = "ours" | "another's" | "everybody's";

/** The document whose entries belong to several agents. */
const MERGED = "trust.json";

/** Replaces the documents here that others have changed in the remote. One's trouble stops no other. */
export async function bringDocuments(
  folder: LocalFolder,
  remote: RemoteFiles,
  agreed: Agreed,
  isMover: boolean,
): Promise<BroughtDocuments> {
  const brought: BroughtDocuments = { changed: [], troubles: [], failed: [] };
  for (const [path, whose] of documents(folder, isMover)) {
    const found = remote.files.get(path);
    if (found !== undefined && found.bytes > MAX_CONFIG_BYTES) {
      brought.troubles.push(trouble(path, "it is too large for what it is, and is not taken in"));
      continue;
    }
    const { step, local, id } = stepOf(folder, remote, agreed, { path, whose });
    if (step === "same" && found !== undefined && id === found.id) agreed.set(path, found.id);
    if (whose === "ours" && found !== undefined && isChangedByOthers(agreed, path, found.id, id)) {
      brought.troubles.push(trouble(path, "it is ours, and somebody has changed it in the remote"));
    }
    if (found === undefined || (step !== "take" && step !== "merge")) continue;
    const theirs = await wholeOf(remote, [path]);
    const merged = step === "merge" ? merge(theirs, local) : theirs;
    try {
      write(folder, path, merged);
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
      brought.failed.push(error);
      continue;
    }
    agreed.set(path, found.id);
    brought.changed.push(path);
  }
  return brought;
}

/** The documents that the remote lacks, or has in an older form. */
export function documentChanges(
  folder: LocalFolder,
  remote: RemoteFiles,
  agreed: Agreed,
  isMover: boolean,
): Change[] {
  return [...documents(folder, isMover)].flatMap(([path, whose]) => {
    const { step, local } = stepOf(folder, remote, agreed, { path, whose });
    return step === "push" && local !== undefined ? [{ path, bytes: local }] : [];
  });
}

function isChangedByOthers(
  agreed: Agreed,
  path: string,
  theirs: string,
  ours: string | undefined,
): boolean {
  const last = agreed.get(path);
  return last !== undefined && last !== theirs && ours !== theirs;
}

function* documents(
  { wire, handle, local }: LocalFolder,
  isMover: boolean,
): Generator<readonly [path: string, whose: Whose]> {
  for (const path of wire.paths) {
    const file = wire.of(path);
    if (file?.is !== "document") continue;
    if (file.owner === handle) yield [path, "ours"];
    else if (!isMover || (file.owner !== undefined && local().has(file.owner))) continue;
    else yield [path, file.owner === undefined ? "everybody's" : "another's"];
  }
}

function stepOf(
  { disk, wireDir }: LocalFolder,
  remote: RemoteFiles,
  agreed: Agreed,
  { path, whose }: { readonly path: string; readonly whose: Whose },
): { step: DocumentStep; local: Uint8Array | undefined; id: string | undefined } {
  const local = readDocument(join(wireDir, path), disk);
  const id = local === undefined ? undefined : remote.idOf(local);
  const state = { local: id, remote: remote.files.get(path)?.id, agreed: agreed.get(path) };
  return { step: documentStep(state, whose, path === MERGED), local, id };
}

/** Undefined where there is none, or something else is in its place. */
function readDocument(at: string, disk: LocalFolder["disk"]): Uint8Array | undefined {
  if (lookOf(disk, at) === "") return undefined;
  try {
    return readWhole(disk, at, MAX_CONFIG_BYTES);
  } catch (error) {
    if (error instanceof StorageError) return undefined;
    throw error;
  }
}

function write({ disk, wireDir }: LocalFolder, path: string, bytes: Uint8Array): void {
  const at = join(wireDir, path);
  const { folderMode, sharedMode, groupId } = sharingOf(disk, wireDir);
  const above = dirname(at);
  if (disk.stat(above) === undefined) {
    disk.makeFolder(above, folderMode);
    disk.setMode(above, folderMode, groupId);
  }
  disk.replace(at, bytes, sharedMode);
  disk.setMode(at, sharedMode, groupId);
}

/** Theirs first: others have it already. What is no JSON is not merged. */
function merge(theirs: Buffer, ours: Uint8Array | undefined): Uint8Array {
  const text = mergedJson(theirs.toString("utf8"), Buffer.from(ours ?? []).toString("utf8"));
  return text === undefined ? theirs : Buffer.from(text, "utf8");
}

function trouble(path: string, detail: string): TransportTrouble {
  return { cause: "wire_tampered", where: quote(path), detail };
}
