import { join } from "node:path";
import type { AutomaticIncident } from "../protocol/effects.ts";
import { lookOf, StorageError } from "../storage/disk.ts";
import { compareHistory, cursorAt, type Anomaly, type Cursor } from "../storage/tail.ts";
import { authenticate } from "../trust/admission.ts";
import { parseMessage } from "../wire/message.ts";
import type { Taking } from "./taking.ts";
import { pastContextOf } from "./contexts.ts";
import { knownEntries } from "./evidence.ts";
import { holdRewritten } from "./holds.ts";
import { isHole } from "./holes.ts";
import { scanLog } from "./line-source.ts";
import { intakeOf, type LogIntake } from "./memory.ts";

const HOUR_MS = 3_600_000;
/** Spec 1.6: a log that is behind for this long is told to the operator. */
const BEHIND_TOLD_AFTER_MS = 10 * 60_000;
/** How long a log is left alone that does not hold what it held; its author may be mending it. */
const LOOK_AGAIN_MS = 1_000;
/** A comparison costs as much as log and journal are long: at most this share of our time. */
const SHARE_OF_TIME = 1 / 10;

/**
 * What was read of a log no longer stands as it was read. Spec 1.6: one that only lacks lines is
 * behind, and we wait; one that has others in their place was rewritten, and its author is held.
 */
export function judgeAnomaly(taking: Taking, name: string, anomaly: Anomaly): void {
  const { world, memory, place } = taking;
  const intake = intakeOf(memory, name);
  const beganMs = world.clock.monoMs();
  intake.notBeforeMs = beganMs + LOOK_AGAIN_MS;
  intake.caughtUp = false;
  intake.heldBack = false;
  if (anomaly === "obstructed") {
    tellObstructed(taking, intake);
    return;
  }
  const look = lookOf(world.disk, join(place.wire.folder, intake.log.path));
  const isOurs = intake.log.owner === place.handle;
  if (look === intake.behindLook && !isOurs) {
    noteBehind(taking, intake);
    return;
  }
  const known = [...idsOf(taking, name)];
  const found = foundIds(taking, intake, known);
  const tookMs = world.clock.monoMs() - beganMs;
  intake.notBeforeMs = beganMs + Math.max(LOOK_AGAIN_MS, tookMs / SHARE_OF_TIME);
  switch (compareHistory(known, upToHole(found, known))) {
    case "same":
      intake.cursor = found.end;
      intake.behindSinceMs = undefined;
      intake.behindLook = undefined;
      if (tookMs < LOOK_AGAIN_MS) intake.notBeforeMs = 0;
      return;
    case "behind":
      if (isOurs) {
        stopWriting(taking, intake, anomaly);
        return;
      }
      intake.behindLook = look;
      noteBehind(taking, intake);
      return;
    case "rewritten":
      if (isOurs) stopWriting(taking, intake, anomaly);
      else holdRewritten(taking, intake, whatIsMissing(intake, known, found, anomaly));
  }
}

/** Anybody who can write in the folder can do that: it says nothing of the log's author. */
function tellObstructed(taking: Taking, { log }: LogIntake): void {
  const { world, place, memory } = taking;
  const path = join(place.wire.folder, log.path);
  const stat = world.disk.stat(path);
  const what =
    stat?.kind === "file" ? "a file that is closed to us, or has several names" : "no plain file";
  const detail = `in its place stands ${what}; we look again every second. See: ls -l ${path}`;
  if (log.owner === place.handle) {
    const hint = `put the log itself back, readable to us: ls -l ${path}`;
    // That one alone: our other logs go on.
    memory.unreadable.set(log.name, new StorageError("not_a_file", path, detail, { hint }));
  }
  taking.tell(unreadableIncident(taking, log.name, detail));
}

/** A log, a peer's or ours, that something else stands in the place of. Once an hour. */
export function unreadableIncident(
  { world }: Taking,
  log: string,
  detail: string,
): AutomaticIncident {
  return {
    key: `log_unreadable:${log}:${Math.floor(world.clock.wallMs() / HOUR_MS)}`,
    cause: "log_unreadable",
    subject: `${log} cannot be read`,
    detail,
    concernsWire: false,
  };
}

/** The ids of a log's authentic lines in the order in which we received them. */
function* idsOf(taking: Taking, name: string): Generator<string> {
  for (const { id } of knownEntries(taking, name)) if (id !== undefined) yield id;
}

interface Found {
  readonly ids: readonly string[];
  /** Zero bytes stand behind so many of these. */
  readonly holes: readonly number[];
  /** Where reading goes on if all is well. */
  readonly end: Cursor | undefined;
}

/**
 * A power cut may take lines that we have received and leave later ones. Its author puts back the
 * same bytes: until then nothing that stands behind the hole counts. Spec 4.1.
 */
function upToHole({ ids, holes }: Found, known: readonly string[]): readonly string[] {
  const there = new Set(ids);
  const missing = known.findIndex((id) => !there.has(id));
  const before = missing < 1 ? 0 : ids.indexOf(known[missing - 1] ?? "") + 1;
  const hole = missing < 0 ? undefined : holes.find((each) => each >= before);
  return hole === undefined ? ids : ids.slice(0, hole);
}

/**
 * What stands there now, foreign bytes left out, and the cursor after the last line that we folded.
 * A line counts where it stands first: anybody can copy an old one behind what we have not read.
 */
function foundIds(taking: Taking, intake: LogIntake, history: readonly string[]): Found {
  const { world, place, memory } = taking;
  const ctx = pastContextOf(taking.ctx);
  const { log } = intake;
  const { earlier = 0 } = memory.state.logs.get(log.name) ?? {};
  const known = new Set(history);
  const ids = new Set<string>();
  const holes: number[] = [];
  let last: { offset: number; line: number } = { offset: 0, line: 0 };
  let isAwaited = false;
  scanLog(world.disk, place, log.name, (bytes, line, end) => {
    const parsed = parseMessage(bytes);
    if (!parsed.ok) {
      if (isHole(bytes)) holes.push(ids.size);
      return "more";
    }
    const { id } = parsed.message;
    if (ids.has(id)) return "more";
    const isKnown = known.has(id);
    // What a replay did not find, and what stands after it, has yet to be folded.
    isAwaited ||= intake.awaited.has(id);
    if (isKnown && !isAwaited) last = { offset: end, line };
    if (isKnown || authenticate(bytes, { owner: log.owner, log: log.name }, ctx).ok) ids.add(id);
    return "more";
  });
  const path = join(place.wire.folder, log.path);
  const exists = world.disk.stat(path)?.kind === "file";
  return {
    ids: [...ids],
    holes,
    end: exists ? cursorAt(world.disk, path, last.offset, earlier + last.line) : undefined,
  };
}

function noteBehind(taking: Taking, intake: LogIntake): void {
  const now = taking.world.clock.monoMs();
  intake.behindSinceMs ??= now;
  if (now - intake.behindSinceMs < BEHIND_TOLD_AFTER_MS) return;
  const { name, owner } = intake.log;
  taking.tell({
    key: `log_behind:${name}:${intake.behindSinceMs}`,
    cause: "log_behind",
    peer: owner,
    subject: `${name} lacks lines that it had`,
    detail: `the last lines that we received from ${owner} are not in its log any more; we wait for them to be appended again`,
    concernsWire: true,
  });
}

function whatIsMissing(
  { log }: LogIntake,
  known: readonly string[],
  { ids }: Found,
  anomaly: Anomaly,
): string {
  const [before, now] = [new Set(known), new Set(ids)];
  const missing = known.find((id) => !now.has(id)) ?? known[0] ?? "";
  const other = ids.find((id) => !before.has(id)) ?? ids[0] ?? "";
  return `${log.name} lacks lines that we received from ${log.owner} (first ${missing}) and has others in their place (first ${other}; ${anomaly})`;
}

/** Our own log was cut or changed by somebody: writing on would make two histories. */
export function stopWriting(taking: Taking, intake: LogIntake, anomaly: Anomaly): void {
  const { memory, world } = taking;
  const { name, path } = intake.log;
  memory.ownTrouble = new StorageError(
    "log_damaged",
    path,
    `the log was changed by another program (${anomaly}); nothing is written to it`,
    { hint: "put it back from a backup or a peer's copy of the wire, then start again" },
  );
  taking.tell({
    key: `log_damaged:${name}:${Math.floor(world.clock.wallMs() / HOUR_MS)}`,
    cause: "log_damaged",
    subject: `our own log ${name} was changed by another program`,
    detail: `what we wrote no longer stands there (${anomaly}); nothing is sent until it is mended`,
    concernsWire: false,
  });
}
