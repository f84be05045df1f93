import { join } from "node:path";
import { StorageError } from "../storage/disk.ts";
import { compareHistory, cursorAt, type Anomaly } from "../storage/tail.ts";
import { authenticate } from "../trust/admission.ts";
import { parseMessage } from "../wire/message.ts";
import type { Taking } from "./intake.ts";
import { scanLog } from "./line-source.ts";
import { intakeOf, type LogIntake } from "./memory.ts";

/** Spec 1.6: a log that is behind for this long is told to the operator. */
const BEHIND_TOLD_AFTER_MS = 10 * 60_000;
/** How long a log is left alone that does not hold what it held; its author may be mending it. */
const LOOK_AGAIN_MS = 1_000;

/**
 * What was read of a log no longer stands as it was read. Spec 1.6: one that only lacks lines is
 * behind, and we wait; one that has others in their place was rewritten, and its author is held.
 */
export function judgeAnomaly(taking: Taking, name: string, anomaly: Anomaly): void {
  const { world, memory, place } = taking;
  const intake = intakeOf(memory, name);
  intake.notBeforeMs = world.clock.monoMs() + LOOK_AGAIN_MS;
  intake.caughtUp = false;
  if (intake.log.owner === place.handle) {
    stopWriting(taking, intake, anomaly);
    return;
  }
  const known = knownIds(taking, name);
  const found = foundIds(taking, intake, new Set(known));
  switch (compareHistory(known, found.ids)) {
    case "same":
      intake.cursor = found.end;
      intake.behindSinceMs = undefined;
      intake.notBeforeMs = 0;
      return;
    case "behind":
      noteBehind(taking, intake);
      return;
    case "rewritten":
      holdRewritten(taking, intake, anomaly);
  }
}

/** The ids of a log's authentic lines in the order in which we received them. */
function knownIds({ files }: Taking, name: string): string[] {
  const ids: string[] = [];
  for (const { entry } of files.journal.read()) {
    if (entry.k === "line" && entry.log === name && entry.id !== undefined) ids.push(entry.id);
  }
  return ids;
}

/** What stands there now, foreign bytes left out, and the cursor after the last line that we know. */
function foundIds(taking: Taking, intake: LogIntake, known: ReadonlySet<string>) {
  const { world, place, ctx } = taking;
  const { log } = intake;
  const ids: string[] = [];
  let last: { offset: number; line: number } = { offset: 0, line: 0 };
  scanLog(world.disk, place, log.name, (bytes, line, end) => {
    const parsed = parseMessage(bytes);
    if (!parsed.ok) return "more";
    const { id } = parsed.message;
    const isKnown = known.has(id);
    if (isKnown) last = { offset: end, line };
    if (isKnown || authenticate(bytes, { owner: log.owner, log: log.name }, ctx).ok) ids.push(id);
    return "more";
  });
  const path = join(place.wire.folder, log.path);
  const exists = world.disk.stat(path)?.kind === "file";
  return { ids, end: exists ? cursorAt(world.disk, path, last.offset, last.line) : undefined };
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

function holdRewritten(taking: Taking, intake: LogIntake, anomaly: Anomaly): void {
  const { name, owner } = intake.log;
  const detail = `${name} lacks lines that we received and has others in their place (${anomaly})`;
  const sinceMs = taking.world.clock.wallMs();
  intake.admission.held = { cause: "log_rewritten", detail, sinceMs };
  taking.tell({
    key: `log_rewritten:${name}:${intake.admission.chain.head?.id ?? ""}`,
    cause: "log_rewritten",
    peer: owner,
    subject: `${owner} has rewritten its log`,
    detail: `${detail}; nothing more of ${owner} is taken until you decide`,
    concernsWire: true,
  });
}

/** Our own log was cut or changed by somebody: writing on would make two histories. */
function stopWriting(taking: Taking, intake: LogIntake, anomaly: Anomaly): void {
  const { memory, world } = taking;
  const { name, path } = intake.log;
  memory.ownTrouble = new StorageError(
    "log_damaged",
    path,
    `the log was changed by another program (${anomaly}); nothing is written to it`,
    { hint: "put it back from a backup or a peer's copy of the wire, then start again" },
  );
  taking.tell({
    key: `log_damaged:${name}:${Math.floor(world.clock.wallMs() / 3_600_000)}`,
    cause: "log_damaged",
    subject: `our own log ${name} was changed by another program`,
    detail: `what we wrote no longer stands there (${anomaly}); nothing is sent until it is mended`,
    concernsWire: false,
  });
}
