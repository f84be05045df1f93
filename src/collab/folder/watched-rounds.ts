import { dirname } from "node:path";
import { isFields, parseJson } from "../documents/text.ts";
import { RoundRefused } from "../refused.ts";
import { readWhole, type Disk } from "../../storage/disk/disk.ts";
import { whileLocked } from "./complete-protocol.ts";
import { PRIVATE_FILE } from "../../storage/disk/file-modes.ts";

/** A round that a daemon tells its agent of. */
export interface WatchedRound {
  /** A real path. */
  readonly folder: string;
  readonly participant: string;
}

/** Each costs a watcher of the system. */
const MAX_WATCHED_ROUNDS = 64;
const MAX_WATCHED_BYTES = 1_048_576;

/** The rounds that are watched for an agent; `path`: where its private state notes them. Spec 6.3. */
export function readWatched(disk: Disk, path: string): WatchedRound[] {
  const bytes = readWhole(disk, path, MAX_WATCHED_BYTES);
  if (bytes === undefined) return [];
  const rounds = parseJson(Buffer.from(bytes).toString("utf8"));
  if (Array.isArray(rounds) && rounds.every((each) => isRound(each))) return rounds;
  throw new RoundRefused([`${path} is damaged: remove it, and watch your rounds again`]);
}

function isRound(value: unknown): value is WatchedRound {
  if (!isFields(value)) return false;
  return typeof value["folder"] === "string" && typeof value["participant"] === "string";
}

/** Registers a round, or ends that. Answers false when nothing has changed. */
export function changeWatched(
  disk: Disk,
  path: string,
  round: WatchedRound,
  isWatched: boolean,
): boolean {
  return whileLocked(dirname(path), () => {
    const before = readWatched(disk, path);
    const others = before.filter(
      ({ folder, participant }) => folder !== round.folder || participant !== round.participant,
    );
    const after = isWatched ? [...others, round] : others;
    if (after.length === before.length) return false;
    if (after.length > MAX_WATCHED_ROUNDS) {
      throw new RoundRefused([
        `${MAX_WATCHED_ROUNDS} rounds are watched already: end one with --end`,
      ]);
    }
    disk.replace(path, Buffer.from(`${JSON.stringify(after)}\n`, "utf8"), PRIVATE_FILE);
    return true;
  });
}
