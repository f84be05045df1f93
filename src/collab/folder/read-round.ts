import { createHash } from "node:crypto";
import { join, dirname, relative, resolve, sep } from "node:path";
import { readWhole, StorageError, type Disk } from "../../storage/disk/disk.ts";
import { readEvents } from "../documents/event-lines.ts";
import {
  declaredFiles,
  OBSOLETE_FILES,
  ROUND_FILES,
  readProtocol,
  type Protocol,
  type Deliverables,
} from "../documents/protocol-file.ts";
import { isFields, type Fields } from "../documents/text.ts";
import type { Schema } from "../machine/event.ts";
import { replayEvents } from "../machine/machine.ts";
import { RoundRefused } from "../refused.ts";
import type { Round, RoundFile } from "../rules/round.ts";

export const PROTOCOL_FILE = "protocol.json";
export const EVENTS_FILE = "events.jsonl";

/** As in messages: deeper ones are no work of people. */
const MAX_PROTOCOL_DEPTH = 64;
/** Participants, gates and deliverables are few. */
const MAX_PROTOCOL_BYTES = 1_048_576;
/** Beyond any document that people read. */
const MAX_ROUND_FILE_BYTES = 64 * 1024 * 1024;

/** A round and the bytes that it was read from. */
export interface ReadRound {
  readonly round: Round;
  readonly protocolText: string;
  readonly eventBytes: Uint8Array;
}

/**
 * Reads a round's folder, by a given schema or its own. Throws RoundRefused where there is no round:
 * no folder, no `protocol.json`, or one that is no JSON object.
 */
export function readRound(disk: Disk, folder: string, wanted?: Schema): ReadRound {
  const { round, ...bytes } = readHead(disk, folder, wanted);
  const documents = new Map<string, RoundFile>(
    ROUND_FILES.map((name) => [name, readFile(disk, join(folder, name))]),
  );
  const obsolete = OBSOLETE_FILES.filter((name) => disk.stat(join(folder, name)) !== undefined);
  return {
    ...bytes,
    round: { ...round, ...readDeliverables(disk, folder, round.protocol), documents, obsolete },
  };
}

/** The same without documents: whose turn it is follows from the rest. */
export function readHead(
  disk: Disk,
  folder: string,
  wanted?: Schema,
  maxBytes = MAX_ROUND_FILE_BYTES,
): ReadRound {
  const protocolText = readNeeded(disk, folder, PROTOCOL_FILE, MAX_PROTOCOL_BYTES).toString("utf8");
  const { protocol, problems } = readProtocol(parsed(protocolText), wanted);
  const eventBytes = readNeeded(disk, folder, EVENTS_FILE, maxBytes);
  const { schema, participants, deliverables } = protocol;
  const rules = { schema, participants, primary: deliverables?.primary?.reference };
  const events = readEvents(eventBytes.toString("utf8"), schema);
  const round: Round = {
    protocol,
    protocolProblems: problems,
    events,
    rules,
    replayed: replayEvents(rules, events.events),
    documents: new Map(),
    deliverables: new Map(),
    obsolete: [],
    placeProblems: [],
  };
  return { round, protocolText, eventBytes };
}

function readNeeded(disk: Disk, folder: string, name: string, maxBytes: number): Buffer {
  try {
    const bytes = readBuffer(disk, join(folder, name), maxBytes);
    if (bytes !== undefined) return bytes;
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    throw new RoundRefused([error.message], { cause: error });
  }
  const isFolder = disk.stat(folder) !== undefined;
  throw new RoundRefused([
    isFolder ? `${join(folder, name)} is missing: this is no round` : `${folder}: no such folder`,
  ]);
}

function parsed(text: string): Fields {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new RoundRefused([`protocol.json is no JSON: ${error.message}`], { cause: error });
  }
  if (depthOf(value) > MAX_PROTOCOL_DEPTH) {
    throw new RoundRefused([`protocol.json is nested deeper than ${MAX_PROTOCOL_DEPTH} levels`]);
  }
  if (isFields(value)) return value;
  throw new RoundRefused(["protocol.json must hold a JSON object"]);
}

/** Without recursion: what follows reads it recursively. */
function depthOf(value: unknown): number {
  let depth = 0;
  let level: readonly unknown[] = [value];
  while (level.length > 0 && depth <= MAX_PROTOCOL_DEPTH) {
    level = level.flatMap((each) =>
      typeof each === "object" && each !== null ? (Object.values(each) as unknown[]) : [],
    );
    depth += 1;
  }
  return depth;
}

function readDeliverables(
  disk: Disk,
  folder: string,
  protocol: Protocol,
): Pick<Round, "deliverables" | "placeProblems"> {
  const { deliverables, repoRoot } = protocol;
  if (deliverables === undefined) return { deliverables: new Map(), placeProblems: [] };
  const place = deliverablePlace(disk, folder, deliverables, repoRoot);
  if (typeof place === "string") return { deliverables: new Map(), placeProblems: [place] };
  const files = declaredFiles(protocol).map(({ reference, file }): [string, RoundFile] => {
    const path = join(place.folder, file);
    const problem = escapeProblem(disk, path, place.boundary);
    return [reference, problem === undefined ? readFile(disk, path) : { ok: false, problem }];
  });
  return { deliverables: new Map(files), placeProblems: [] };
}

/** A document; one that is missing, a link or too large is a finding, and no failure. */
function readFile(disk: Disk, path: string): RoundFile {
  try {
    const bytes = readBuffer(disk, path, MAX_ROUND_FILE_BYTES);
    if (bytes === undefined) return { ok: false, problem: "is missing" };
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    return { ok: true, text: bytes.toString("utf8"), sha256 };
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    return { ok: false, problem: `cannot be read: ${error.message}` };
  }
}

function readBuffer(disk: Disk, path: string, maxBytes: number): Buffer | undefined {
  const bytes = readWhole(disk, path, maxBytes);
  return bytes && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

/**
 * The folder of the deliverables, or what is wrong with it. `boundary`: the real path that they must not
 * lead out of, the round's folder or the repository. Spec 6.2.
 */
function deliverablePlace(
  disk: Disk,
  folder: string,
  { mode, dir }: Deliverables,
  repoRoot: string | undefined,
): { readonly folder: string; readonly boundary: string } | string {
  const real = disk.realPath(folder);
  if (mode === "internal") return { folder: join(real, dir), boundary: real };
  const root = resolve(real, repoRoot ?? "");
  if (repoRoot === undefined || !isBelow(root, real)) {
    return `repoRoot ${repoRoot ?? ""} is no ancestor of the folder`;
  }
  return { folder: join(root, dir), boundary: root };
}

/** Whether a path is below a folder, both real. */
export function isBelow(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== "" && way !== ".." && !way.startsWith(`..${sep}`);
}

/** What is wrong with the way to a deliverable: no link of it may lead out. */
function escapeProblem(disk: Disk, path: string, boundary: string): string | undefined {
  try {
    const holder = disk.realPath(dirname(path));
    if (holder === boundary || isBelow(boundary, holder)) return undefined;
    return "is outside, through a symbolic link";
  } catch (error) {
    if (error instanceof StorageError && error.code === "missing") return "is missing";
    throw error;
  }
}
