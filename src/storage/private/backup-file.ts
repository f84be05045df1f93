import { createHash } from "node:crypto";
import { DocumentReader, shown } from "../../trust/policy/document.ts";
import { isHandle } from "../../wire/handle.ts";
import { parseObject } from "../../wire/json/json.ts";

/** Where a file belongs: beside the key, in the wire's private folder, or in its state. Spec 4.6. */
const PLACES = ["identity", "config", "state"] as const;
export type BackupPlace = (typeof PLACES)[number];

export interface BackupFile {
  readonly place: BackupPlace;
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** One agent's private files on one wire, as they were at one moment. */
export interface Backup {
  readonly handle: string;
  readonly wireKey: string;
  /** Undefined on a wire without an id. */
  readonly wireId: string | undefined;
  /** Where the wire's folder lay: for a person to know it by. */
  readonly wireDir: string;
  /** ISO-8601. */
  readonly madeAt: string;
  /** `version` of the trust store; 0 when nothing was pinned. */
  readonly storeVersion: number;
  /** The repository through which the wire is shared with other machines, if it is. */
  readonly remote?: BackupRemote | undefined;
  readonly files: readonly BackupFile[];
}

/** `prefix`: where in the repository the wire is, "" for its top, otherwise with "/" at the end. */
export interface BackupRemote {
  readonly url: string;
  readonly branch: string;
  readonly prefix: string;
}

export type BackupParse =
  { readonly ok: true; readonly backup: Backup } | { readonly ok: false; readonly detail: string };

const FORMAT = "deaddrop-backup";
const BACKUP_VERSION = 1;
/** A snapshot of the store, as the file in the private folder is named. */
export const STORE_NAME = "store.db";
const MAX_FILES = 256;
export const MAX_FILE_BYTES = 16 * 1024 * 1024;
const MAX_ALL_BYTES = 32 * 1024 * 1024;
/** Base64 takes a third more, names and sums a little. */
export const MAX_DOCUMENT_BYTES = 48 * 1024 * 1024;

/** Whether a backup holds a file of that name there; nothing else is ever written. */
export function isBackupName(handle: string, place: BackupPlace, name: string): boolean {
  switch (place) {
    case "identity":
      if (name === `${handle}.key` || name === `${handle}.pub.json`) return true;
      return (
        name.startsWith(`${handle}.key.`) &&
        /^[0-9a-f]{1,64}\.old$/.test(name.slice(handle.length + 5))
      );
    case "config":
      // A lock holds nothing; a name with a dot before it is a file that is just being written.
      return (
        /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(name) &&
        !/\.(lock|new|tmp)$/.test(name) &&
        // What a key has signed since a backup no backup knows. Spec 1.6.
        name !== "mark"
      );
    case "state":
      return name === "trust_seen.json" || name === STORE_NAME;
  }
}

/** Why these files make no backup: there are too many, or they are too long. */
export function boundsProblem(
  files: readonly Pick<BackupFile, "name" | "bytes">[],
): string | undefined {
  if (files.length > MAX_FILES) return `${files.length} files; at most ${MAX_FILES} are kept`;
  const long = files.find(({ bytes }) => bytes.length > MAX_FILE_BYTES);
  if (long !== undefined) {
    return `${long.name} has ${long.bytes.length} bytes; at most ${MAX_FILE_BYTES} are kept`;
  }
  const all = files.reduce((sum, { bytes }) => sum + bytes.length, 0);
  return all > MAX_ALL_BYTES ? `${all} bytes in all; at most ${MAX_ALL_BYTES} are kept` : undefined;
}

/** The document that is encrypted. */
export function serialiseBackup(backup: Backup): Uint8Array {
  const document = {
    format: FORMAT,
    version: BACKUP_VERSION,
    handle: backup.handle,
    wire_key: backup.wireKey,
    wire_id: backup.wireId,
    wire_dir: backup.wireDir,
    made_at: backup.madeAt,
    store_version: backup.storeVersion,
    remote: backup.remote,
    files: backup.files.map(({ place, name, bytes }) => ({
      place,
      name,
      sha256: sum(bytes),
      data: Buffer.from(bytes).toString("base64"),
    })),
  };
  return Buffer.from(`${JSON.stringify(document, null, 1)}\n`, "utf8");
}

/** Reads the document. Its maker knew the passphrase, and is believed no further than that. */
export function parseBackup(bytes: Uint8Array): BackupParse {
  const parsed = parseObject(bytes);
  if (!parsed.ok) return { ok: false, detail: `the document inside: ${parsed.detail}` };
  const { value } = parsed;
  if (value["format"] !== FORMAT) {
    return { ok: false, detail: `what is inside is no backup of deaddrop (no format ${FORMAT})` };
  }
  if (value["version"] !== BACKUP_VERSION) {
    const found = shown(value["version"] ?? null);
    return { ok: false, detail: `it has version ${found}; this deaddrop reads ${BACKUP_VERSION}` };
  }
  const reader = new DocumentReader("backup", value);
  const backup = readBackup(reader);
  const bounds = backup && boundsProblem(backup.files);
  if (bounds !== undefined) reader.problem("files", bounds);
  const [problem] = reader.problems;
  if (problem !== undefined) return { ok: false, detail: problem };
  return backup === undefined ? { ok: false, detail: "it lacks a field" } : { ok: true, backup };
}

function readBackup(reader: DocumentReader): Backup | undefined {
  const handle = required(reader, "handle");
  const wireKey = required(reader, "wire_key");
  const wireDir = required(reader, "wire_dir");
  const madeAt = required(reader, "made_at");
  const wireId = reader.text("wire_id");
  const storeVersion = reader.wholeNumber("store_version", 0, Number.MAX_SAFE_INTEGER);
  if (storeVersion === undefined) reader.problem("store_version", "is missing");
  if (handle !== undefined && !isHandle(handle)) reader.problem("handle", "is not a handle");
  if (wireKey !== undefined && !/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(wireKey)) {
    reader.unexpected("wire_key", 'letters, digits, "-" and "_"');
  }
  if (madeAt !== undefined && Number.isNaN(Date.parse(madeAt))) {
    reader.problem("made_at", "is no time");
  }
  if (reader.problems.length > 0 || handle === undefined || wireKey === undefined) return undefined;
  if (wireDir === undefined || madeAt === undefined || storeVersion === undefined) return undefined;
  const files = readFiles(reader, handle);
  const remote = readRemote(reader.object("remote"));
  return { handle, wireKey, wireId, wireDir, madeAt, storeVersion, remote, files };
}

/** Undefined also in a backup of an older version. */
function readRemote(fields: DocumentReader | undefined): BackupRemote | undefined {
  const url = fields?.text("url");
  const branch = fields?.text("branch");
  const prefix = fields?.text("prefix");
  if (url === undefined || branch === undefined || prefix === undefined) return undefined;
  return { url, branch, prefix };
}

function required(reader: DocumentReader, name: string): string | undefined {
  if (reader.value(name) === undefined) reader.problem(name, "is missing");
  return reader.text(name);
}

function readFiles(reader: DocumentReader, handle: string): readonly BackupFile[] {
  const seen = new Set<string>();
  return reader.items("files", MAX_FILES).flatMap((item, at): BackupFile[] => {
    const fields = reader.objectAt(`files[${at}]`, item);
    const file = fields && readFile(fields, handle);
    if (file === undefined) return [];
    const key = `${file.place}/${file.name}`;
    if (seen.has(key)) reader.problem(`files[${at}]`, `names ${key} a second time`);
    seen.add(key);
    return [file];
  });
}

function readFile(fields: DocumentReader, handle: string): BackupFile | undefined {
  const name = fields.text("name");
  const placed = fields.text("place");
  const place = PLACES.find((each) => each === placed);
  const expected = fields.text("sha256");
  const data = fields.text("data");
  if (name === undefined || place === undefined || data === undefined) {
    fields.problem("", `lacks its name, its data or a place (${PLACES.join(", ")})`);
    return undefined;
  }
  if (!isBackupName(handle, place, name)) {
    fields.problem("name", `is ${shown(name)}, which no backup holds in ${place}`);
    return undefined;
  }
  const bytes = Buffer.from(data, "base64");
  if (bytes.toString("base64") !== data || sum(bytes) !== expected) {
    fields.problem("", `(${name}) is damaged: its data does not have the SHA-256 beside it`);
    return undefined;
  }
  return { place, name, bytes };
}

function sum(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
