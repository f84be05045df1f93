/**
 * What makes the wire's local folder the same on several machines. Spec 5. A log has one author, so a
 * transport only appends what is missing; it interprets no message, and admission (spec 2.4) treats
 * what it brings as hostile. The shared folder needs none: its watcher is in `daemon/watch-wire.ts`.
 */
export interface Transport {
  readonly kind: TransportKind;
  /** Begins to fetch and to push. */
  start(): void;
  /** Does that now, besides what is due. How it ended, `health` says. */
  turn(due: Due): Promise<void>;
  /** Ends what runs; what is not pushed is pushed by the next start. */
  stop(): Promise<void>;
  /**
   * Something of ours has changed in the folder: which, it finds out. "soon": now, what comes together
   * as one push; "receipt": within seconds, with what follows meanwhile, and no answer is expected;
   * "at the cadence": with the next push, at the latest after one cadence.
   */
  push(when: PushTime): void;
  /** Fetches now: an operator, a deadline or a peer asks for it. */
  fetchSoon(): void;
  /** The operator takes the remote's history as it is now. */
  acceptHistory(): void;
  /** Calls back after each fetch whose lines are in the local folder. */
  onPulled(heard: (pulled: Pulled) => void): void;
  health(): TransportHealth;
}

/** What a turn is to do. */
export interface Due {
  readonly fetch: boolean;
  readonly push: boolean;
}

export type TransportKind = "git";
export type PushTime = "soon" | "receipt" | "at the cadence";

/** What a fetch brought. */
export interface Pulled {
  /** When it began, wall ms: all that was pushed before is in the folder now. Absent: not all of it. */
  readonly beganMs?: number;
  /** The paths in the folder that have grown or changed. */
  readonly changed: readonly string[];
  readonly troubles: readonly TransportTrouble[];
}

/**
 * What is wrong with what was fetched: told to the operator, and not taken in.
 *
 * - `wire_tampered`: a path that is no plain file of the wire, or bytes that its author did not write.
 * - `history_rewritten`: the remote lacks what it held; nothing more is taken from it.
 * - `foreign_wire`: the remote is another wire; nothing is taken from it, and nothing pushed.
 * - `own_log_ahead`: the remote has lines in a log of ours that we do not know.
 */
export interface TransportTrouble {
  readonly cause: "wire_tampered" | "history_rewritten" | "foreign_wire" | "own_log_ahead";
  /** The path in the wire, or the remote. Quoted: anybody can choose it. */
  readonly where: string;
  readonly detail: string;
  /** The name of the log, where it is one of ours. */
  readonly log?: string;
  /** Where what was found is kept, if it is. */
  readonly kept?: string;
}

/** How a transport does, for `status`, `doctor` and people. */
export interface TransportHealth {
  readonly kind: TransportKind;
  /** Without any secret. */
  readonly remote: string;
  /** Whether this daemon writes the local copies; otherwise another one of this host does. */
  readonly isMover: boolean;
  /** Wall ms of the last fetch and the last push that worked. */
  readonly fetchedMs: number | undefined;
  readonly pushedMs: number | undefined;
  /** Paths that are not pushed yet. */
  readonly waiting: number;
  /** Logs of ours of which nothing is pushed: they lack lines, or may. */
  readonly heldLogs: readonly string[];
  /** Why the last attempt failed, or why nothing is tried; undefined when all is well. */
  readonly problem: TransportProblem | undefined;
}

export interface TransportProblem {
  readonly code: TransportCode;
  readonly detail: string;
  readonly hint: string;
  readonly sinceMs: number;
}

export type TransportCode =
  | "unreachable"
  | "denied"
  | "no_git"
  | "no_remote"
  | "read_only"
  | "not_a_wire"
  | "stopped"
  | "local";

/** Trouble with a remote or with the program that reaches it. Tried again, but for "stopped". */
export class TransportError extends Error {
  override readonly name = "TransportError";
  readonly code: TransportCode;
  readonly hint: string;
  /** What the operator is to be told of, besides. */
  readonly trouble: TransportTrouble | undefined;

  constructor(
    code: TransportCode,
    problem: string,
    about: { hint: string; cause?: unknown; trouble?: TransportTrouble },
  ) {
    super(problem, about.cause === undefined ? undefined : { cause: about.cause });
    this.code = code;
    this.hint = about.hint;
    this.trouble = about.trouble;
  }
}
