import type { Marks } from "./views.ts";

/** A collaboration round that a daemon watches for its agent. Spec 6.3. */
export interface RoundView {
  folder: string;
  /** Who the agent is in it. */
  participant: string;
  /** Null: it cannot be read, or its log is not valid. */
  phase: string | null;
  /** It is the agent's turn. */
  is_turn: boolean;
  /** What is waited for, or why it cannot be read. */
  detail: string;
}

/** It is the agent's turn in a round, after the event of that seq. */
export interface Turn {
  /** What marks of what was shown name it by; no log has such a name. */
  readonly key: string;
  readonly seq: number;
  readonly folder: string;
  readonly participant: string;
}

/** The rounds that a daemon watches. */
export interface RoundRegistry {
  /** Looks at all of them now, at those that were registered meanwhile too. */
  look(): RoundView[];
  /** The agent's turns that it was not told of. */
  turns(): Turn[];
  /** What these marks name was shown. */
  told(marks: Marks): void;
}
