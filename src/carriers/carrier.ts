import type { PartNames } from "./archive.ts";
import type { OwnChain, OwnLine } from "./publisher.ts";
import type { CarrierRead, ReadBudget } from "./reader.ts";

/**
 * Makes the carriers of one machine visible on others, and theirs here. It interprets no line and compares
 * no histories. What it has fetched lies on this machine, so listing and reading are synchronous.
 * Spec 5.
 */
export interface Transport {
  readonly kind: "folder" | "git";

  /** Files that are like carriers and belong to nobody, as of the last listing; absent: not known. */
  readonly unowned?: readonly string[];

  /** The carriers that exist now. Their names are stable: a cursor is kept by transport and name. */
  list(): readonly ListedCarrier[];

  /**
   * The lines of a carrier behind a cursor that an earlier read returned; undefined: from the beginning. One
   * that does not fit any more, or cannot be parsed, means the beginning too.
   *
   * @throws StorageError when the disk fails
   */
  read(carrier: ListedCarrier, cursor: string | undefined, budget: ReadBudget): CarrierRead;

  /**
   * Our chain has grown: what our carriers lack of it is appended. The folder has it when this returns; a
   * remote within the time that the urgency allows, and whatever fails is tried again.
   */
  publish(urgency: Urgency): void;

  /** Up to which number of our chain our carriers there hold what belongs into them; 0: not known yet. */
  readonly publishedThrough: number;

  /**
   * Calls back when carriers may have changed, with the name of the file if it is known. A hint: a listener that
   * hears nothing still reads.
   */
  onChange(listener: (name?: string) => void): void;

  /**
   * The wall time (ms) as of which everything that the owner had published can be read here: of a fetch, when
   * it began. Ask before you read to the end. Undefined: unknown, so no deadline runs against that owner.
   */
  knownMs(owner: string, nowMs: number): number | undefined;

  /** Looks for news now: an operator, a deadline or a peer asks for it. */
  refresh(): void;

  health(): TransportHealth;

  start(): void;
  /** What is not published yet is published after the next start. */
  stop(): Promise<void>;
}

/** A carrier that exists in one place of the wire. */
export interface ListedCarrier {
  /** Its path in the wire, with "/"; for other transports what names it there. */
  readonly name: string;
  /** The one agent that writes it. */
  readonly owner: string;
  /** Whom unchained lines without `to` are for (1.8): the second handle of a pair's file. */
  readonly reader: string | undefined;
}

/**
 * How soon others need a line: `soon` at once, with what comes together; `receipt` within seconds, with what
 * follows meanwhile; `cadence` with the next push, at the latest one cadence after the last.
 */
export type Urgency = "soon" | "receipt" | "cadence";

/**
 * Which files of a wire's folder belong to whom. It follows from the rosters that are known, so it grows.
 * Paths are relative to the folder, with "/". Archived parts (1.10) belong to whom the live file belongs.
 */
export interface WireLayout {
  /** Live carriers by their paths, of every handle of any roster. */
  readonly carriers: ReadonlyMap<string, ListedCarrier>;
  /** Which of these, or of the shared files, an archived part belongs to. */
  readonly parts: PartNames;
  /** Those of ours that are written now. */
  readonly ours: readonly OwnCarrier[];
  /** Every handle of any roster: each has a card and a state file. */
  readonly handles: readonly string[];
}

/** A live carrier of ours that is written now. */
export interface OwnCarrier {
  readonly path: string;
  /**
   * Which lines it gets, whatever our other carriers have (copies for a member that does not chain). Without
   * it: every line that none of our carriers has.
   */
  readonly takes?: (line: OwnLine) => boolean;
}

/** What a transport publishes. */
export interface OwnLines {
  readonly handle: string;
  /** As the store has it now. */
  chain(): OwnChain;
  /** Saves the mark (1.6) if it is lower; called before each append. @throws StorageError */
  beforeAppend(last: OwnLine): void;
}

/** How a transport does, for `status`, `doctor` and deadlines. */
export interface TransportHealth {
  /** Where it shares the wire, without any secret. */
  readonly remote: string;
  /** Whether this daemon is the one of its machine that serves people: it fills the folder's files (5.2). */
  readonly isMover: boolean;
  /** Wall ms: when the last fetch began that ended well, and when the last push ended well. */
  readonly fetchedMs: number | undefined;
  readonly pushedMs: number | undefined;
  /** Paths that are not pushed yet. */
  readonly waiting: number;
  /** Why the last attempt failed, or why nothing is tried; undefined when all is well. */
  readonly problem: TransportProblem | undefined;
  /** What is wrong with what was fetched last. */
  readonly troubles: readonly TransportTrouble[];
}

export interface TransportProblem {
  readonly code: TransportCode;
  readonly detail: string;
  readonly hint: string;
  readonly sinceMs: number;
}

/**
 * What is told to the operator, and is not taken.
 *
 * - `wire_tampered`: something that is no plain file of the wire, or is too large.
 * - `history_rewritten`: the remote lacks what it held; nothing is pushed until the operator accepts that.
 * - `foreign_wire`: the remote is another wire; nothing is taken or pushed.
 */
export interface TransportTrouble {
  readonly cause: "wire_tampered" | "history_rewritten" | "foreign_wire";
  /** A path in the wire, or the remote. Quoted: anybody can choose it. */
  readonly where: string;
  readonly detail: string;
}

export type TransportCode =
  "unreachable" | "denied" | "no_git" | "no_remote" | "read_only" | "stopped" | "local";

/** Trouble with a remote, or with the program that reaches it. It is tried again; `stopped` rarely. */
export class TransportError extends Error {
  override readonly name = "TransportError";
  readonly code: TransportCode;
  readonly hint: string;
  readonly trouble: TransportTrouble | undefined;

  constructor(
    code: TransportCode,
    problem: string,
    options: { hint: string; cause?: unknown; trouble?: TransportTrouble },
  ) {
    super(problem, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.hint = options.hint;
    this.trouble = options.trouble;
  }
}
