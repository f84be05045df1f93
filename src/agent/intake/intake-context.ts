import type { AutomaticIncident } from "../../protocol/effects.ts";
import type { CoreEvent } from "../../protocol/events.ts";
import type { Env } from "../../protocol/env.ts";
import type { AdmissionContext } from "../../admission/context.ts";
import type { Ahead } from "./read-ahead.ts";
import type { Files, World } from "../session/world.ts";
import type { JournalEntry, LocalEvent } from "../state/journal-entries.ts";
import type { LogIntake, Memory } from "../state/agent-state.ts";
import type { AgentConfig } from "../config/agent-config.ts";

/** What is at hand while lines are taken in: the session's files and memory, and whom to tell. */
export interface Taking {
  readonly world: World;
  readonly files: Files;
  readonly place: AgentConfig;
  readonly memory: Memory;
  readonly ctx: AdmissionContext;
  readonly env: Env;
  /** Appends to the private journal; "later": with the next batch that has to be synced. */
  note(entries: readonly JournalEntry[], when: "now" | "later"): void;
  /** The same now, and in the same write what of these incidents is to be told; then tells it. */
  noteAndTell(entries: readonly JournalEntry[], incidents: readonly AutomaticIncident[]): void;
  /** Whether a chained line with our signature is one that we wrote. Spec 1.6. */
  wroteOurselves(log: string, seq: number, id: string): boolean;
  /** Lines that this process has just written itself: their signatures are known to be ours. */
  readonly written: Set<string>;
  readonly ahead: Ahead;
  /** Notes a local event durably and folds it. */
  local(event: LocalEvent): void;
  /** Folds an event that is durable. */
  fold(event: CoreEvent): void;
  /** Something for our own operator. */
  tell(incident: AutomaticIncident): void;
}

/** Whether the log is one of ours. */
export function isOwn({ place }: Taking, intake: LogIntake): boolean {
  return intake.log.owner === place.handle;
}
