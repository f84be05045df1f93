import type { Schema } from "./event.ts";

/** What a round is, apart from its events. */
export interface RoundRules {
  readonly schema: Schema;
  /** The first one owns the proposal. */
  readonly participants: readonly string[];
  /** How events name the primary deliverable, like `deliverables/adr.md`. Schema 2. */
  readonly primary?: string | undefined;
}
