import { emptyState, type State } from "../../protocol/state.ts";
import type { StorageError } from "../../storage/disk/disk.ts";
import { freshSalt } from "../../storage/disk/salt.ts";
import type { Cursor } from "../../storage/files/tail.ts";
import { newLogAdmission, type LogAdmission } from "../../admission/log-admission.ts";
import { newBucket, type Bucket, type StorageUse } from "../../admission/rate-limits.ts";
import type { Log } from "../../wire/layout.ts";
import type { LineEntry, LocalEvent } from "./journal-entries.ts";
import { NOTHING_FOREIGN, type ForeignUse } from "../intake/trouble/foreign-lines.ts";
import type { Continuation, Hole } from "../intake/trouble/torn-line.ts";
import type { ChainClaims } from "../intake/trouble/line-order.ts";
import type { LogWait } from "../intake/trouble/log-waits.ts";
import type { SetBack } from "./receipt-times.ts";
import type { AgentConfig } from "../config/agent-config.ts";

/** How far one log has been taken in, and what stands in the way of more. */
export interface LogIntake {
  readonly log: Log;
  cursor: Cursor | undefined;
  admission: LogAdmission;
  /** Lines that end at or before this offset stood there when the journal began: history. */
  historyTo: number | undefined;
  /** Where the first line ends that its author has signed; lines before it may be unsigned. Spec 1.5. */
  signedTo: number;
  /** Lines up to here were written while we were down: live, but not limited. Spec 2.4. */
  unlimitedTo: number;
  /** Receipt time of the line before, for history. */
  lastAt: number;
  /** Everything that stands in the log now is taken in. */
  caughtUp: boolean;
  /** What stands in the log and is not taken in waits for a limit that we set, or the operator. */
  heldBack: boolean;
  /** The log begins above line 1 and waits for its archive or the operator's word. Spec 1.6. */
  late: { readonly detail: string; readonly sinceMs: number } | undefined;
  /** Monotonic time before which the log is not read: its author is limited, held, or in doubt. */
  notBeforeMs: number;
  /** The journal's word on lines that the log lacks just now, by id: a power cut took them back. */
  readonly awaited: Map<string, AwaitedLine>;
  /** What others have written into it within the hour. */
  foreign: ForeignUse;
  /** A line that a power cut has damaged, and that its author has to mend. */
  hole: Hole | undefined;
  /** Where its chain goes on behind holes that others have left. */
  goesOn: Continuation | undefined;
  /** Why the log does not move, if it waits. */
  wait: LogWait | undefined;
  /** What the log looked like when it was found to hold all that we know, in order. */
  orderedLook: string | undefined;
  /** Which lines behind a gap claim which place in the chain. */
  claims: ChainClaims | undefined;
  /** The operator has let it be taken in the order in which it stands now, to its end. */
  takesAnyOrder: boolean;
}

/** What the journal noted of a line; `isRead`: the agent has read it since, in its inbox. */
export interface AwaitedLine extends LineEntry {
  readonly isRead?: true;
}

/** What the agent marks as read holds for lines, too, that their log lacks just now. */
export function readAwaited({ intakes }: Memory, event: LocalEvent): void {
  if (event.kind !== "read") return;
  const { ids } = event;
  for (const { awaited } of intakes.values()) {
    for (const [id, line] of awaited) {
      if (ids === "all" || ids.includes(id)) awaited.set(id, { ...line, isRead: true });
    }
  }
}

/** What one peer may still send and make us store. Spec 2.4. */
export interface Allowance {
  bucket: Bucket;
  use: StorageUse;
}

/** All that changes while an agent runs; everything of it can be had again from journal and logs. */
export interface Memory {
  state: State;
  readonly intakes: Map<string, LogIntake>;
  readonly allowances: Map<string, Allowance>;
  /** How far decisions.jsonl has been read. */
  decisions: Cursor | undefined;
  /** A line of ours that we did not write: nothing is sent until the operator decides. Spec 1.6. */
  inUse: { readonly log: string; readonly detail: string; readonly sinceMs: number } | undefined;
  /** Why nothing can be written to our own logs now. */
  ownTrouble: StorageError | undefined;
  /** Logs of ours that cannot be read, by name: what comes next must follow what stands there. */
  readonly unreadable: Map<string, StorageError>;
  /** The latest time of our wall clock that was noted, of receipts and of all else. */
  latestMs: number;
  /** Where in the journal our clock was set back, and to what. Spec 4.1. */
  setBacks: readonly SetBack[];
  /** The newest timestamp that we have signed. Spec 1.2: ours only grow. */
  lastTimestamp: string | undefined;
  /** Up to here the journal is folded. */
  journalEnd: number;
  /** Lines that stand in the inbox and in no journal, by id: only until they are taken in anew. */
  inInbox: Map<string, number> | undefined;
  /** Up to here (logical offset) the inbox is known to be synced. */
  inboxEnd: number;
  /** Every line routed beyond `inboxEnd` is noted in the journal at or after this offset. */
  inboxFrom: number;
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
    inUse: undefined,
    ownTrouble: undefined,
    unreadable: new Map(),
    latestMs: 0,
    setBacks: [],
    lastTimestamp: undefined,
    journalEnd: 0,
    inInbox: undefined,
    inboxEnd: 0,
    inboxFrom: 0,
  };
}

function newIntake(log: Log, place: AgentConfig): LogIntake {
  return {
    log,
    cursor: undefined,
    admission: newLogAdmission(log, place.layout, freshSalt()),
    historyTo: undefined,
    signedTo: 0,
    unlimitedTo: 0,
    lastAt: 0,
    caughtUp: false,
    heldBack: false,
    late: undefined,
    notBeforeMs: 0,
    awaited: new Map(),
    foreign: NOTHING_FOREIGN,
    hole: undefined,
    wait: undefined,
    orderedLook: undefined,
    claims: undefined,
    takesAnyOrder: false,
    goesOn: undefined,
  };
}

/** The intake of a log of the layout. */
export function intakeOf(memory: Memory, name: string): LogIntake {
  const intake = memory.intakes.get(name);
  if (intake === undefined) throw new Error(`${name} is no log of this wire`);
  return intake;
}
