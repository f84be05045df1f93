import { MINUTE_MS } from "../../wire/durations.ts";
import { isChained, isSamePlace, type ChainPlace, type Place } from "../../wire/places.ts";
import { askKey, readClose, type Ask } from "./ask-line.ts";
import { isPosition, namesById } from "./closes.ts";
import { answerOf, type Situation } from "./closing.ts";
import type { History } from "./history.ts";
import { outcomeOf, type Outcome } from "./outcome.ts";

/** What is known of the agents of a wire when an ask is shown. */
export type Onlookers = Pick<Situation, "whole" | "chains" | "isSilent">;

/** One part of an ask, as people and programs see it. */
export interface AskView {
  readonly ask: Ask;
  /** Of a request, and of an ask in no chain: who answers. */
  readonly party: string | undefined;
  readonly outcome: Outcome;
  /** While it is pending: parties that have not agreed. */
  readonly lacks: readonly string[];
  /** All have agreed since then (milliseconds of Unix time, when the last answer came), and nobody has closed it. */
  readonly agreed:
    { readonly sinceMs: number; readonly closer: string; readonly isSilent: boolean } | undefined;
  /** Its asker stands at something else. */
  readonly isWithdrawn: boolean;
  /** Asker and party have agreed to each other's proposals: both are withdrawn, and one proposes again. */
  readonly crosses: { readonly other: Place; readonly proposesAgain: string } | undefined;
  /** Nobody's chain proves it: it is unsigned, or neither side chains. */
  readonly isUnproved: boolean;
  /** Parties of whose approval only an ack speaks that does not name the ask. */
  readonly unprovedByName: readonly string[];
}

/** How an ask stands. Spec 3.4.3 to 3.4.6. @param party as of `outcomeOf` */
export function viewAsk(
  history: History,
  onlookers: Onlookers,
  ask: Ask,
  party: string | undefined,
): AskView {
  const outcome = outcomeOf(history, ask, party);
  const key = askKey(ask, party);
  const part = key === undefined || key.party === "" ? undefined : key.party;
  const parties = part === undefined ? (ask.parties ?? []) : [part];
  const isPending = outcome.is === "pending";
  const answers = parties.map((by) => ({ by, place: yesOf(history, onlookers, ask, by) }));
  const lacks = answers.filter(({ place }) => place === undefined).map(({ by }) => by);
  const closer = isChained(ask.place) ? ask.place.author : part;
  const isAgreed =
    isPending && !ask.isVoid && closer !== undefined && lacks.length === 0 && parties.length > 0;
  const receipts = answers.map(({ place }) => (place && history.receipt(place)?.atMs) ?? 0);
  const agreed = isAgreed
    ? { sinceMs: Math.max(...receipts), closer, isSilent: onlookers.isSilent(closer) }
    : undefined;
  return {
    ...{ ask, party: part, outcome, agreed },
    lacks: isPending ? lacks : [],
    isWithdrawn: isWithdrawn(history, onlookers, ask, outcome),
    crosses: findCrossing(history, onlookers, ask, outcome),
    isUnproved: isUnproved(history, onlookers, ask, part),
    unprovedByName: outcome.is === "approved" ? restsOnNames(history, ask, outcome.close) : [],
  };
}

/** The answer by which a party agrees now. */
function yesOf(history: History, onlookers: Onlookers, ask: Ask, party: string): Place | undefined {
  const whole = onlookers.whole(party);
  const tip = onlookers.whole(ask.place.author) ?? whole;
  if (tip === undefined) return undefined;
  const answer = answerOf(history, ask, party, tip, whole);
  return answer?.approves === true ? answer.place : undefined;
}

function isWithdrawn(history: History, onlookers: Onlookers, ask: Ask, outcome: Outcome): boolean {
  if (ask.is !== "proposal" || !isChained(ask.place)) return false;
  const isOpen = outcome.is === "pending";
  if (!isOpen && outcome.is !== "ended") return false;
  const at = isOpen ? onlookers.whole(ask.place.author) : history.linked(outcome.close)?.prev;
  return at !== undefined && !isPosition(history, at, ask);
}

function findCrossing(
  history: History,
  onlookers: Onlookers,
  ask: Ask,
  outcome: Outcome,
): AskView["crosses"] {
  if (!isWithdrawn(history, onlookers, ask, outcome)) return undefined;
  const { place, thread } = ask;
  const standing = (author: string): Place | undefined => {
    const whole = onlookers.whole(author);
    return whole === undefined ? undefined : history.standing(whole, thread).position;
  };
  const other = standing(place.author);
  if (other === undefined || ask.parties?.includes(other.author) !== true) return undefined;
  const back = standing(other.author);
  if (back === undefined || !isSamePlace(back, place)) return undefined;
  return { other, proposesAgain: place.id < other.id ? place.author : other.author };
}

function isUnproved(
  history: History,
  onlookers: Onlookers,
  { place }: Ask,
  party: string | undefined,
): boolean {
  const loose = history.loose(place);
  if (loose === undefined) return false;
  return !loose.isSigned || (party !== undefined && !onlookers.chains(party));
}

function restsOnNames(history: History, ask: Ask, place: ChainPlace): readonly string[] {
  const line = history.linked(place);
  const close = line === undefined ? undefined : readClose(line);
  return (close?.entries ?? []).flatMap(({ by, ack, at }) => {
    const loose = at === undefined && ack !== undefined ? history.loose(ack) : undefined;
    return by === undefined || loose === undefined || namesById(loose, ask) ? [] : [by];
  });
}

/** What our agent is told of an ask; who words it quotes subjects and says who is meant. 3.12. */
export interface AskNotice {
  readonly kind: "approved" | "rejected" | "ended" | "withdrawn" | "disputed" | "agreed_not_closed";
  readonly about: Place;
  /** Of a request: its party. */
  readonly party: string | undefined;
  /** Of a crossing: who proposes again. Of one that is agreed: who has not closed it. */
  readonly who: string | undefined;
}

/** For so long an asker's daemon may take to close what all have agreed to. */
const TIME_TO_CLOSE_MS = 10 * MINUTE_MS;

/** What our agent is told of an ask of its own, or that it is a party of; one for each kind and ask is enough. */
export function noticeOf(
  { ask, party, outcome, agreed, isWithdrawn: isLeft, crosses }: AskView,
  us: string,
  nowMs: number,
): AskNotice | undefined {
  const isParty = party === undefined ? ask.parties?.includes(us) === true : party === us;
  if (ask.place.author !== us && !isParty) return undefined;
  const notice = (kind: AskNotice["kind"], who?: string): AskNotice => ({
    ...{ kind, about: ask.place, party, who },
  });
  if (outcome.is === "ended" && isLeft) return notice("withdrawn", crosses?.proposesAgain);
  if (outcome.is !== "pending") return notice(outcome.is);
  const isLate =
    agreed !== undefined && (agreed.isSilent || nowMs >= agreed.sinceMs + TIME_TO_CLOSE_MS);
  return isLate ? notice("agreed_not_closed", agreed.closer) : undefined;
}
