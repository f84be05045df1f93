import { lineAt } from "../../protocol/asks/history.ts";
import {
  standingDecisions,
  touchedBy,
  type StandingDecision,
  type UnsignedDecision,
} from "../../protocol/asks/record.ts";
import type { CoveringDecision } from "../../protocol/claims/blocked-paths.ts";
import { field, textField, textsField } from "../../protocol/body.ts";
import type { EntryRow, EntryState } from "../../store/decisions.ts";
import type { Tier } from "../../trust/tiers.ts";
import {
  fromPlain,
  isJsonObject,
  parseObject,
  toPlain,
  type JsonObject,
} from "../../wire/json/json.ts";
import { placeJson, readPlace, type PlaceJson } from "../../wire/places.ts";
import type { Known } from "../duties/duty.ts";
import { tierOf } from "./listed.ts";

/** A decision as its recorder has signed it. Spec 3.4.7. */
export interface SignedDecision extends UnsignedDecision {
  readonly event_id: string;
  readonly public_key_id: string;
  readonly signature: string;
}

/** Fields of an entry, as far as they have the type that they should have. */
export type EntryRecord = { readonly [Name in keyof SignedDecision]?: SignedDecision[Name] };

/** How far the proposer is believed here; null: of no tier, or blocked. */
type Rated<Entry> = Entry & { readonly proposer_tier: Tier | null };

/** `beside`: the `decision_id` of others of its thread that are in force too, and do not name each other. */
export type DecisionView = Rated<SignedDecision> & {
  /** Of the proposal. */
  readonly place: PlaceJson;
  readonly beside: readonly string[];
};

/** One that is not shown as a decision. `place`: of the proposal, if it names one. */
export type DoubtfulEntry = Rated<EntryRecord> & { readonly place: PlaceJson | null };

/** The entries of decisions.jsonl by what is proved of them, the newest of each; one for each proposal. */
export interface DecisionsView {
  /** Approved, proved, and not superseded. */
  readonly in_force: readonly DecisionView[];
  /** Never shown as canonical: we do not hold yet what proves or refutes them. */
  readonly pending: readonly DoubtfulEntry[];
  /** Never shown as canonical: not signed by an agent that may record it, or not approved as it says. */
  readonly unproved: readonly (DoubtfulEntry & { readonly detail: string })[];
  readonly superseded: readonly DecisionView[];
}

const MOST_DECISIONS = 2_048;
const MOST_DOUBTFUL = 256;
const TEXTS = [
  ...["decision_id", "ratified_at", "proposer", "decision", "correlation_id", "supersedes"],
  ...["recorded_by", "event_id", "public_key_id", "signature"],
];
const LISTS = ["acked_by", "refs", "affected_domains"];
const PLACES = ["proposal", "close"];

export function decisionsView(known: Known): DecisionsView {
  const standing = decisionsStanding(known);
  const view = ({ decision, beside }: StandingDecision): DecisionView => ({
    ...(decision as SignedDecision),
    ...{ place: decision.proposal, beside },
    proposer_tier: tierOf(known, decision.proposer),
  });
  return {
    in_force: standing.filter(({ supersededBy }) => supersededBy === undefined).map(view),
    pending: doubtful(known, "pending").map(({ entry }) => entry),
    unproved: doubtful(known, "unproved").map(({ entry, detail }) => ({ ...entry, detail })),
    superseded: standing.filter(({ supersededBy }) => supersededBy !== undefined).map(view),
  };
}

/** Decisions in force, with the domains that they touch by our own pins: an entry's word for these proves nothing. */
export function decisionsInForce(known: Known): readonly CoveringDecision[] {
  const touched = touchedBy(known.place.domains);
  return decisionsStanding(known)
    .filter(({ supersededBy }) => supersededBy === undefined)
    .flatMap(({ decision: { decision_id, acked_by, proposal } }) => {
      const place = readPlace(fromPlain(proposal));
      const line = place && lineAt(known.history, place);
      if (line === undefined) return [];
      return [{ decision_id, acked_by, affected_domains: touched(line.body).names }];
    });
}

function decisionsStanding({ store }: Pick<Known, "store">): readonly StandingDecision[] {
  const proved = store.decisions.list("proved", MOST_DECISIONS);
  return standingDecisions(proved.map((row) => toPlain(fieldsOf(row)) as SignedDecision));
}

function doubtful(
  known: Known,
  state: EntryState,
): { readonly entry: DoubtfulEntry; readonly detail: string }[] {
  return known.store.decisions.list(state, MOST_DOUBTFUL).map((row) => {
    const fields = fieldsOf(row);
    const place = readPlace(field(fields, "proposal"));
    const proposer = textField(fields, "proposer");
    const entry = {
      ...recordIn(fields),
      place: place === undefined ? null : placeJson(place),
      proposer_tier: proposer === undefined ? null : tierOf(known, proposer),
    };
    return { entry, detail: row.detail };
  });
}

function fieldsOf({ bytes }: EntryRow): JsonObject {
  const parsed = parseObject(bytes);
  if (!parsed.ok) throw new Error("an entry that is kept is no JSON object");
  return parsed.value;
}

/** What anybody may have written. `canonical` is what we say, not what an entry says of itself. */
function recordIn(fields: JsonObject): EntryRecord {
  const owners = field(fields, "domain_owners");
  const isOwners =
    isJsonObject(owners) && Object.values(owners).every((owner) => typeof owner === "string");
  const kept = Object.entries(fields).filter(
    ([name, value]) =>
      (TEXTS.includes(name) && typeof value === "string") ||
      (LISTS.includes(name) && textsField(fields, name) !== undefined) ||
      (PLACES.includes(name) && readPlace(value) !== undefined) ||
      (name === "domain_owners" && isOwners),
  );
  return toPlain(Object.fromEntries(kept)) as EntryRecord;
}
