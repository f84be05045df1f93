import type { Onlookers } from "../../protocol/asks/views.ts";
import type { Situation } from "../../protocol/asks/closing.ts";
import type { History } from "../../protocol/asks/history.ts";
import type { RosterInForce } from "../../protocol/asks/roster.ts";
import type { SafeMode } from "../../protocol/escalations/safe-mode-end.ts";
import type { Transport } from "../../carriers/carrier.ts";
import type { HeldLine, Store, StoreWriter } from "../../store/store.ts";
import type { OperatorIncident } from "../../store/told.ts";
import type { Draft } from "../../wire/compose.ts";
import type { ChainPlace } from "../../wire/places.ts";
import type { CorePlace, CoreWorld } from "../core.ts";
import type { Pass } from "../lines/carrier-reading.ts";
import type { Readiness } from "../lines/own-lines.ts";

/** What answers and duties know of the agent and its wire; it is asked anew each time. */
export interface Known {
  readonly store: Store;
  readonly history: History;
  readonly place: CorePlace;
  readonly world: CoreWorld;
  /** The members of the roster in force, and whether each chains. */
  readonly members: ReadonlyMap<string, boolean>;
  /** How that roster came about. */
  readonly roster: RosterInForce;
  /** The first reading of the wire has ended: what is taken in now was not there before. */
  readonly isLive: boolean;
  readonly readiness: Readiness;
  readonly safeMode: SafeMode | undefined;
  /** The places of the wire. */
  readonly transports: readonly Transport[];
  /** What the last pass over the carriers has found. */
  readonly lastPass: Pass | undefined;
  /** What closes follow from. */
  readonly situation: Situation;
  /** What an ask is shown by. */
  readonly onlookers: Onlookers;
  /** ms between the beats of an author, as its last one says. */
  cadenceMs(author: string): number;
  /** The carriers of an author were read to their end as of then (wall ms); undefined: not yet. */
  knownMs(author: string): number | undefined;
  /** Since when each place of the wire has a line of our chain in a carrier of ours: wall ms. Undefined: not yet. */
  publishedMs(line: ChainPlace): number | undefined;
}

/** What a duty may do too. */
export interface Ground extends Known {
  /** Within a transaction: signs a line and holds it. `readiness` is "ready" and nothing it names is unheld. */
  say(into: StoreWriter, draft: Draft): HeldLine;
  /**
   * Within a transaction: tells our operator of a matter, once. It may be raised each round as long as it is true;
   * what follows from a historical line is not.
   */
  tell(into: StoreWriter, incident: OperatorIncident): void;
  /** A beat of ours is due no later than then: monotonic ms. */
  beatBy(monoMs: number): void;
  /**
   * Within a transaction: our chain ends with what is whole of it, as the mark says from now on; what else our key
   * has signed is given up. @throws StorageError
   */
  endChainHere(into: StoreWriter): void;
}

/**
 * One thing that an agent keeps true besides its chain: a file for people, a record, what its operator is told.
 * Each is decided anew from the store; a process may die between any two steps. Spec 4.1.
 */
export interface Duty {
  /**
   * Within the transaction that takes a line in, in the order of `n`: changes derived tables, signs nothing. A line,
   * beats excepted, comes again when it is linked later, and when it is judged later.
   */
  take?(into: StoreWriter, line: HeldLine): void;
  /** Within a transaction, once a round and again while a duty signs: what is due. True: something was signed. */
  decide?(into: StoreWriter): boolean;
  /** After the commit, once a round: what files repeat. @throws StorageError, which stops no other duty */
  write?(): void;
  /** When it wants a round next: monotonic ms. */
  nextDueMs?(): number;
  close?(): void;
}
