import { join } from "node:path";
import { apply } from "../../protocol/core.ts";
import { decideNotices, hourlyKey, toldEvent } from "../../protocol/notices.ts";
import type { AutomaticIncident } from "../../protocol/effects.ts";
import type { CoreEvent } from "../../protocol/events.ts";
import type { Env, Now } from "../../protocol/env.ts";
import { isObstruction } from "../../storage/disk/disk.ts";
import { openLogWriter, type LogWriter } from "../../storage/own-log/log-writer.ts";
import { segmentsOf } from "../../storage/files/segments.ts";
import { ownLogs } from "../../wire/layout.ts";
import { parseMessage } from "../../wire/message.ts";
import { restoreInbox } from "../state/inbox-recovery.ts";
import { contextOf, envOf, ownLine } from "./environment.ts";
import { newDecisions } from "../effects/decision-file.ts";
import type { Files, World } from "./world.ts";
import type { JournalEntry, LocalEvent } from "../state/journal-entries.ts";
import { addEntry } from "../state/line-runs.ts";
import { takeIn } from "../intake/read-log.ts";
import type { Taking } from "../intake/intake-context.ts";
import { publishNotice } from "../effects/incident-file.ts";
import { takeLocal } from "../intake/trouble/log-holds.ts";
import type { Memory } from "../state/agent-state.ts";
import { beginLogs } from "../intake/history-mark.ts";
import { compareLog, judgeAnomaly } from "../intake/trouble/log-anomalies.ts";
import { isCaughtUp } from "../state/log-status.ts";
import { openFiles } from "./open-files.ts";
import type { AgentConfig } from "../config/agent-config.ts";
import { reportHolds, reportRecovery } from "../intake/trouble/recovery-notices.ts";
import { correctTimes } from "../state/receipt-times.ts";
import { replayJournal } from "../state/journal-replay.ts";
import { takeTurns } from "../intake/round-robin.ts";

const LOG_MODE = 0o640;
const FAR_AHEAD_MS = 60_000;
/** Turns of one call for each log: who asks without a daemon reads no endless flood either. */
const MAX_TURNS_A_LOG = 64;
/** Turns of decisions.jsonl in one call: anybody may write there, and entries are verified. */
const MAX_DECISION_TURNS = 64;
/** Entries of our own lines that may wait for the next synced batch. */
const MAX_LATER = 512;

/**
 * An agent's own files, open while it holds its identity's lock, and the memory that follows from
 * them. Everything that is durable before it has an effect goes through here. Spec 4.1.
 */
export interface Session {
  readonly world: World;
  readonly place: AgentConfig;
  readonly memory: Memory;
  readonly files: Files;
  readonly writer: LogWriter;
  /** After trouble with our own logs: looks at them again and mends them. Throws while it lasts. */
  mendLogs(): void;
  readonly env: Env;
  /** Lines that were just written and not yet read back. */
  readonly written: Set<string>;
  /** Shared files are not written before (monotonic ms): somebody keeps one of them locked. */
  readonly shared: { notBeforeMs: number };
  now(): Now;
  /** Reads what is new in every log; true when more waits. After `withinMs` it begins no more turns. */
  takeInAll(withinMs?: number): Promise<boolean>;
  /** Reads back our own logs alone, after a send. */
  takeInOwn(): Promise<void>;
  /** Reads what is new in decisions.jsonl; true when more waits. */
  takeInDecisions(untilMs?: number): boolean;
  /** Notes a local event durably and folds it. */
  local(event: LocalEvent): void;
  tell(incident: AutomaticIncident): void;
  /** Entries that wait for the next batch are written and synced. */
  flush(): void;
  close(): void;
}

/** Opens and mends everything; the caller holds the identity's lock. */
export function openSession(world: World, place: AgentConfig, memory: Memory): Session {
  const { disk } = world;
  const { paths } = place;
  const files = openFiles(disk, paths, memory.journalEnd);
  const { journal, inbox, quarantine, heads } = files;
  const ctx = contextOf(place);
  const writer = openLogWriter({
    disk,
    logs: ownLogs(place.layout, place.handle).map((log) => ({
      name: log.name,
      path: join(place.wire.folder, log.path),
      mode: LOG_MODE,
      segments: segmentsOf(disk, place.wire.archive, log.name),
    })),
    pendingPath: paths.pending,
    heads,
    quarantine,
    ownLine: (log, line) => ownLine(log, line, ctx),
    at: () => new Date(world.clock.wallMs()).toISOString(),
  });

  const env = envOf(place, memory, () => world.clock.monoMs());
  const written = new Set<string>();
  let later: JournalEntry[] = [];

  const now = (): Now => ({ wallMs: world.clock.wallMs(), monoMs: world.clock.monoMs() });

  function fold(event: CoreEvent): void {
    if (event.kind === "line" && event.own && event.message.seq !== undefined) {
      memory.lastTimestamp = laterOf(memory.lastTimestamp, event.message.timestamp, now().wallMs);
    }
    memory.latestMs = Math.max(memory.latestMs, event.at);
    apply(memory.state, event, env);
  }

  function note(entries: readonly JournalEntry[], when: "now" | "later"): void {
    const all = [...later];
    for (const entry of entries) addEntry(all, entry);
    if (when === "later" && all.length < MAX_LATER) {
      later = all;
      return;
    }
    memory.journalEnd = journal.append(all);
    later = [];
  }

  function local(event: LocalEvent): void {
    note([{ k: "local", event }], "now");
    takeLocal(memory, event);
    fold(event);
  }

  function noteAndTell(
    entries: readonly JournalEntry[],
    incidents: readonly AutomaticIncident[],
  ): void {
    const wallMs = world.clock.wallMs();
    const due = decideNotices(memory.state.notices, incidents, wallMs);
    const told = due.map((each) => toldEvent(each, wallMs) as LocalEvent);
    // The notice before the verdict: a write that is torn repeats the one and never loses the other.
    const notices = told.map((event): JournalEntry => ({ k: "local", event }));
    if (notices.length + entries.length > 0) note([...notices, ...entries], "now");
    for (const event of told) fold(event);
    // Who dies before here publishes it not at all, but never twice.
    for (const each of due) announce(each);
  }

  function announce(incident: AutomaticIncident): void {
    const { cause, peer, subject, detail } = incident;
    world.log.warn({ cause, ...(peer === undefined ? {} : { peer }), detail }, subject);
    if (incident.concernsWire) publishNotice(world, place, incident);
  }

  const tell = (incident: AutomaticIncident): void => noteAndTell([], [incident]);

  const taking: Taking = {
    world,
    files,
    place,
    memory,
    ctx,
    env,
    written,
    ahead: {},
    note,
    noteAndTell,
    local,
    fold,
    tell,
    wroteOurselves: (log, seq, id) => written.has(id) || writer.knows(log, seq, id),
  };

  /** One turn of one log; true when more waits in it. */
  async function takeInOne(name: string, isPatient = false): Promise<boolean> {
    // A torn end of our own that could not be mended yet would count as lines.
    if (isObstruction(writer.blocked(name))) return false;
    const taken = await takeIn(taking, name, isPatient);
    if (taken.anomaly !== undefined) judgeAnomaly(taking, name, taken.anomaly);
    return taken.more;
  }

  async function takeInAll(withinMs = Infinity): Promise<boolean> {
    correctTimes(taking);
    const untilMs = world.clock.monoMs() + withinMs;
    const names = [...place.layout.logs.keys()];
    const mostTurns = MAX_TURNS_A_LOG * names.length;
    const isOver = (turns: number) => turns >= mostTurns || world.clock.monoMs() >= untilMs;
    const isPatient = withinMs < Infinity;
    const more = await takeTurns(names, (name) => takeInOne(name, isPatient), isOver);
    if ([...memory.intakes.values()].every(({ status }) => isCaughtUp(status))) {
      memory.inInbox = undefined;
    }
    return takeInDecisions(untilMs) || more;
  }

  async function takeInOwn(): Promise<void> {
    for (const { name } of ownLogs(place.layout, place.handle)) {
      let more = true;
      while (more) more = await takeInOne(name);
    }
  }

  function takeInDecisions(untilMs = Infinity): boolean {
    for (let turn = 0; turn < MAX_DECISION_TURNS; turn += 1) {
      const read = newDecisions(disk, place, memory.decisions, world.clock.wallMs());
      if (read.anomaly !== undefined) tell(decisionsChanged(read.anomaly, world.clock.wallMs()));
      for (const event of read.events) fold(event);
      memory.decisions = read.cursor;
      if (!read.more) return false;
      if (world.clock.monoMs() >= untilMs) break;
    }
    return true;
  }

  function mendLogs(): void {
    const report = writer.recover();
    for (const { line } of report.restored) {
      // What goes out only now may be newer than all that was read back: the next line follows it.
      const parsed = parseMessage(line);
      if (!parsed.ok) continue;
      memory.lastTimestamp = laterOf(memory.lastTimestamp, parsed.message.timestamp, now().wallMs);
    }
    reportRecovery(taking, report);
  }

  function close(): void {
    writer.close();
    journal.close();
    inbox.close();
    quarantine.close();
  }

  try {
    const repair = writer.recover();
    const isReordered = (name: string) => compareLog(taking, name).verdict === "reordered";
    replayJournal({ disk, place, memory, fold, isReordered }, journal);
    correctTimes(taking);
    restoreInbox({ disk, place, memory, files });
    beginLogs(taking);
    reportRecovery(taking, repair);
    reportHolds(taking);
  } catch (error) {
    // It is tried again and again while the disk is in trouble.
    close();
    throw error;
  }

  return {
    world,
    place,
    memory,
    files,
    writer,
    mendLogs,
    env,
    written,
    shared: { notBeforeMs: 0 },
    now,
    takeInAll,
    takeInOwn,
    takeInDecisions,
    local,
    tell,
    flush: () => {
      if (later.length > 0) note([], "now");
    },
    close,
  };
}

/**
 * Our logs are read one after the other: the newest of all of them counts. Not one that a clock
 * has set far ahead, which the next one does not follow either (spec 1.2).
 */
function laterOf(last: string | undefined, next: string, wallMs: number): string {
  if (last === undefined || Date.parse(last) > wallMs + FAR_AHEAD_MS) return next;
  return next > last ? next : last;
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
