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

/** The rounds that a daemon watches. */
export interface RoundRegistry {
  /** Looks at all of them now, at those that were registered meanwhile too. */
  look(): RoundView[];
}
