import type { CoreEvent, ReadHow } from "../../protocol/events.ts";
import { answeredBy } from "../../protocol/receipts/receipts.ts";
import { emptyState, type State } from "../../protocol/state.ts";
import { freshSalt } from "../../storage/disk/salt.ts";
import type { Cursor } from "../../storage/files/tail.ts";
import { newLogAdmission, type LogAdmission } from "../../admission/log-admission.ts";
import { newBucket, type Bucket, type StorageUse } from "../../admission/rate-limits.ts";
import type { Log } from "../../wire/layout.ts";
import { NOTHING_INDEXED, type Indexed } from "./indexed-journal.ts";
import type { LineEntry } from "./journal-entries.ts";
import { UNREAD, type LogStatus } from "./log-status.ts";
import type { AgentConfig } from "../config/agent-config.ts";

/** Our wall clock was set back to `at`; what the journal notes before that offset was not later. */
export interface SetBack {
  readonly before: number;
  readonly at: number;
}

/** Which lines of a file claim which place in the chain, while the file looks so. */
export interface ChainClaims {
  readonly look: string;
  readonly from: number;
  readonly lines: readonly { readonly seq: number; readonly start: number; readonly end: number }[];
  /** The next search is made no earlier than this, on the monotonic clock. */
  readonly againMs: number;
}

/** Where the author's chain goes on after a line: tears before that are not the author's. */
export interface Continuation {
  /** The id of that line; undefined when the log has shown no chained one. */
  readonly after: string | undefined;
  /** The offset of the line that goes on. */
  readonly at: number;
}

/** Live bytes of one log within one hour (since 1970) that its author did not sign. */
export interface ForeignUse {
  readonly hour: number;
  readonly lines: number;
  readonly bytes: number;
}

export const NOTHING_FOREIGN: ForeignUse = { hour: 0, lines: 0, bytes: 0 };

/** How far one log has been taken in, and what is in the way of more. */
export interface LogIntake {
  readonly log: Log;
  /** Moved by `moveCursor` alone, which says where it may go. */
  cursor: Cursor | undefined;
  admission: LogAdmission;
  /** Changed by `observe` alone. */
  status: LogStatus;
  readonly past: LogPast;
  /**
   * Awaited lines: what the journal noted of lines that the log lacks now, by id. A power cut
   * removed them.
   */
  readonly awaited: Map<string, AwaitedLine>;
  /** What others have written into it within the hour. */
  foreign: ForeignUse;
  readonly order: LogOrder;
}

/** Which lines of a log are history. Offsets in its file. */
export interface LogPast {
  /** Lines that end at or before this offset were there when the journal began: history. */
  historyTo: number | undefined;
  /** Where the first line ends that its author has signed; lines before it may be unsigned. Spec 1.5. */
  signedTo: number;
  /** Lines up to here were written while we were down: live, but not limited. Spec 2.4. */
  unlimitedTo: number;
  /** Receipt time of the line before, for history. */
  lastAt: number;
}

/** What is known of the order of a log's lines, so that it need not be looked for again. Spec 1.6. */
export interface LogOrder {
  /** What the log looked like when it was found to hold all that we know, in order. */
  look: string | undefined;
  /** Which lines behind a gap claim which place in the chain. */
  claims: ChainClaims | undefined;
  /** The operator has let it be taken in the order in which it is now, to its end. */
  takesAny: boolean;
  /** Where its chain goes on behind tears that others have left. */
  goesOn: Continuation | undefined;
}

/** What the journal noted of a line. */
export interface AwaitedLine extends LineEntry {
  /** The agent has read or answered it since, in its inbox. */
  readonly read?: ReadHow;
  /** The receipt time that it was judged by, where `at` was corrected since. */
  readonly judgedAt?: number;
}

/** What the agent marks as read, or answers, also counts for awaited lines. Spec 3.2. */
export function readAwaited({ intakes }: Memory, event: CoreEvent): void {
  const answered = event.kind === "line" && event.own ? answeredBy(event.message) : undefined;
  if (event.kind !== "read" && answered === undefined) return;
  for (const { awaited } of intakes.values()) {
    for (const [id, entry] of awaited) {
      if (entry.read !== undefined) continue;
      if (id === answered) awaited.set(id, { ...entry, read: "so far" });
      if (event.kind !== "read" || !(event.ids === "all" || event.ids.includes(id))) continue;
      awaited.set(id, { ...entry, read: "alone" });
    }
  }
}

/** What one peer may still send and make us store. Spec 2.4. */
export interface Allowance {
  bucket: Bucket;
  use: StorageUse;
}

export interface KnownTimes {
  /** The latest time of our wall clock that was noted, of receipts and of all else. */
  latestMs: number;
  /** Where in the journal our clock was set back, and to what. Spec 4.1. */
  setBacks: readonly SetBack[];
  /** The newest timestamp that we have signed. Spec 1.2: ours only grow. */
  lastSent: string | undefined;
}

/** What is known of the inbox and of the file of notices; offsets are logical. */
export interface KnownInbox {
  /** Lines that are in the inbox and in no journal, by id: only until they are taken in again. */
  unnoted: Map<string, number> | undefined;
  /** Up to here the inbox is known to be synced. */
  end: number;
  /** Every line routed beyond `end` is noted in the journal at or after this offset. */
  from: number;
  /** The same of the notices. Spec 3.12. */
  readonly notices: { readonly end: number; readonly from: number };
}

/** All that changes while an agent runs; all of it can be derived again from journal and logs. */
export interface Memory {
  state: State;
  readonly intakes: Map<string, LogIntake>;
  readonly allowances: Map<string, Allowance>;
  /** How far decisions.jsonl has been read. */
  decisions: Cursor | undefined;
  /** When the last fetch began whose lines the present round reads. Wall ms. Spec 5. */
  fetchedMs: number | undefined;
  /** A line of ours that we did not write: nothing is sent until the operator decides. Spec 1.6. */
  inUse: { readonly log: string; readonly detail: string; readonly sinceMs: number } | undefined;
  readonly times: KnownTimes;
  /** Up to here the journal is folded. */
  journalEnd: number;
  /** What of the index of the journal was saved with the last checkpoint. */
  indexed: Indexed;
  inbox: KnownInbox;
}

export function emptyMemory(place: AgentConfig, monoMs: number): Memory {
  const { layout, config } = place;
  return {
    state: emptyState(),
    intakes: new Map([...layout.logs.values()].map((log) => [log.name, newIntake(log, place)])),
    allowances: new Map(
      layout.roster.map((handle) => [
        handle,
        {
          bucket: newBucket(config.limits.rateLimitMsgPerMin, monoMs),
          use: { day: 0, bytes: 0 },
        },
      ]),
    ),
    decisions: undefined,
    fetchedMs: undefined,
    inUse: undefined,
    times: { latestMs: 0, setBacks: [], lastSent: undefined },
    journalEnd: 0,
    indexed: NOTHING_INDEXED,
    inbox: { unnoted: undefined, end: 0, from: 0, notices: { end: 0, from: 0 } },
  };
}

function newIntake(log: Log, place: AgentConfig): LogIntake {
  return {
    log,
    cursor: undefined,
    admission: newLogAdmission(log, place.layout, freshSalt()),
    status: UNREAD,
    past: { historyTo: undefined, signedTo: 0, unlimitedTo: 0, lastAt: 0 },
    awaited: new Map(),
    foreign: NOTHING_FOREIGN,
    order: { look: undefined, claims: undefined, takesAny: false, goesOn: undefined },
  };
}

/** The intake of a log of the layout. */
export function intakeOf(memory: Memory, name: string): LogIntake {
  const intake = memory.intakes.get(name);
  if (intake === undefined) throw new Error(`${name} is no log of this wire`);
  return intake;
}
