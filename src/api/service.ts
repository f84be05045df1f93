import type { OwnMatter } from "../agent/duties/agent-notices.ts";
import type { MemberChange } from "../agent/answers/members.ts";
import type { LinePlace } from "../trust/store.ts";
import type { Draft } from "../wire/compose.ts";
import type { StateChange } from "../agent/own-state.ts";
import type { ArchiveAnswer } from "./archive.ts";
import type { ReclaimAnswer, RequestKey, SendAnswer } from "./client.ts";
import type { RoundRegistry } from "./rounds.ts";
import type {
  HookAnswer,
  HookEvent,
  SessionName,
  ToolSessionView,
  WakeAnswer,
} from "./tool-sessions.ts";
import type { TransportControl } from "./transport.ts";
import type { HoldsView, Marks, ViewArgs, ViewName, Views } from "./views.ts";

/** What operations ask of an agent. Its calls do not overlap: see Service. */
export interface OperatedAgent {
  view<N extends ViewName>(name: N, args: ViewArgs[N]): Promise<Views[N]>;
  markRead(ids: readonly string[] | "all"): Promise<{ read: number }>;
  /** `notWoken` is the daemon's own to say. */
  setStatus(change: StateChange): Promise<void>;
  /** A notice of the operator's own program, once for each kind and `about`. Spec 3.12. */
  notify(matter: OwnMatter): Promise<{ told: boolean }>;
  /** Sends once: a call that repeats a key is answered as the first one was. Spec 8.1. */
  sendOnce(drafts: readonly Draft[], key: RequestKey): Promise<SendAnswer>;
  /** The same without sending: null when nothing was sent under that key. */
  answered(key: RequestKey): Promise<SendAnswer | null>;
  /** A parked agent goes on; false when it is not parked. Spec 3.8. */
  wake(): Promise<{ woken: boolean }>;
  /**
   * The operator has decided: lines of a peer are taken again, of a fork the branch of `follow`. Answers what was
   * held. Spec 1.6.
   */
  resetPeer(peer: string, follow?: LinePlace): Promise<HoldsView>;
  /** A key of a peer is stopped at once; what it has signed behind `last` is struck. Spec 2.5. */
  revokeKey(keyId: string, last?: LinePlace): Promise<void>;
  /** Proposes a change of members. Spec 3.11. */
  changeMembers(change: MemberChange): Promise<SendAnswer>;
  /** Our agent leaves the wire; its open changes of members end first. Spec 3.11. */
  leave(): Promise<SendAnswer>;
  /**
   * The operator has stopped the other copy of our key: we write again. Spec 1.6. `from`: files that
   * hold lines of ours, by their whole paths.
   */
  reclaim(from?: readonly string[]): Promise<ReclaimAnswer>;
  /**
   * Moves our logs and the shared files into the archive, those that begin in that year or before.
   * Without a year: the last one that is over. Spec 1.10.
   */
  archive(year?: number): Promise<ArchiveAnswer>;
  /** Takes in what is new in the peers' logs now; true when more waits. A daemon acts on it too. */
  look(): Promise<boolean>;
  /** Reads configuration, pins and tiers again after the operator has changed them. */
  reload(): Promise<void>;
}

/** The sessions of tools that a daemon's agent runs in. Spec 8.3. */
export interface SessionRegistry {
  event(event: HookEvent): Promise<HookAnswer>;
  named(session: SessionName, marks: Marks): void;
  awaitWake(
    session: SessionName & Pick<HookEvent, "process">,
    gone: AbortSignal,
  ): Promise<WakeAnswer>;
  list(): ToolSessionView[];
}

/** An agent as operations reach it: one call after the other. */
export interface Service {
  inTurn<T>(work: (agent: OperatedAgent) => Promise<T>): Promise<T>;
  /** All or nothing, one group; sends that come together go out with one sync. */
  send(drafts: readonly Draft[]): Promise<SendAnswer>;
  /**
   * Asks at once and after each round of the agent, until there is an answer; undefined when the
   * time is over. Without a daemon there are no rounds: it asks once.
   */
  until<T>(ask: () => Promise<T | undefined>, limitMs: number): Promise<T | undefined>;
  /** Undefined without a daemon. */
  readonly sessions?: SessionRegistry | undefined;
  readonly rounds?: RoundRegistry | undefined;
  /** Undefined without a daemon. */
  readonly transport?: TransportControl | undefined;
}

/** Who asks. */
export interface Asker {
  /** It has gone, and waits for no answer. */
  readonly gone: AbortSignal;
}

/** A request waits no longer than this; who wants to wait for more asks again. */
export const MAX_WAIT_MS = 5_000;
