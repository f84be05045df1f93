import { join } from "node:path";
import type { AutomaticIncident } from "../../protocol/effects.ts";
import { hourlyKey } from "../../protocol/notices.ts";
import { isObstruction, StorageError } from "../../storage/disk/disk.ts";
import { ownLogs } from "../../wire/layout.ts";
import { areManyWaiting } from "../../protocol/decisions/record/recorded-entries.ts";
import { newDecisions } from "../effects/decision-file.ts";
import type { Session } from "../session/session.ts";
import { intakeOf } from "../state/agent-state.ts";
import { isCaughtUp, observe } from "../state/log-status.ts";
import { correctTimes } from "../state/receipt-times.ts";
import { takeIn, type Round } from "./read-log.ts";
import { takeTurns } from "./round-robin.ts";
import { opensNow } from "./trouble/closed-logs.ts";
import { judgeAnomaly } from "./trouble/log-anomalies.ts";

/** Turns of one call for each log: a command without a daemon does not read an endless flood either. */
const MAX_TURNS_A_LOG = 256;
/**
 * Turns of decisions.jsonl in one call: any agent may write there, and verifying entries takes
 * time.
 */
const MAX_DECISION_TURNS = 64;

/** Reads what is new in every log; true when more waits. After `withinMs` it begins no more turns. */
export async function takeInAll(session: Session, withinMs = Infinity): Promise<boolean> {
  const { world, place, memory } = session;
  correctTimes(session);
  // Of a fetch that ends while we read, the next round knows.
  memory.fetchedMs = world.remote?.fetchedMs(world.clock.wallMs());
  const untilMs = world.clock.monoMs() + withinMs;
  const names = [...place.layout.logs.keys()];
  const mostTurns = MAX_TURNS_A_LOG * names.length;
  const isOver = (turns: number) => turns >= mostTurns || world.clock.monoMs() >= untilMs;
  const isPatient = withinMs < Infinity;
  const take = async (name: string): Promise<boolean> => {
    const isMore = await takeInOne(session, name, isPatient);
    // A turn of a long log takes a while: other work of the process goes on before the next.
    if (isMore) await world.clock.nextTurn();
    return isMore;
  };
  const isMore = await takeTurns(names, take, isOver);
  // Outboxes had their turn before the last lines of a closed log were read.
  const opened = opensNow(memory);
  const more = (opened.length > 0 && (await takeTurns(opened, take, isOver))) || isMore;
  if ([...memory.intakes.values()].every(({ status }) => isCaughtUp(status))) {
    memory.inbox.unnoted = undefined;
  }
  return (await takeInShared(session, { untilMs, isBehind: more })) || more;
}

/** Trouble with decisions.jsonl stops no log: decisions follow from the logs. */
async function takeInShared(session: Session, how: HowToRead): Promise<boolean> {
  const { troubles } = session.files;
  if (!troubles.mayTry("wire files")) return false;
  try {
    return await takeInDecisions(session, how);
  } catch (error) {
    if (!isOfFile(error, session.place.wire.decisions)) throw error;
    troubles.failed("wire files", error);
    return false;
  }
}

/** Reads back our own logs alone, after a send. */
export async function takeInOwn(session: Session): Promise<void> {
  const { layout, handle } = session.place;
  for (const { name } of ownLogs(layout, handle)) {
    let more = true;
    while (more) more = await takeInOne(session, name, false);
  }
}

/** How much of decisions.jsonl is read. */
interface HowToRead {
  /** Monotonic ms: no more turns are begun then. */
  readonly untilMs?: number;
  /** Lines of logs wait that may prove entries. */
  readonly isBehind: boolean;
}

/**
 * Reads what is new in decisions.jsonl; true when more waits. While we are behind, the file waits when
 * many of its entries do: only so many are kept.
 */
export async function takeInDecisions(
  { world, place, memory, recorder }: Pick<Session, "world" | "place" | "memory" | "recorder">,
  { untilMs = Infinity, isBehind }: HowToRead,
): Promise<boolean> {
  const { clock, disk } = world;
  for (let turn = 0; turn < MAX_DECISION_TURNS; turn += 1) {
    if (isBehind && areManyWaiting(memory.state.decisions.entries)) return true;
    const read = newDecisions(disk, place, memory.decisions, clock.wallMs());
    if (read.anomaly !== undefined) recorder.tell(decisionsChanged(read.anomaly, clock.wallMs()));
    for (const event of read.events) recorder.fold(event);
    memory.decisions = read.cursor;
    if (!read.more) return false;
    if (clock.monoMs() >= untilMs) break;
    await clock.nextTurn();
  }
  return true;
}

/** One turn of one log; true when more waits in it. */
async function takeInOne(session: Session, name: string, isPatient: boolean): Promise<boolean> {
  // A damaged end of our own that could not be restored yet would count as lines.
  const { writer } = session.files.own;
  if (isObstruction(writer.blocked(name)) || writer.stuck(name) !== undefined) return false;
  const { troubles } = session.files;
  const area = `log ${name}` as const;
  if (!troubles.mayTry(area)) return false;
  const { more, trouble } = await takeTurn(session, name, isPatient);
  if (trouble === undefined) troubles.worked(area);
  else {
    // Neither our sends nor other peers have to wait for it.
    const forMs = troubles.failed(area, trouble);
    const intake = intakeOf(session.memory, name);
    observe(intake, { saw: "stop", forMs }, session.world.clock.monoMs());
  }
  return more;
}

async function takeTurn(session: Session, name: string, isPatient: boolean): Promise<Round> {
  const taken = await takeIn(session, name, isPatient);
  if (taken.anomaly === undefined) return taken;
  try {
    judgeAnomaly(session, name, taken.anomaly);
    return taken;
  } catch (error) {
    const { log } = intakeOf(session.memory, name);
    if (!isOfFile(error, join(session.place.wire.folder, log.path))) throw error;
    return { ...taken, more: false, trouble: error };
  }
}

function isOfFile(error: unknown, path: string): error is StorageError {
  return error instanceof StorageError && error.path === path;
}

function decisionsChanged(anomaly: string, wallMs: number): AutomaticIncident {
  return {
    key: hourlyKey("decisions_changed", wallMs),
    cause: "decisions_changed",
    subject: "decisions.jsonl was changed",
    detail: `lines that were read are no longer there (${anomaly}); decisions follow from the logs and stay as they are`,
    concernsWire: false,
  };
}
