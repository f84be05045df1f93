import type { Severity } from "./incident-lines.ts";
import type { BeatMark } from "../logs/logs-state.ts";

/** Declared incidents remembered per log: the newest, counted in that log's own order. */
export const MAX_INCIDENTS = 256;

/** Declared incidents and what became of them: a function of the logs. Spec 3.5. */
export interface IncidentsState {
  /** By log, then by event id in the log's order. */
  readonly declared: Map<string, Map<string, Incident>>;
  /** By log: how many older ones were dropped for later ones. */
  readonly forgotten: Map<string, number>;
  /** By answering log: incidents of which its author's beats have not yet shown all. */
  readonly asking: Map<string, IncidentPlace[]>;
  /** By answering log: answers that may be to incidents which we do not hold yet. */
  readonly ahead: Map<string, Map<string, AnswerMark>>;
  /** Escalations that their addressee ignored: safe mode follows from them. */
  breaches: Breach[];
  /** By agent: escalations that it has ended for itself. */
  readonly resumedHere: Map<string, string[]>;
  /** Our incidents and the answers to them, on their way to incident_log.jsonl. */
  mirror: { readonly id: string; readonly raw: string }[];
}

export interface IncidentPlace {
  readonly log: string;
  readonly id: string;
}

export interface Incident {
  readonly id: string;
  readonly log: string;
  readonly line: number;
  readonly author: string;
  readonly at: number;
  readonly live: boolean;
  readonly timestamp: string;
  readonly severity: Severity;
  readonly subject: string;
  readonly correlationId: string;
  readonly to: readonly string[];
  /** The first ack of each addressee. */
  readonly acks: Map<string, AnswerMark>;
  /** What the beats of each addressee show of it. */
  readonly shown: Map<string, ShownBeats>;
  /** By the addressee that they name: the event id of the first. */
  readonly escalations: Map<string, string>;
  /** The first of all escalations, the only one that can be honoured. */
  first: Escalation | undefined;
  readonly resolvedBy: Set<string>;
}

/** Beats of one addressee; lines that they name as refused are not covered. Spec 3.5. */
export interface ShownBeats {
  /** The first beat in its log covers the incident: that asks nothing of it. */
  readonly fromStart: boolean;
  /** The first live one that covers it. */
  arrived?: CoveringBeat;
  /** The first that covers it as read and does not say `busy`. */
  read?: CoveringBeat;
  /** The first live one of these: from its receipt our clock runs. */
  readLive?: CoveringBeat;
}

export interface AnswerMark {
  readonly line: number;
  readonly at: number;
}

export type CoveringBeat = Pick<BeatMark, "line" | "timestampMs" | "at" | "cadenceMs">;

export interface Escalation {
  readonly id: string;
  readonly line: number;
  readonly of: string;
  /** Whether it is final that the addressee ignored it, or did not. */
  settled: boolean;
  /** Ended by its author. */
  resumed: boolean;
}

/** An escalation that its addressee has seen and ignored, as its log shows. */
export interface Breach {
  readonly author: string;
  readonly of: string;
  readonly incident: string;
  readonly escalation: string;
  /** The log of the escalation, and its line there. */
  readonly log: string;
  readonly line: number;
  /** The addressee's own date of the second beat. */
  readonly secondBeatMs: number;
  readonly resumed: boolean;
}

export function emptyIncidents(): IncidentsState {
  return {
    declared: new Map(),
    forgotten: new Map(),
    asking: new Map(),
    ahead: new Map(),
    breaches: [],
    resumedHere: new Map(),
    mirror: [],
  };
}

/** All declared incidents that are remembered, oldest first in each log. */
export function* declaredIncidents(state: IncidentsState): Generator<Incident> {
  for (const incidents of state.declared.values()) yield* incidents.values();
}
