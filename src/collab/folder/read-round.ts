import { createHash } from "node:crypto";
import { join } from "node:path";
import { readEvents } from "../documents/event-lines.ts";
import { OBSOLETE_FILES, ROUND_FILES } from "../documents/obsolete.ts";
import { readProtocol, type Protocol } from "../documents/protocol-file.ts";
import type { Schema } from "../machine/event.ts";
import { RoundRefused } from "../refused.ts";
import type { Round, RoundFile } from "../rules/round.ts";
import { readWhole, StorageError, type Disk } from "../../storage/disk/disk.ts";
import { deliverablePlace, escapeProblem } from "./round-places.ts";

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
  const head = readHead(disk, folder, wanted);
  const documents = new Map<string, RoundFile>(
    ROUND_FILES.map((name) => [name, readFile(disk, join(folder, name))]),
  );
  const obsolete = OBSOLETE_FILES.filter((name) => disk.stat(join(folder, name)) !== undefined);
  const { round, ...bytes } = head;
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
  const round: Round = {
    protocol,
    protocolProblems: problems,
    events: readEvents(eventBytes.toString("utf8"), protocol.schema),
    documents: new Map(),
    deliverables: new Map(),
    obsolete: [],
    placeProblems: [],
  };
  return { round, protocolText, eventBytes };
}

function readNeeded(disk: Disk, folder: string, name: string, maxBytes: number): Buffer {
  try {
    const bytes = readWhole(disk, join(folder, name), maxBytes);
    if (bytes !== undefined) return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    throw new RoundRefused([error.message], { cause: error });
  }
  const isFolder = disk.stat(folder) !== undefined;
  throw new RoundRefused([
    isFolder ? `${join(folder, name)} is missing: this is no round` : `${folder}: no such folder`,
  ]);
}

function parsed(text: string): Readonly<Record<string, unknown>> {
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
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return value as Readonly<Record<string, unknown>>;
  }
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
  { deliverables, repoRoot }: Protocol,
): Pick<Round, "deliverables" | "placeProblems"> {
  if (deliverables === undefined) return { deliverables: new Map(), placeProblems: [] };
  const place = deliverablePlace(disk, folder, deliverables, repoRoot);
  if (typeof place === "string") return { deliverables: new Map(), placeProblems: [place] };
  const { primary, supporting } = deliverables;
  const declared = [primary, ...supporting].flatMap((each) => each ?? []);
  const files = declared.map(({ reference, file }): [string, RoundFile] => {
    const path = join(place.folder, file);
    const problem = escapeProblem(disk, path, place.boundary);
    return [reference, problem === undefined ? readFile(disk, path) : { ok: false, problem }];
  });
  return { deliverables: new Map(files), placeProblems: [] };
}

/** A document; one that is missing, a link or too large is a finding, and no failure. */
function readFile(disk: Disk, path: string): RoundFile {
  try {
    const bytes = readWhole(disk, path, MAX_ROUND_FILE_BYTES);
    if (bytes === undefined) return { ok: false, problem: "is missing" };
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8");
    return { ok: true, text, sha256: createHash("sha256").update(bytes).digest("hex") };
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    return { ok: false, problem: `cannot be read: ${error.message}` };
  }
}
