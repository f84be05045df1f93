import type { SharedName, WireFiles } from "./wire-files.ts";
import { inOrder } from "./wire-files.ts";

/** The files that a fetch found, by their paths in the wire. */
export interface RemoteFiles {
  readonly files: ReadonlyMap<string, RemoteFile>;
  /** The id of a file with that content. */
  idOf(bytes: Uint8Array): string;
  /** The bytes of a file, as they come. */
  read(id: string, into: (chunk: Uint8Array) => void): Promise<void>;
}

export interface RemoteFile {
  /** Names the content: equal ids are equal bytes. */
  readonly id: string;
  readonly bytes: number;
}

/** The parts of each log and shared file in the remote: archived ones first, then the live one. */
export interface RemoteParts {
  readonly logs: ReadonlyMap<string, readonly string[]>;
  readonly shared: ReadonlyMap<SharedName, readonly string[]>;
}

export function partsOf({ files }: RemoteFiles, wire: WireFiles): RemoteParts {
  const logs = new Map<string, Parameters<typeof inOrder>[0][number][]>();
  const shared = new Map<SharedName, Parameters<typeof inOrder>[0][number][]>();
  for (const path of files.keys()) {
    const file = wire.of(path);
    if (file?.is === "log") add(logs, file.log.name, { path, segment: file.segment });
    if (file?.is === "shared") add(shared, file.name, { path, segment: file.segment });
  }
  return { logs: ordered(logs), shared: ordered(shared) };
}

function add<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [value]);
  else list.push(value);
}

function ordered<K>(
  map: ReadonlyMap<K, Parameters<typeof inOrder>[0][number][]>,
): ReadonlyMap<K, readonly string[]> {
  return new Map([...map].map(([key, parts]) => [key, inOrder(parts)]));
}

/**
 * The bytes of these parts, one after the other, as one file. Parts with the same bytes are one: a few
 * kilobytes of names could stand for any amount.
 */
export async function readParts(
  remote: RemoteFiles,
  paths: readonly string[],
  into: (chunk: Uint8Array) => void,
): Promise<void> {
  const ids = new Set(paths.flatMap((path) => remote.files.get(path)?.id ?? []));
  for (const id of ids) await remote.read(id, into);
}

/** The same, in memory. */
export async function wholeOf(remote: RemoteFiles, paths: readonly string[]): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  await readParts(remote, paths, (chunk) => chunks.push(chunk));
  return Buffer.concat(chunks);
}
