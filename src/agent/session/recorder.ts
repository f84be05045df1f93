import { apply } from "../../protocol/core.ts";
import type { AutomaticIncident } from "../../protocol/effects.ts";
import type { Env } from "../../protocol/env.ts";
import type { CoreEvent } from "../../protocol/events.ts";
import { decideNotices, toldEvent } from "../../protocol/notices.ts";
import type { Journal } from "../../storage/files/journal.ts";
import type { AgentConfig } from "../config/agent-config.ts";
import { publishNotice } from "../effects/incident-file.ts";
import { takeLocal } from "../intake/trouble/log-holds.ts";
import { readAwaited, type Memory } from "../state/agent-state.ts";
import type { JournalEntry, LocalEvent } from "../state/journal-entries.ts";
import { addEntry } from "../state/line-runs.ts";
import { laterTimestamp } from "./own-logs.ts";
import type { World } from "./world.ts";

/** Entries of our own lines that may wait for the next synced batch. */
const MAX_LATER = 512;

interface Parts {
  readonly world: World;
  readonly place: AgentConfig;
  readonly memory: Memory;
  readonly env: Env;
  readonly journal: Journal<JournalEntry>;
}

/**
 * Makes what happened durable in the private journal, and folds it into the state. The journal comes
 * first: nothing has an effect before it is noted. Spec 4.1.
 */
export class Recorder {
  readonly #parts: Parts;
  #later: JournalEntry[] = [];

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Appends to the journal; "later": with the next batch that has to be synced. */
  note(entries: readonly JournalEntry[], when: "now" | "later"): void {
    const { memory, journal } = this.#parts;
    const all = [...this.#later];
    for (const entry of entries) addEntry(all, entry);
    if (when === "later" && all.length < MAX_LATER) {
      this.#later = all;
      return;
    }
    journal.append(all);
    memory.journalEnd = journal.end;
    this.#later = [];
  }

  /** Writes and syncs the entries that wait for the next batch. */
  flush(): void {
    if (this.#later.length > 0) this.note([], "now");
  }

  /**
   * Notes the entries now, and in the same write which of these incidents are told; then tells
   * them.
   */
  noteAndTell(entries: readonly JournalEntry[], incidents: readonly AutomaticIncident[]): void {
    const { world, memory } = this.#parts;
    const wallMs = world.clock.wallMs();
    const due = decideNotices(memory.state.notices, incidents, wallMs);
    const told = due.map((each) => toldEvent(each, wallMs) as LocalEvent);
    // The notice before the verdict: a write that is torn repeats the one and never loses the other.
    const notices = told.map((event): JournalEntry => ({ k: "local", event }));
    if (notices.length + entries.length > 0) this.note([...notices, ...entries], "now");
    for (const event of told) this.fold(event);
    // A process that dies before this has published nothing, and does not later: never twice.
    for (const each of due) this.#announce(each);
  }

  /** Something for our own operator. */
  tell(incident: AutomaticIncident): void {
    this.noteAndTell([], [incident]);
  }

  /** Notes a local event durably and folds it. */
  local(event: LocalEvent): void {
    this.note([{ k: "local", event }], "now");
    takeLocal(this.#parts.memory, event);
    this.fold(event);
  }

  /** Folds an event that is durable. */
  fold(event: CoreEvent): void {
    const { world, memory, env } = this.#parts;
    const { times } = memory;
    if (event.kind === "line" && event.own && event.message.seq !== undefined) {
      const wallMs = world.clock.wallMs();
      times.lastSent = laterTimestamp(times.lastSent, event.message.timestamp, wallMs);
    }
    times.latestMs = Math.max(times.latestMs, event.at);
    readAwaited(memory, event);
    apply(memory.state, event, env);
  }

  #announce(incident: AutomaticIncident): void {
    const { world, place } = this.#parts;
    const { cause, peer, subject, detail } = incident;
    world.log.warn({ cause, ...(peer === undefined ? {} : { peer }), detail }, subject);
    if (incident.concernsWire) publishNotice(world, place, incident);
  }
}
