import { lineAt } from "../../protocol/asks/history.ts";
import { PLAN_STEP, requestType } from "../../protocol/asks/requests.ts";
import { fairShare } from "../../protocol/fair-share.ts";
import type { Store } from "../../store/store.ts";
import type { Known } from "../duties/duty.ts";
import { isQuiet } from "../lines/check-drafts.ts";
import { readHeld } from "./messages.ts";
import type { WaitedFor } from "./waited-for.ts";

/** What waits for the agent. It holds no text of a peer. */
interface Waiting {
  /** Unread messages. */
  unread: number;
  /** Unread notices. Spec 3.12. */
  notices: number;
  /** Unread messages of high priority, and unread incidents. */
  urgent: number;
  /** Answers that our agent owes, read or not; counted up to a few thousand. */
  owed: number;
  /** Answers of those that are overdue. */
  overdue: number;
  /** Authors of unread messages, and how many there are of each. */
  from: { handle: string; count: number }[];
}

/** What `wait` waits for. Spec 8.6. */
export interface NewsView extends Waiting {
  /** Whether what was waited for is there. */
  ready: boolean;
}

/** What somebody has been shown already; only the `marks` of an answer before have a meaning. */
export type Marks = Readonly<Record<string, number>>;

/** An unread message, without a word of its author. Spec 8.2. */
export interface MailLine {
  event_id: string;
  from: string;
  /** Its correlation id, which its author has chosen: it is compared, and not shown. */
  thread: string;
  received_at: string;
  urgent: boolean;
  /** No agent is woken for it. */
  quiet: boolean;
}

/** What is unread and owed, for those who announce it. Spec 8.3. */
export interface MailView extends Waiting {
  /** Steps of plans that wait for our agent's answer; absent when there are none. Spec 7.5. */
  steps?: number;
  /** What is unread beyond the marks: how many, and the first ones, urgent ones before the others. */
  fresh: { count: number; urgent: number; lines: MailLine[] };
  /** The marks of one who knows all this. */
  marks: Record<string, number>;
}

type Read = Pick<Known, "store" | "place" | "world" | "history">;

/** So many fresh messages are listed. */
const MOST_FRESH = 64;
/** Of what is owed to one agent, so many are looked at for steps of plans. */
const MOST_STEPS = 32;

/** What of it `wait` tells. */
export function newsOf(
  { steps: _steps, fresh: _fresh, marks: _marks, ...waiting }: MailView,
  awaited: WaitedFor,
): NewsView {
  const { unread, notices, urgent, owed } = waiting;
  const is = { any: unread + notices > 0, urgent: urgent > 0, owed: owed > 0 };
  return { ready: is[awaited], ...waiting };
}

/** What is unread and owed, and what of it is new to who was shown `marks`. */
export function mailView(known: Read, args: { readonly marks?: Marks }): MailView {
  const { store } = known;
  const steps = countSteps(known);
  const name = markName(store);
  const mark = (name === undefined ? undefined : args.marks?.[name]) ?? 0;
  return {
    ...(steps > 0 && { steps }),
    ...waitingNow(known),
    fresh: {
      count: store.mail.count({ unread: true }, mark),
      urgent: store.mail.count({ unread: true, urgent: true }, mark),
      lines: freshLines(known, mark),
    },
    marks: name === undefined ? {} : { [name]: Math.max(mark, store.mail.last()) },
  };
}

function waitingNow({ store, place, world }: Read): Waiting {
  const unread = store.mail.unread();
  const { all, late } = store.owed.countFor(place.self, "by us", world.clock.wallMs());
  return {
    unread: unread.reduce((sum, { count }) => sum + count, 0),
    notices: store.notices.countUnread(),
    urgent: unread.reduce((sum, { urgent }) => sum + urgent, 0),
    ...{ owed: all, overdue: late },
    from: unread.map(({ author, count }) => ({ handle: author, count })),
  };
}

/** The order of delivery is that of one store: one that was lost begins again, and so do marks. */
function markName(store: Store): string | undefined {
  const [first] = store.mail.after({}, 0, 1);
  return first === undefined ? undefined : `mail ${store.line(first)?.receivedMs}`;
}

/** Urgent ones first, each in the order of receipt. Where they are too many, authors have turns. */
function freshLines({ store, place: { wireId } }: Read, mark: number): MailLine[] {
  const { mail } = store;
  const all = mail.unread().flatMap(({ author: from, last }) => {
    if (last <= mark) return [];
    const urgent = mail.after({ unread: true, urgent: true, from }, mark, MOST_FRESH);
    const others = mail.after({ unread: true, from }, mark, MOST_FRESH);
    return [
      ...urgent.map((n) => ({ n, from, isUrgent: true })),
      ...others.filter((n) => !urgent.includes(n)).map((n) => ({ n, from, isUrgent: false })),
    ];
  });
  const sorted = all.toSorted((a, b) => Number(b.isUrgent) - Number(a.isUrgent) || a.n - b.n);
  return fairShare(sorted, MOST_FRESH, ({ from }) => from).flatMap(({ n }) => {
    const line = store.line(n);
    if (line === undefined) return [];
    return {
      ...{ event_id: line.id, from: line.author, thread: line.thread },
      received_at: new Date(line.receivedMs).toISOString(),
      ...{ urgent: line.isUrgent, quiet: isQuiet(readHeld(wireId, line)) },
    };
  });
}

/** Open requests for steps of plans. */
function countSteps({ store, place, history }: Read): number {
  const asks = store.owed
    .fairShare(place.self, "by us", MOST_STEPS)
    .filter(({ kind }) => kind === "ask");
  return asks.filter(({ place: asked }) => {
    const line = lineAt(history, asked);
    return line !== undefined && requestType(line) === PLAN_STEP;
  }).length;
}
