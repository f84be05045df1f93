import { createHash } from "node:crypto";
import { join } from "node:path";
import { readWhole, StorageError, type Disk } from "../../storage/disk/disk.ts";
import { PRIVATE_FILE, PRIVATE_FOLDER } from "../../storage/disk/file-modes.ts";
import { collabHistory, type Places } from "../../storage/paths.ts";
import { CONCLUSION, type Phase } from "../machine/event.ts";
import { parseJson } from "../documents/text.ts";
import { phasesOf } from "../machine/machine.ts";
import type { Round } from "../rules/round.ts";

/** Hashes of the documents that only those waited for may change, as they were after an event. */
interface Snapshot {
  readonly seq: number;
  readonly hashes: Readonly<Record<string, string>>;
}

/** More changes of documents than any round has. */
const MAX_SNAPSHOTS = 1_000;

/**
 * Notes what the documents are now, in the private state of this user: `validate` warns by it of what
 * was edited out of turn. It is a help, and fails for nobody. Spec 6.3.
 */
export function noteDocuments(disk: Disk, places: Places, folder: string, round: Round): void {
  const path = pathOf(disk, places, folder);
  const { seq } = round.events.events.at(-1) ?? { seq: 0 };
  const hashes = hashesOf(round);
  try {
    const snapshots = readSnapshots(disk, path);
    const last = snapshots.at(-1);
    if (last?.seq === seq && JSON.stringify(last.hashes) === JSON.stringify(hashes)) return;
    const text = [...snapshots, { seq, hashes }].slice(-MAX_SNAPSHOTS);
    disk.makeFolder(join(path, ".."), PRIVATE_FOLDER);
    disk.replace(path, Buffer.from(`${JSON.stringify(text)}\n`, "utf8"), PRIVATE_FILE);
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
  }
}

/** Warnings of documents that were changed while nobody might change them. The round is valid. */
export function outOfTurn(disk: Disk, places: Places, folder: string, round: Round): string[] {
  const snapshots = readSnapshots(disk, pathOf(disk, places, folder));
  const phases = phasesOf(round.rules, round.events.events);
  const now: Snapshot = { seq: phases.length, hashes: hashesOf(round) };
  return [...snapshots, now].flatMap((snapshot, at) => {
    const before = snapshots[at - 1];
    if (before === undefined) return [];
    // It was changed after the one event, and before the other.
    const between = phases.slice(before.seq, Math.max(snapshot.seq, before.seq + 1));
    return Object.keys({ ...before.hashes, ...snapshot.hashes })
      .filter((name) => before.hashes[name] !== snapshot.hashes[name])
      .filter((name) => !between.some((phase) => mayChange(phase, name, round)))
      .map(
        (name) =>
          `${name} was edited out of turn, after seq ${before.seq}: nobody was to change it then`,
      );
  });
}

/** While it is reviewed, what is reviewed stays as it is; when the round has ended, all of it. */
function mayChange(phase: Phase, name: string, { protocol }: Round): boolean {
  if (phase === "completed" || phase === "blocked") return false;
  const reviewed = ["proposal.md", protocol.deliverables?.primary?.reference];
  return phase !== "reviewing" || !reviewed.includes(name);
}

function hashesOf({ documents, deliverables }: Round): Record<string, string> {
  const names = ["proposal.md", "decisions.md", "readiness.md", CONCLUSION];
  const watched = [...names.map((name) => [name, documents.get(name)] as const), ...deliverables];
  return Object.fromEntries(
    watched.map(([name, file]) => [name, file?.ok === true ? file.sha256 : "missing"]),
  );
}

function readSnapshots(disk: Disk, path: string): Snapshot[] {
  try {
    const bytes = readWhole(disk, path);
    const value = parseJson(Buffer.from(bytes ?? "[]").toString("utf8"));
    return Array.isArray(value) ? value.filter((each) => isSnapshot(each)) : [];
  } catch (error) {
    if (error instanceof StorageError) return [];
    throw error;
  }
}

function isSnapshot(value: unknown): value is Snapshot {
  const { seq, hashes } = (value ?? {}) as Partial<Record<keyof Snapshot, unknown>>;
  return typeof seq === "number" && typeof hashes === "object" && hashes !== null;
}

function pathOf(disk: Disk, places: Places, folder: string): string {
  const key = createHash("sha256").update(disk.realPath(folder)).digest("hex").slice(0, 16);
  return join(collabHistory(places), `${key}.json`);
}
