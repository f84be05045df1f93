import {
  isChained,
  isSamePlace,
  readPlace,
  type ChainPlace,
  type Place,
} from "../../wire/places.ts";
import { booleanField, field, textField } from "../body.ts";
import { readAnswer, type Ask } from "./ask-line.ts";
import { closesOf, verdictOf, type CloseLine } from "./closes.ts";
import type { History, HistoryLine } from "./history.ts";

/** What became of an ask. Spec of the next wire, 3.4.3 to 3.4.5. */
export type Outcome =
  | {
      readonly is: "pending";
      /** Places without which a close cannot be judged. */
      readonly waitsFor: readonly Place[];
      /** Closes that prove nothing. */
      readonly unproved: readonly ChainPlace[];
    }
  | { readonly is: "approved" | "rejected" | "ended"; readonly close: ChainPlace }
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
    return shown(history, ask, lowest);
  const named = valid.filter(({ line }) => isNamed(history, ask, line.place, of));
  const [standing] = named;
  const isOne = named.every(({ close }) => close.outcome === standing?.close.outcome);
  return standing !== undefined && isOne
    ? shown(history, ask, standing)
    : { is: "disputed", closes: valid.map(({ line }) => line.place) };
}

/** Of the branches of an asker that differ, what the chain of a party names stands. */
function isNamed(history: History, ask: Ask, close: ChainPlace, of: string | undefined): boolean {
  if (!isChained(ask.line.place)) return false;
  const parties = ask.is === "request" && of !== undefined ? [of] : (ask.parties ?? []);
  return parties.some((party) => history.isNamedBy(party, close));
}

function shown(history: History, ask: Ask, { line, close }: CloseLine): Outcome {
  if (close.outcome === "approved") return { is: "approved", close: line.place };
  const isRejected =
    close.rejects ||
    close.entries.some(({ by, ack }) => ask.parties?.includes(by) && rejects(history, ack, ask));
  return { is: isRejected ? "rejected" : "ended", close: line.place };
}

function rejects(history: History, place: Place, ask: Ask): boolean {
  const line: HistoryLine | undefined = isChained(place)
    ? history.linked(place)
    : history.loose(place);
  if (line === undefined) return false;
  if (line.type === "proposal") {
    const countered = readPlace(field(line.body, "counters"));
    return countered !== undefined && isSamePlace(countered, ask.line.place);
  }
  if (line.place.seq === null) {
    const names = ["acks", "answers"].some(
      (name) => textField(line.body, name) === ask.line.place.id,
    );
    return names && line.type === "ack" && booleanField(line.body, "approve") === false;
  }
  const answer = readAnswer(line);
  return answer?.approves === false && isSamePlace(answer.ask, ask.line.place);
}

function partyOfLoose(ask: Ask, of: string | undefined): string | undefined {
  if (ask.parties === undefined) return of;
  return ask.parties.length === 1 ? ask.parties[0] : undefined;
}
