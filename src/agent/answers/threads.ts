import { viewAsk } from "../../protocol/asks/views.ts";
import type { HeldLine } from "../../store/store.ts";
import type { Known } from "../duties/duty.ts";
import { listedSubject } from "./listed.ts";
import {
  correctedBy,
  isShown,
  messageOf,
  PASSED,
  readHeld,
  threadNamed,
  type HeldMessage,
} from "./messages.ts";
import { proposalsView, type ProposalView } from "./proposals.ts";
import { obligationViews, type ObligationView, type Owing } from "./pending.ts";

/** A thread without its messages. Spec 3.3. */
export interface ThreadOutline {
  correlation_id: string;
  /** Event id of the message that began it; null when we do not hold it. */
  root: string | null;
  /** Of the root, or of the first message held. */
  subject: string;
  /** Closed: something was asked, and nothing is waited for. */
  status: "open" | "waiting_on" | "closed";
  waiting_on: string[];
  participants: string[];
  /** Older messages that are not listed. */
  omitted: number;
  /** What we owe and are owed in it. */
  obligations: ObligationView[];
  proposals: readonly ProposalView[];
}

export interface ThreadView extends ThreadOutline {
  /** What `id` was: the id of one of its messages, or its own name when no event id begins like that. */
  named_by: "event_id" | "correlation_id";
  /** Oldest first. */
  messages: HeldMessage[];
}

/** The newest: a peer can write as many as it likes. */
const MOST_MESSAGES = 4_096;
/** The lines of others that may have come before the one that began it. */
const MOST_BEFORE_ROOT = 16;
const MOST_ASKS = 64;
const ASKING = ["proposal", "request", "incident"];

/**
 * The thread of the message that is named, or of that name, in a list of one.
 *
 * @throws DeaddropError "unknown_id", "ambiguous_id"
 */
export function threadView(
  known: Known,
  args: { readonly id: string; readonly by?: "event_id" },
): ThreadView[] {
  const { store } = known;
  const { thread, isByName } = threadNamed(known, args);
  const lines = store.newestOfThread(thread, MOST_MESSAGES);
  const shown = lines.filter((line) => isShown(known, line));
  const { root, first } = beginningOf(known, thread);
  const obligations = obligationViews(known, store.owed.inThread(thread));
  const waitingOn = new Set([...obligations.map(({ owed_by: by }) => by), ...lacks(known, thread)]);
  const hasAsked = shown.some((line) => !isRefused(line) && isAsking(known, line));
  return [
    {
      correlation_id: thread,
      root: root?.id ?? null,
      subject: first === undefined ? "" : subjectOf(known, root ?? first),
      status: waitingOn.size > 0 ? "waiting_on" : hasAsked ? "closed" : "open",
      waiting_on: [...waitingOn],
      participants: [...new Set(shown.map(({ author }) => author))],
      messages: messagesIn(known, shown),
      omitted: (store.threadRow(thread)?.lines ?? 0) - lines.length,
      obligations,
      proposals: proposalsView(known, { thread }),
      named_by: isByName ? "correlation_id" : "event_id",
    },
  ];
}

/** Lines of one thread, but for those that are not shown. @internal */
export function messagesIn(known: Owing, lines: readonly HeldLine[]): HeldMessage[] {
  const shown = lines.filter((line) => isShown(known, line));
  const corrections = correctionsIn(known, shown);
  return shown.map((line) => messageOf(known, line, corrections));
}

function beginningOf({ store, place }: Owing, thread: string) {
  const first = store.thread(thread, { after: 0, limit: MOST_BEFORE_ROOT });
  const root = first.find((line) => readHeld(place.wireId, line).timestamp === thread);
  return { root, first: first[0] };
}

function subjectOf(known: Owing, line: HeldLine): string {
  return listedSubject(known, line.author, readHeld(known.place.wireId, line).subject);
}

function isAsking({ place }: Owing, line: HeldLine): boolean {
  return ASKING.includes(line.type) || readHeld(place.wireId, line).ackRequired;
}

function isRefused({ verdict }: HeldLine): boolean {
  return verdict !== null && !PASSED.has(verdict);
}

/** Whose answers to asks of a thread are lacking, also of those between others. */
function lacks({ store, history, situation }: Owing & Pick<Known, "situation">, thread: string) {
  return store.asks.ofThread(thread, MOST_ASKS).flatMap(({ ask, party, state }) => {
    if (state !== "open" || ask.isVoid) return [];
    return viewAsk(history, situation, ask, party === "" ? undefined : party).lacks;
  });
}

/** Corrections by the id of the message of the same author that they name. */
function correctionsIn(known: Owing, lines: readonly HeldLine[]): Map<string, string[]> {
  const corrections = new Map<string, string[]>();
  for (const line of lines) {
    const corrected = correctedBy(known, line);
    if (corrected?.author !== line.author) continue;
    corrections.set(corrected.id, [...(corrections.get(corrected.id) ?? []), line.id]);
  }
  return corrections;
}
