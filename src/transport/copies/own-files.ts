import { join } from "node:path";
import { lookOf, openIfThere } from "../../storage/disk/disk.ts";
import { NEWLINE } from "../../storage/disk/line-splitter.ts";
import { segmentAt, segmentPlaces } from "../../storage/archive/segments.ts";
import { wirePaths } from "../../storage/paths.ts";
import type { Log } from "../../wire/layout.ts";
import { linesOf, localLines, readShared, sharedToPush } from "./bring-shared.ts";
import type { Change } from "./changes.ts";
import { hashOf } from "./log-copy.ts";
import type { LocalFolder } from "./local-folder.ts";
import { partsOf, type RemoteFiles } from "./remote-files.ts";
import { SHARED_FILES, type SharedName } from "./wire-files.ts";

/** How files looked when their content had that id: what has not changed is not read again. */
export type PushedLooks = Map<string, { readonly look: string; readonly id: string }>;

/** What the remote lacks of a log of ours: its live file, and the parts that are archived. */
export function ownLogChanges(
  folder: LocalFolder,
  remote: RemoteFiles,
  log: Log,
  looks: PushedLooks,
): Change[] {
  const { disk, wireDir } = folder;
  const live = differing(folder, remote, looks, {
    path: log.path,
    at: join(wireDir, log.path),
    read: (at) => liveBytes(folder, at),
  });
  const archived = segmentPlaces(disk, wirePaths(wireDir).archive, log.name).flatMap(({ path }) =>
    differing(folder, remote, looks, {
      path: pathInWire(folder, path),
      at: path,
      read: (at) => segmentBytes(folder, at),
    }),
  );
  return [...archived, ...live];
}

/** What the remote lacks of the shared files. */
export async function sharedChanges(
  folder: LocalFolder,
  remote: RemoteFiles,
  looks: PushedLooks,
): Promise<Change[]> {
  const parts = partsOf(remote, folder.wire).shared;
  const changes: Change[] = [];
  for (const name of SHARED_FILES) {
    changes.push(...(await sharedFile(folder, remote, looks, name, parts.get(name) ?? [])));
  }
  return changes;
}

async function sharedFile(
  folder: LocalFolder,
  remote: RemoteFiles,
  looks: PushedLooks,
  name: SharedName,
  parts: readonly string[],
): Promise<Change[]> {
  const { disk, wireDir } = folder;
  const path = `${name}.jsonl`;
  const segments = segmentPlaces(disk, wirePaths(wireDir).archive, name);
  const mark = parts.map((part) => remote.files.get(part)?.id ?? "").join(" ");
  const look = [join(wireDir, path), ...segments.map((each) => each.path)]
    .map((at) => lookOf(disk, at))
    .join(";");
  const known = looks.get(path);
  if (known?.look === look && known.id === mark) return [];
  const archived = segments.flatMap(({ path: at }) => {
    const to = pathInWire(folder, at);
    const bytes = remote.files.has(to) ? undefined : segmentBytes(folder, at);
    return bytes === undefined ? [] : [{ path: to, bytes }];
  });
  // Where we archive it, the live file of the remote begins again as ours does.
  const isArchived = archived.length > 0;
  const segmentsThere = await readShared(
    remote,
    parts.filter((part) => part !== path),
  );
  const theirs = await readShared(remote, remote.files.has(path) ? [path] : []);
  const ours = localLines(folder, path);
  // What is larger than is read is named by the fetch; nothing is put into its place.
  if (segmentsThere === undefined || theirs === undefined || ours === undefined) {
    looks.set(path, { look, id: mark });
    return [];
  }
  const inSegments = new Set(
    [...linesOf(segmentsThere), ...archived.flatMap(({ bytes }) => [...linesOf(bytes)])].map(
      hashOf,
    ),
  );
  const base = isArchived
    ? Buffer.concat([...linesOf(theirs)].filter((line) => !inSegments.has(hashOf(line))).map(ended))
    : theirs;
  const live = sharedToPush(ours, base, inSegments) ?? (isArchived ? base : undefined);
  if (live === undefined && !isArchived) {
    looks.set(path, { look, id: mark });
    return [];
  }
  return [...archived, ...(live === undefined ? [] : [{ path, bytes: live }])];
}

function ended(line: Uint8Array): Buffer {
  return Buffer.concat([line, Uint8Array.of(NEWLINE)]);
}

interface OwnFile {
  readonly path: string;
  readonly at: string;
  read(at: string): Uint8Array | undefined;
}

function differing(
  { disk }: LocalFolder,
  remote: RemoteFiles,
  looks: PushedLooks,
  { path, at, read }: OwnFile,
): Change[] {
  const look = lookOf(disk, at);
  const theirs = remote.files.get(path)?.id;
  const known = looks.get(path);
  if (known !== undefined && known.look === look && known.id === theirs) return [];
  const bytes = read(at);
  if (bytes === undefined) return [];
  const id = remote.idOf(bytes);
  looks.set(path, { look, id });
  return id === theirs ? [] : [{ path, bytes }];
}

/** The whole lines of a log of ours, on disk before anybody else has them. */
function liveBytes({ disk }: LocalFolder, at: string): Uint8Array | undefined {
  const file = openIfThere(disk, at);
  if (file === undefined) return undefined;
  try {
    file.datasync();
    const bytes = file.read(file.stat().size, 0);
    return bytes.subarray(0, bytes.lastIndexOf(NEWLINE) + 1);
  } finally {
    file.close();
  }
}

function segmentBytes({ disk }: LocalFolder, at: string): Uint8Array | undefined {
  const segment = segmentAt(disk, at);
  if (segment === undefined) return undefined;
  const reader = segment.open();
  try {
    return reader.read(segment.size, 0);
  } finally {
    reader.close();
  }
}

/** Without what compression adds: the remote has the plain form. */
function pathInWire({ wireDir }: LocalFolder, at: string): string {
  return at.slice(join(wireDir, "/").length).replace(/\.gz$/, "");
}
