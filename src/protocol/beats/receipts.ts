import type { ChainPlace, Place } from "../../wire/places.ts";
import type { HeadShows, History, HistoryLine, LinkedLine } from "../asks/history.ts";
import { looseAnswer } from "../asks/obligation.ts";

/** What is known of a line of ours and one of its addressees. */
export type SentState = SentStage & {
  /** When that was proved to us, ms of Unix time; undefined: on a branch that is not followed. */
  readonly atMs: number | undefined;
};

type SentStage =
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

/** The highest state of a line of ours for an addressee that was proved. Spec 3.2.5. */
export function sentState(
  history: History,
  facts: SentFacts,
  { place, thread }: Pick<LinkedLine, "place" | "thread">,
  addressee: string,
): SentState {
  const answer = answerTo(history, place, thread, addressee);
  const atMs = (by: Place | undefined) => by && history.receipt(by)?.atMs;
  if (answer !== undefined) return { is: "answered", atMs: atMs(answer.place) };
  const tip = facts.tip(addressee);
  const first = (shows: HeadShows) => tip && history.firstHead(tip, place, shows);
  const refusal = tip && history.findRefusal(tip, place);
  if (refusal !== undefined) {
    // Heads go on over what was refused before; what was delivered before stays so.
    const taken = first("taken_in");
    if (taken === undefined || taken.seq >= refusal.beat.seq)
      return { is: "refused", reason: refusal.reason, atMs: atMs(refusal.beat) };
  }
  if (history.hasHead(addressee, place, "read")) return { is: "read", atMs: atMs(first("read")) };
  if (history.hasHead(addressee, place, "taken_in"))
    return { is: "delivered", atMs: atMs(first("taken_in")) };
  const publishedMs = facts.publishedMs(place);
  if (publishedMs === undefined) return { is: "stored", atMs: atMs(place) };
  const lifeMs = tip === undefined ? facts.lifeMs(addressee) : undefined;
  return lifeMs !== undefined && lifeMs > publishedMs
    ? { is: "delivered", atMs: lifeMs }
    : { is: "published", atMs: publishedMs };
}

/** The line by which an addressee has answered. */
function answerTo(
  history: History,
  place: ChainPlace,
  thread: string,
  addressee: string,
): HistoryLine | undefined {
  for (const naming of ["answers", "about", "counters"] as const) {
    const [answer] = history.namers(addressee, naming, place, { from: "first", limit: 1 });
    if (answer !== undefined) return answer;
  }
  const sentMs = history.receipt(place)?.atMs ?? Infinity;
  return history
    .looseReplies(addressee, thread)
    .find(
      (line) =>
        looseAnswer(line, place) !== undefined &&
        (history.receipt(line.place)?.atMs ?? -Infinity) >= sentMs,
    );
}
