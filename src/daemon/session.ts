import { join } from "node:path";
import { apply } from "../protocol/core.ts";
import { decideNotices, toldEvent } from "../protocol/notices.ts";
import type { AutomaticIncident } from "../protocol/effects.ts";
import type { CoreEvent, Env, Now } from "../protocol/record.ts";
import { openHeads } from "../storage/heads.ts";
import { openInbox } from "../storage/inbox.ts";
import { openJournal } from "../storage/journal.ts";
import { openLogWriter, type LogWriter, type RecoveryReport } from "../storage/log-writer.ts";
import { openQuarantine } from "../storage/quarantine.ts";
import { segmentsOf } from "../storage/segments.ts";
import { authenticate, type AdmissionContext } from "../trust/admission.ts";
import { tierOf } from "../trust/store.ts";
import { isChained, type ChainHead } from "../wire/chain.ts";
import { ownLogs } from "../wire/layout.ts";
import { restoreInbox } from "./inbox-recovery.ts";
import { newDecisions } from "./decision-file.ts";
import type { Files, World } from "./edges.ts";
import type { JournalEntry, LocalEvent } from "./entries.ts";
import { takeIn, type Taking } from "./intake.ts";
import { publishNotice } from "./incident-file.ts";
import type { Memory } from "./memory.ts";
import { beginLogs } from "./beginnings.ts";
import { judgeAnomaly } from "./anomalies.ts";
import type { Place } from "./place.ts";
import { replayJournal } from "./replay.ts";

const LOG_MODE = 0o640;
/** Rounds of one tick: beyond them the loop gives other work a turn. */
const MAX_ROUNDS = 64;
/** Entries of our own lines that may wait for the next synced batch. */
const MAX_LATER = 512;

/**
 * An agent's own files, open while it holds its identity's lock, and the memory that follows from
 * them. Everything that is durable before it has an effect goes through here. Spec 4.1.
 */
export interface Session {
  readonly world: World;
  readonly place: Place;
  readonly memory: Memory;
  readonly files: Files;
  readonly writer: LogWriter;
  readonly env: Env;
  /** Lines that were just written and not yet read back. */
  readonly written: Set<string>;
  now(): Now;
  /** Reads what is new in every log; true when more waits. */
  takeInAll(): Promise<boolean>;
  /** Reads back our own logs alone, after a send. */
  takeInOwn(): Promise<void>;
  takeInDecisions(): void;
  /** Notes a local event durably and folds it. */
  local(event: LocalEvent): void;
  tell(incident: AutomaticIncident): void;
  /** Entries that wait for the next batch are written and synced. */
  flush(): void;
  close(): void;
}

/** Opens and mends everything; the caller holds the identity's lock. */
export function openSession(world: World, place: Place, memory: Memory): Session {
  const { disk } = world;
  const { paths } = place;
  const quarantine = openQuarantine(disk, paths.quarantine);
  const heads = openHeads(disk, paths.heads);
  const journal = openJournal<JournalEntry>(disk, paths.journal, memory.journalEnd);
  const inbox = openInbox(disk, paths.inbox);
  const files: Files = { journal, inbox, quarantine, heads };
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

  const env = envOf(place, memory);
  const written = new Set<string>();
  let later: JournalEntry[] = [];

  const now = (): Now => ({ wallMs: world.clock.wallMs(), monoMs: world.clock.monoMs() });

  function fold(event: CoreEvent): void {
    if (event.kind === "line" && event.own) {
      const { timestamp } = event.message;
      if (event.message.seq !== undefined) memory.lastTimestamp = timestamp;
    }
    apply(memory.state, event, env);
  }

  function note(entries: readonly JournalEntry[], when: "now" | "later"): void {
    const all = [...later, ...entries];
    if (when === "later" && all.length < MAX_LATER) {
      later = all;
      return;
    }
    memory.journalEnd = journal.append(all);
    later = [];
  }

  function local(event: LocalEvent): void {
    note([{ k: "local", event }], "now");
    fold(event);
  }

  function tell(incident: AutomaticIncident): void {
    const wallMs = world.clock.wallMs();
    for (const each of decideNotices(memory.state.notices, [incident], wallMs)) {
      const { cause, peer, subject, detail } = each;
      world.log.warn({ cause, ...(peer === undefined ? {} : { peer }), detail }, subject);
      if (each.concernsWire) publishNotice(world, place, each);
      local(toldEvent(each, wallMs) as LocalEvent);
    }
  }

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
    fold,
    tell,
    wroteOurselves: (log, seq, id) => written.has(id) || writer.knows(log, seq, id),
  };

  async function takeInAll(): Promise<boolean> {
    let more = true;
    for (let round = 0; more && round < MAX_ROUNDS; round += 1) {
      more = false;
      for (const name of place.layout.logs.keys()) {
        const taken = await takeIn(taking, name);
        more ||= taken.more;
        if (taken.anomaly !== undefined) judgeAnomaly(taking, name, taken.anomaly);
      }
    }
    takeInDecisions();
    return more;
  }

  async function takeInOwn(): Promise<void> {
    for (const { name } of ownLogs(place.layout, place.handle)) {
      let more = true;
      while (more) {
        const taken = await takeIn(taking, name);
        more = taken.more;
        if (taken.anomaly !== undefined) judgeAnomaly(taking, name, taken.anomaly);
      }
    }
  }

  function takeInDecisions(): void {
    for (let more = true; more;) {
      const read = newDecisions(disk, place, memory.decisions, world.clock.wallMs());
      if (read.anomaly !== undefined) tell(decisionsChanged(read.anomaly, world.clock.wallMs()));
      if (read.found.length > 0)
        note(
          read.found.map(({ entry }) => entry),
          "now",
        );
      for (const { event } of read.found) fold(event);
      memory.decisions = read.cursor;
      more = read.more;
    }
  }

  const repair = writer.recover();
  replayJournal({ disk, place, memory, fold }, journal);
  restoreInbox({ disk, place, memory, files });
  beginLogs(taking);
  reportRecovery(taking, repair);

  return {
    world,
    place,
    memory,
    files,
    writer,
    env,
    written,
    now,
    takeInAll,
    takeInOwn,
    takeInDecisions,
    local,
    tell,
    flush: () => {
      if (later.length > 0) note([], "now");
    },
    close() {
      writer.close();
      journal.close();
      inbox.close();
      quarantine.close();
    },
  };
}

export function contextOf(place: Place): AdmissionContext {
  const { config, store, handle } = place;
  return {
    wireId: config.wireId,
    signing: config.signing,
    limits: config.limits,
    store,
    self: handle,
  };
}

function envOf(place: Place, memory: Memory): Env {
  const { layout, store } = place;
  const held = (handle: string): boolean => {
    if (store.peers.get(handle)?.held !== undefined) return true;
    return [...memory.intakes.values()].some(
      (intake) => intake.log.owner === handle && intake.admission.held !== undefined,
    );
  };
  return {
    self: place.handle,
    layout,
    domains: place.domains,
    cadences: place.cadences,
    transitions: place.tiers.transitions,
    wireId: place.config.wireId,
    tierOf: (handle) => ({
      tier: tierOf(store, handle),
      sinceMs: store.peers.get(handle)?.attestedSinceMs,
    }),
    get heldPeers() {
      return new Set(layout.roster.filter((handle) => held(handle)));
    },
    caughtUp: (log) => memory.intakes.get(log)?.caughtUp ?? false,
  };
}

/** Whether a line of one of our logs is chained there and signed by us, and where in the chain. */
function ownLine(log: string, line: Uint8Array, ctx: AdmissionContext): ChainHead | undefined {
  const result = authenticate(line, { owner: ctx.self, log }, ctx);
  if (!result.ok || !isChained(result.message)) return undefined;
  return { seq: result.message.seq, id: result.message.id };
}

function decisionsChanged(anomaly: string, wallMs: number): AutomaticIncident {
  return {
    key: `decisions_changed:${Math.floor(wallMs / 3_600_000)}`,
    cause: "decisions_changed",
    subject: "decisions.jsonl was changed",
    detail: `lines that were read are no longer there (${anomaly}); decisions are derived from the logs and stand`,
    concernsWire: false,
  };
}

function reportRecovery(taking: Taking, report: RecoveryReport): void {
  for (const { log, offset, detail } of report.damaged) {
    taking.tell({
      key: `log_damaged:${log}:${offset}`,
      cause: "log_damaged",
      subject: `our own log ${log} is damaged`,
      detail: `from offset ${offset}: ${detail}; nothing is written to it until it is mended`,
      concernsWire: false,
    });
  }
  for (const { log, seq, id } of report.unknown) {
    taking.tell({
      key: `identity_in_use:${log}:${id}`,
      cause: "identity_in_use",
      subject: "our key is used elsewhere",
      detail: `${log}: line ${seq} carries our signature, and we did not write it`,
      concernsWire: true,
    });
  }
  for (const { log, offset, bytes } of report.cut) {
    taking.world.log.warn({ log, offset, bytes }, "a torn end of our own log was cut and restored");
  }
}
