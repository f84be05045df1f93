import { requestId, requestType } from "../../protocol/asks/requests.ts";
import { readBeat } from "../../protocol/beats/beat.ts";
import { textField } from "../../protocol/body.ts";
import { fairShare } from "../../protocol/fair-share.ts";
import { lineAt, type HistoryLine } from "../../protocol/asks/history.ts";
import { dueOf } from "../../protocol/due.ts";
import type { OwedAnswer } from "../../store/owed.ts";
import { MINUTE_MS } from "../../wire/durations.ts";
import { decisionWords } from "../../wire/decision-words.ts";
import { isChained, placeJson, type PlaceJson } from "../../wire/places.ts";
import { parseTimestamp } from "../../wire/timestamp.ts";
import type { Known } from "../duties/duty.ts";
import { tierOf, isVerified, listedSubject } from "./listed.ts";

/** An answer that an agent owes. Spec 3.3. */
export interface ObligationView {
  event_id: string;
  /** What an answer to it names. */
  place: PlaceJson;
  correlation_id: string;
  /** Type of the message. */
  type: string;
  /** Of a request that has one: its name for people, and for programs that answer without a place. */
  request_id: string | null;
  /** Of a request that is not plain; null where its asker is below VERIFIED. */
  request_type: string | null;
  /** What the daemons carry out when a proposal is approved (`add_key`, `members`, …). */
  action: string | null;
  /** A text of ours when `from` is below VERIFIED. Spec 2.3. */
  subject: string;
  /** Of a proposal: the words that are recorded once it is approved; null of anything else. */
  decision: string | null;
  from: string;
  /** Who has to answer. */
  owed_by: string;
  due_at: string | null;
  /** Of a proposal that has not been read: the minutes to answer once it is, if these end first. */
  minutes_from_reading?: number;
  /** `due_at` is over. */
  overdue: boolean;
  /** When it was asked. */
  since: string;
}

/** What is known where obligations are shown. */
export type Owing = Pick<Known, "store" | "history" | "place" | "world" | "cadenceMs">;

/** What our agent owes and is owed, and how many more there are of each. */
export interface OwedLists {
  owed_to_me: ObligationView[];
  owed_by_me: ObligationView[];
  left_out: { owed_to_me: number; owed_by_me: number };
}

const MOST_PENDING = 512;
/** Of these with one other agent. */
const MOST_WITH_ONE = 128;

/** What our agent owes and is owed, oldest first; of very many, what each other agent has a part in. */
export function pendingView(known: Owing): ObligationView[] {
  const { store, place } = known;
  const owed = [
    ...store.owed.fairShare(place.self, "by us", MOST_WITH_ONE),
    ...store.owed.fairShare(place.self, "to us", MOST_WITH_ONE),
  ].toSorted((one, other) => one.n - other.n);
  const otherOf = ({ by, place: { author } }: OwedAnswer): string =>
    by === place.self ? author : by;
  return obligationViews(known, fairShare(owed, MOST_PENDING, otherOf));
}

/** The two lists of `status`: at most so many of each; where there are more, other agents have turns. */
export function owedLists(known: Owing, most: number): OwedLists {
  const { store, place, world } = known;
  const listed = (side: "by us" | "to us") => {
    const owed = store.owed.fairShare(place.self, side, most);
    const other = ({ by, place: { author } }: OwedAnswer) => (side === "by us" ? author : by);
    const views = obligationViews(known, fairShare(owed, most, other));
    const { all } = store.owed.countFor(place.self, side, world.clock.wallMs());
    return { views, left: all - views.length };
  };
  const [toUs, byUs] = [listed("to us"), listed("by us")];
  return {
    ...{ owed_to_me: toUs.views, owed_by_me: byUs.views },
    left_out: { owed_to_me: toUs.left, owed_by_me: byUs.left },
  };
}

/** What is owed, as people and programs see it. */
export function obligationViews(known: Owing, owed: readonly OwedAnswer[]): ObligationView[] {
  return owed.flatMap((each) => obligationView(known, each) ?? []);
}

function obligationView(known: Owing, owed: OwedAnswer): ObligationView | undefined {
  const { place, by, sinceMs } = owed;
  const line = lineAt(known.history, place);
  if (line === undefined) return undefined;
  const { type, subject, body, thread } = line;
  const isBelieved = isVerified(tierOf(known, place.author));
  const isProposal = isBelieved && type === "proposal";
  const { dueMs, fromReadingMs } = answerDue(known, owed, line);
  return {
    event_id: place.id,
    place: placeJson(place),
    correlation_id: thread,
    type,
    request_id: requestId(line) ?? null,
    request_type: isBelieved ? (requestType(line) ?? null) : null,
    action: isProposal ? (textField(body, "action") ?? null) : null,
    subject: listedSubject(known, place.author, subject),
    decision: isProposal ? decisionWords(subject, body) : null,
    from: place.author,
    owed_by: by,
    due_at: new Date(dueMs).toISOString(),
    ...(fromReadingMs !== undefined && {
      minutes_from_reading: Math.round(fromReadingMs / MINUTE_MS),
    }),
    overdue: known.world.clock.wallMs() >= dueMs,
    since: new Date(sinceMs).toISOString(),
  };
}

/** When an answer is late; a proposal without a due time has minutes from its reading on. Spec 3.4.6. */
function answerDue(
  known: Owing,
  owed: OwedAnswer,
  { type, body, timestamp }: HistoryLine,
): { readonly dueMs: number; readonly fromReadingMs?: number } {
  const { dueMs, by, place } = owed;
  const isDated = dueOf(body, parseTimestamp(timestamp) ?? 0) !== undefined;
  if (type !== "proposal" || isDated || !isChained(place)) return { dueMs };
  const answerMs = known.place.limits.answer_minutes * MINUTE_MS;
  const fromReadingMs = Math.max(answerMs, 2 * known.cadenceMs(by));
  const readMs = owed.readMs ?? (by === known.place.self ? ownReadMs(known, owed) : undefined);
  if (readMs !== undefined) return { dueMs: Math.min(dueMs, readMs + fromReadingMs) };
  return known.world.clock.wallMs() + fromReadingMs < dueMs ? { dueMs, fromReadingMs } : { dueMs };
}

/** When a beat of ours said first that our agent has read it, unless it said too that the agent is busy. */
function ownReadMs({ store, history, place: { self } }: Owing, owed: OwedAnswer) {
  const { seq, id } = store.chains.whole(self);
  if (id === null || !isChained(owed.place)) return undefined;
  const place = history.firstHead({ author: self, seq, id }, owed.place, "read");
  const beat = place === undefined ? undefined : history.linked(place);
  if (place === undefined || beat === undefined) return undefined;
  const { state } = readBeat(beat.body, parseTimestamp(beat.timestamp) ?? 0, self);
  return state === "busy" || state === "paused" ? undefined : history.receipt(place)?.atMs;
}
