import { isChained, isSamePlace, type ChainPlace, type Place } from "../../wire/places.ts";
import { booleanField } from "../body.ts";
import { askKey, readAnswer, readClose, type Ask, type CloseEntry } from "./ask-line.ts";
import { isLooseAnswer } from "./closes.ts";
import type { History, LinkedLine, StandingClose } from "./history.ts";

/** What became of an ask. Spec 3.4.3 to 3.4.5. */
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
  const key = askKey(ask, of);
  const first = key === undefined ? [] : history.firstCloses(key);
  const [lowest, ...more] = first.filter(({ verdict }) => verdict === "yes");
  if (lowest === undefined) {
    const waitsFor = first.flatMap(({ verdict }) =>
      typeof verdict === "string" ? [] : verdict.lacks,
    );
    const unproved = key === undefined ? [] : history.unprovedCloses(key);
    return { is: "pending", waitsFor, unproved };
  }
  const valid = [lowest, ...more];
  const isChainedRequest = ask.is === "request" && isChained(ask.place);
  const parties = isChainedRequest && key?.party ? [key.party] : (ask.parties ?? []);
  const show = (outcome: string): Outcome =>
    shown(
      history,
      { ...ask, parties },
      valid.filter((each) => each.outcome === outcome),
    );
  if (valid.every(({ outcome }) => outcome === lowest.outcome)) return show(lowest.outcome);
  // Of the branches of an asker that differ, what the chain of a party names stands.
  const isNamed = ({ place }: StandingClose): boolean =>
    isChained(ask.place) && parties.some((party) => history.isNamedBy(party, place));
  const named = new Set(valid.filter(isNamed).map(({ outcome }) => outcome));
  const [standing, ...others] = named;
  return standing !== undefined && others.length === 0
    ? show(standing)
    : { is: "disputed", closes: valid.map(({ place }) => place) };
}

function shown(history: History, ask: Ask, valid: readonly StandingClose[]): Outcome {
  const closes = valid.map(({ place }) => place);
  const [first] = valid;
  const line = first === undefined ? undefined : history.linked(first.place);
  const close = line === undefined ? undefined : readClose(line);
  if (line === undefined || close === undefined) throw new Error("a close is no close");
  if (close.outcome === "approved") return { is: "approved", close: line.place, closes };
  const isRejected =
    close.rejects || close.entries.some((entry) => isRejection(history, ask, entry, line));
  return { is: isRejected ? "rejected" : "ended", close: line.place, closes };
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
  const answer = line?.thread === ask.thread ? readAnswer(line, ask.is) : undefined;
  return answer !== undefined && !answer.approves && isSamePlace(answer.ask, ask.place);
}
