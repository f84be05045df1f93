import type { Ask } from "../../protocol/asks/ask-line.ts";
import { isSamePlace, placeJson, type Place, type PlaceJson } from "../../wire/places.ts";
import { decisionWords } from "../../wire/decision-words.ts";
import type { Known } from "../duties/duty.ts";
import { awaitedText, reasonOf, showAsk, type ShownAsk } from "./asks.ts";
import { isVerified, listedSubject, tierOf } from "./listed.ts";

/**
 * `replaced`: its proposer agreed to another one, which was approved; `withdrawn`: to one that was not;
 * `superseded`: it proposed another one itself; `reverted`: it was ended otherwise, see `reason`; `disputed`: its
 * proposer has forked its chain; `void`: it can never be ratified, see `problem`.
 */
export type ProposalStatus =
  | "open"
  | "ratified"
  | "rejected"
  | "reverted"
  | "superseded"
  | "withdrawn"
  | "replaced"
  | "disputed"
  | "void";

/** One proposal, as `deaddrop proposals` prints it. */
export interface ProposalView {
  readonly place: PlaceJson;
  readonly proposal_id: string;
  readonly correlation_id: string;
  readonly proposer: string;
  /** A text of ours when the proposer is below VERIFIED. Spec 2.3. */
  readonly subject: string;
  /** The words that are recorded once it is approved; null when the proposer is below VERIFIED. */
  readonly decision: string | null;
  /** Who has to agree. */
  readonly required: readonly string[];
  /** Spec 3.4. */
  readonly status: ProposalStatus;
  /** Why it can never be approved. */
  readonly problem: string | null;
  /** What an open one waits for, to follow "waits for"; null when it has ended. */
  readonly waits_for: string | null;
  /** Event id of the line that decided. */
  readonly decided_by: string | null;
  /** Of a replaced one: the proposal that its proposer agreed to. */
  readonly replaced_by: string | null;
  /** By required party: the proposal at which it stands, "rejected", or null. */
  readonly support: Readonly<Record<string, string | null>>;
  /** Why it was closed; null where nobody said, or who said so is below VERIFIED. */
  readonly reason: string | null;
  /** Nobody's chain proves it: it is unsigned, or neither side chains. */
  readonly unproved: boolean;
  /** Parties of whose approval only an ack speaks that does not name it. */
  readonly unproved_by_name: readonly string[];
}

const MOST_LISTED = 512;
const MOST_OF_THREAD = 1_024;
const MOST_NAMED = 16;

/**
 * Proposals, oldest first: the newest of each proposer, and its open ones.
 *
 * @param asked only those of a thread, or of which the event id begins so
 */
export function proposalsView(
  known: Known,
  asked: { readonly thread?: string; readonly named?: string } = {},
): ProposalView[] {
  const { store } = known;
  const { thread, named } = asked;
  const parts =
    named !== undefined
      ? store.asks.withPrefix(named.toLowerCase(), MOST_NAMED)
      : thread !== undefined
        ? store.asks.ofThread(thread, MOST_OF_THREAD)
        : store.asks.newest("proposal", MOST_LISTED);
  return parts
    .filter(({ ask }) => ask.is === "proposal")
    .flatMap((part) => showAsk(known, part) ?? [])
    .map((shown) => viewOf(known, shown));
}

function viewOf(known: Known, shown: ShownAsk): ProposalView {
  const { ask, line, view, close, parties } = shown;
  const { place } = ask;
  const status = statusOf(known, shown);
  const other = status === "replaced" ? leftFor(known, shown) : undefined;
  const isOpen = status === "open";
  return {
    place: placeJson(place),
    proposal_id: place.id,
    correlation_id: ask.thread,
    proposer: place.author,
    subject: listedSubject(known, place.author, line.subject),
    decision: isVerified(tierOf(known, place.author))
      ? decisionWords(line.subject, line.body)
      : null,
    required: parties,
    status,
    problem: status === "void" ? problemOf(ask) : null,
    waits_for: isOpen ? awaitedText(shown) : null,
    decided_by: close?.place.id ?? null,
    replaced_by: other?.id ?? null,
    support: Object.fromEntries(parties.map((party) => [party, supportOf(known, shown, party)])),
    reason:
      close !== undefined && isVerified(tierOf(known, close.place.author))
        ? (reasonOf(close) ?? null)
        : null,
    unproved: view.isUnproved,
    unproved_by_name: view.unprovedByName,
  };
}

function statusOf(known: Known, shown: ShownAsk): ProposalStatus {
  const { outcome, isWithdrawn } = shown.view;
  switch (outcome.is) {
    case "pending":
      return shown.ask.isVoid ? "void" : "open";
    case "approved":
      return "ratified";
    case "rejected":
    case "disputed":
      return outcome.is;
    case "ended": {
      if (shown.ask.isVoid) return "void";
      const other = isWithdrawn ? leftFor(known, shown) : undefined;
      if (other === undefined) return "reverted";
      if (other.author === shown.ask.place.author) return "superseded";
      return isApproved(known, other) ? "replaced" : "withdrawn";
    }
  }
}

/** The proposal at which its proposer stood when it was ended. */
function leftFor({ history }: Known, { ask, close }: ShownAsk): Place | undefined {
  const before = close === undefined ? undefined : history.linked(close.place)?.prev;
  return before && history.standing(before, ask.thread).position;
}

function isApproved({ store }: Known, { id }: Place): boolean {
  return store.asks.withPrefix(id, 1).some(({ state }) => state === "approved");
}

function problemOf({ isOfMembers, parties = [], place }: Ask): string {
  if (place.seq === null && isOfMembers) return "a change of members has to be in a chain";
  if (parties.includes(place.author)) return "it asks its own proposer";
  return "whom it asks is not said, or is not among those that it is addressed to";
}

function supportOf(known: Known, { ask, view }: ShownAsk, party: string): string | null {
  if (view.outcome.is === "approved") return ask.place.id;
  const { history, situation } = known;
  const whole = situation.whole(party);
  // An agent without a chain is counted as its answers are.
  if (whole === undefined)
    return view.lacks.includes(party) || view.outcome.is !== "pending" ? null : ask.place.id;
  const { position } = history.standing(whole, ask.thread);
  const isHere = position !== undefined && isSamePlace(position, ask.place);
  if (isHere) return ask.place.id;
  if (history.lastAnswer(whole, ask)?.approves === false) return "rejected";
  return position?.id ?? null;
}
