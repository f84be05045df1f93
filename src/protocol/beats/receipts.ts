import type { ChainPlace } from "../../wire/places.ts";
import type { History, LinkedLine } from "../asks/history.ts";
import { looseAnswer } from "../owed/obligation.ts";

/**
 * Whether an author has taken in a line at `tip`, a linked line of its chain. Both only rise along a branch.
 * Spec of the next wire, 3.2.2.
 */
export function hasTakenIn(history: History, tip: ChainPlace, line: ChainPlace): boolean {
  return history.firstHead(tip, line, "taken_in") !== undefined;
}

/** Whether an author has read a line at `tip`, a linked line of its chain. Spec of the next wire, 3.2.2. */
export function hasRead(history: History, tip: ChainPlace, line: ChainPlace): boolean {
  return history.firstHead(tip, line, "read") !== undefined;
}

/** What is known of a line of ours and one of its addressees. */
export type SentState =
  | { readonly is: "stored" | "published" | "delivered" | "read" | "answered" }
  | { readonly is: "refused"; readonly reason: string };

/** What no line says. */
export interface SentFacts {
  /** Since when a carrier of ours in each place of the wire holds a line, ms of Unix time; undefined: not yet. */
  publishedMs(line: ChainPlace): number | undefined;
  /** The last line of `whole` of an agent; undefined: it does not chain. */
  tip(agent: string): ChainPlace | undefined;
  /** When we received the latest sign of life of an agent, ms of Unix time. */
  lifeMs(agent: string): number | undefined;
}

/** The highest state of a line of ours for an addressee that was proved. Spec of the next wire, 3.2.5. */
export function sentState(
  history: History,
  facts: SentFacts,
  { place, thread }: Pick<LinkedLine, "place" | "thread">,
  addressee: string,
): SentState {
  if (isAnswered(history, place, thread, addressee)) return { is: "answered" };
  const tip = facts.tip(addressee);
  const refusal = tip && history.findRefusal(tip, place);
  if (tip !== undefined && refusal !== undefined) {
    // Heads go on over what was refused before; what was delivered before stays so.
    const taken = history.firstHead(tip, place, "taken_in");
    if (taken === undefined || taken.seq >= refusal.beat)
      return { is: "refused", reason: refusal.reason };
  }
  if (history.hasHead(addressee, place, "read")) return { is: "read" };
  if (history.hasHead(addressee, place, "taken_in")) return { is: "delivered" };
  const publishedMs = facts.publishedMs(place);
  if (publishedMs === undefined) return { is: "stored" };
  const lifeMs = tip === undefined ? facts.lifeMs(addressee) : undefined;
  return { is: lifeMs !== undefined && lifeMs > publishedMs ? "delivered" : "published" };
}

function isAnswered(
  history: History,
  place: ChainPlace,
  thread: string,
  addressee: string,
): boolean {
  const isNamed = (["answers", "about", "counters"] as const).some(
    (naming) => history.namers(addressee, naming, place, { from: "first", limit: 1 }).length > 0,
  );
  if (isNamed) return true;
  const sentMs = history.receipt(place)?.atMs ?? Infinity;
  return history
    .looseReplies(addressee, thread)
    .some(
      (line) =>
        looseAnswer(line, place) !== undefined &&
        (history.receipt(line.place)?.atMs ?? -Infinity) >= sentMs,
    );
}
