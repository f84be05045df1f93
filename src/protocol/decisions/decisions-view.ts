import {
  isSuperseded,
  provedEntries,
  ratificationOf,
  revisionsIn,
  type DecisionsState,
} from "./decisions.ts";
import {
  decisionOf,
  provedRecord,
  type EntryRecord,
  type SignedDecision,
  type UnsignedDecision,
} from "./record/decision-record.ts";
import type { ProposalsState } from "./proposals-state.ts";

/** The entries of decisions.jsonl by what is proved of them; one for each proposal. Spec 3.4. */
export interface SortedEntries {
  in_force: SignedDecision[];
  /** Never shown as canonical: we do not hold yet what proves or refutes them. */
  pending: EntryRecord[];
  /**
   * Never shown as canonical: not signed by an agent that may record it, or not ratified as it
   * says.
   */
  unproved: (EntryRecord & { detail: string })[];
  superseded: SignedDecision[];
}

export function decisionsView(state: DecisionsState): SortedEntries {
  const proved = provedEntries(state);
  const revisions = revisionsIn(proved);
  const superseded = new Set(proved.filter((entry) => isSuperseded(entry, revisions)));
  const inForce = proved.filter((entry) => !superseded.has(entry));
  const all = [...state.entries.all.values()];
  return {
    in_force: inForce.map(({ record }) => provedRecord(record)),
    pending: all.flatMap(({ record, verdict }) =>
      verdict.is === "pending" ? withoutClaim(record) : [],
    ),
    unproved: all.flatMap(({ record, verdict }) =>
      verdict.is === "unproved" ? { ...withoutClaim(record), detail: verdict.detail } : [],
    ),
    superseded: [...superseded].map(({ record }) => provedRecord(record)),
  };
}

/** `canonical` is what we say, not what an entry says of itself. */
function withoutClaim(record: EntryRecord): EntryRecord {
  const { canonical: _claim, ...rest } = record;
  return rest;
}

/** The decisions that follow from the logs alone, recorded or not, oldest first. Spec 4.4. */
export function ratifiedDecisions(
  proposals: ProposalsState,
): Omit<UnsignedDecision, "recorded_by">[] {
  const ratified = [...proposals.proposals.values()].flatMap((proposal) => {
    const { outcome, content } = proposal;
    if (outcome?.status !== "ratified" || content === undefined) return [];
    const { recorded_by: _nobody, ...decision } = decisionOf(
      content,
      ratificationOf(proposal, outcome),
      "",
    );
    return decision;
  });
  return ratified.sort((a, b) => (a.ratified_at < b.ratified_at ? -1 : 1));
}
