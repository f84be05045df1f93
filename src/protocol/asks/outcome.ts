import {
  isChained,
  isSamePlace,
  readPlace,
  type ChainPlace,
  type Place,
} from "../../wire/places.ts";
import { booleanField, field } from "../body.ts";
import { readAnswer, type Answer, type Ask, type CloseEntry } from "./ask-line.ts";
import { closesOf, isLooseAnswer, verdictOf, type CloseLine } from "./closes.ts";
import type { History, LinkedLine } from "./history.ts";

/** What became of an ask. Spec of the next wire, 3.4.3 to 3.4.5. */
export type Outcome =
  | {
      readonly is: "pending";
      /** Places without which a close cannot be judged. */
      readonly waitsFor: readonly Place[];
      /** Closes that prove nothing. */
      readonly unproved: readonly ChainPlace[];
    }
  | {
      readonly is: "approved" | "rejected" | "ended";
      readonly close: ChainPlace;
      /** With the first valid closes on other branches of a forked chain. */
      readonly closes: readonly ChainPlace[];
    }
  /** The asker has forked its chain, and the branches differ. */
  | { readonly is: "disputed"; readonly closes: readonly ChainPlace[] };

/**
 * The outcome of an ask, the same for everybody who holds the same lines.
 *
 * @param of the party of a request that is meant; of an ask in no chain that names no party, who closes it
 */
export function outcomeOf(history: History, ask: Ask, of?: string): Outcome {
  const closer = isChained(ask.line.place) ? ask.line.place.author : partyOfLoose(ask, of);
  const closes = closer === undefined ? [] : closesOf(history, ask, closer, of);
  const judged = closes.map((each) => ({ ...each, verdict: verdictOf(history, ask, each) }));
  // On each branch the first that is not invalid; while that one waits, the branch has no outcome.
  const first = judged.filter(
    ({ line, verdict }) =>
      verdict !== "no" &&
      judged.every(
        (other) => other.verdict === "no" || !history.descends(line.place, other.line.place),
      ),
  );
  const [lowest, ...more] = first.filter(({ verdict }) => verdict === "yes");
  if (lowest === undefined) {
    const waitsFor = first.flatMap(({ verdict }) =>
      typeof verdict === "string" ? [] : verdict.lacks,
    );
    const unproved = judged.filter(({ verdict }) => verdict === "no").map(({ line }) => line.place);
    return { is: "pending", waitsFor, unproved };
  }
  const valid = [lowest, ...more];
  if (valid.every(({ close }) => close.outcome === lowest.close.outcome))
    return shown(history, ask, valid);
  const named = valid.filter(({ line }) => isNamed(history, ask, line.place, of));
  const [standing] = named;
  const isOne = named.every(({ close }) => close.outcome === standing?.close.outcome);
  return standing !== undefined && isOne
    ? shown(
        history,
        ask,
        valid.filter(({ close }) => close.outcome === standing.close.outcome),
      )
    : { is: "disputed", closes: valid.map(({ line }) => line.place) };
}

/** Of the branches of an asker that differ, what the chain of a party names stands. */
function isNamed(history: History, ask: Ask, close: ChainPlace, of: string | undefined): boolean {
  if (!isChained(ask.line.place)) return false;
  const parties = ask.is === "request" && of !== undefined ? [of] : (ask.parties ?? []);
  return parties.some((party) => history.isNamedBy(party, close));
}

function shown(history: History, ask: Ask, valid: readonly CloseLine[]): Outcome {
  const closes = valid.map(({ line }) => line.place);
  const [first] = valid;
  const [close] = closes;
  if (first === undefined || close === undefined) throw new Error("no close");
  if (first.close.outcome === "approved") return { is: "approved", close, closes };
  const isRejected =
    first.close.rejects ||
    first.close.entries.some((entry) => isRejection(history, ask, entry, first.line));
  return { is: isRejected ? "rejected" : "ended", close, closes };
}

function isRejection(
  history: History,
  ask: Ask,
  { by, ack }: CloseEntry,
  { prev }: LinkedLine,
): boolean {
  if (by === undefined || ack === undefined || ask.parties?.includes(by) !== true) return false;
  if (!isChained(ack)) {
    const loose = history.loose(ack);
    if (loose === undefined || prev === undefined) return false;
    const isNo = loose.isSigned && booleanField(loose.body, "approve") === false;
    return isNo && isLooseAnswer(history, ask, loose, prev);
  }
  const line = history.linked(ack);
  if (line === undefined || line.thread !== ask.line.thread) return false;
  const isCounter = ask.is === "proposal" && line.type === "proposal";
  const named = isCounter
    ? readPlace(field(line.body, "counters"))
    : readNo(readAnswer(line, ask.is));
  return named !== undefined && isSamePlace(named, ask.line.place);
}

function readNo(answer: Answer | undefined): Place | undefined {
  return answer?.approves === false ? answer.ask : undefined;
}

function partyOfLoose(ask: Ask, of: string | undefined): string | undefined {
  if (ask.parties === undefined) return of;
  return ask.parties.length === 1 ? ask.parties[0] : undefined;
}
