import type { Agent } from "../agent/agent.ts";
import type { Draft } from "../wire/compose.ts";
import type { SendAnswer } from "./client.ts";
import type { RoundRegistry } from "./rounds.ts";
import type {
  HookAnswer,
  HookEvent,
  SessionName,
  ToolSessionView,
  WakeAnswer,
} from "./tool-sessions.ts";
import type { TransportControl } from "./transport.ts";
import type { Marks } from "./views.ts";

/** What operations ask of an agent. Its calls do not overlap: see Service. */
export type OperatedAgent = Pick<
  Agent,
  | "view"
  | "markRead"
  | "setStatus"
  | "notify"
  | "sendOnce"
  | "answered"
  | "wake"
  | "resetPeer"
  | "revokeKey"
  | "changeMembers"
  | "leave"
  | "reclaim"
  | "archive"
  | "look"
  | "reload"
>;

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
