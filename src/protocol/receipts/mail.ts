import { unreadNotices } from "../agent-notices/agent-notices-state.ts";
import type { Env } from "../env.ts";
import { fairShare } from "../fair-share.ts";
import { PLAN_STEP } from "../requests/request-line.ts";
import { requestKey } from "../requests/requests-state.ts";
import type { State } from "../state.ts";
import { pendingView, type ObligationView } from "../threads/threads-view.ts";
import { unreadCount, type ReceiptsState } from "./receipts-state.ts";
import { unreadAt, urgentAfter, type UnreadLine, type UnreadLines } from "./unread-lines.ts";

/** Up to which line of each log the unread messages are known to somebody. */
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
export interface MailView {
  unread: number;
  /** Unread notices. Spec 3.12. */
  notices: number;
  /** Unread messages of high priority, and unread incidents. */
  urgent: number;
  /** Answers that our agent owes, and those of them whose time is over. */
  owed: number;
  overdue: number;
  /** Steps of plans that wait for our agent's answer; absent when there are none. Spec 7.5. */
  steps?: number;
  /** Whose messages are unread, and how many of each. */
  from: { handle: string; count: number }[];
  /** What is unread beyond the marks: how many, and the first ones, urgent ones before the others. */
  fresh: { count: number; urgent: number; lines: MailLine[] };
  /** The marks of one who knows all this. */
  marks: Record<string, number>;
}

/** So many fresh messages are listed. */
const MAX_FRESH_LINES = 64;

/** What is unread and owed, without what is in it: for `mail` and `wait` alike. */
export interface Waiting {
  readonly unread: number;
  readonly notices: number;
  readonly urgent: number;
  /** Our agent owes these answers. */
  readonly owed: readonly ObligationView[];
  /** How many messages are unread, by author. */
  readonly from: ReadonlyMap<string, number>;
}

export function waitingNow(state: State, env: Env, nowMs: number): Waiting {
  let urgent = 0;
  for (const [log, { unread }] of state.receipts.taken) {
    if (env.layout.logs.has(log)) urgent += urgentAfter(unread, 0).length;
  }
  return {
    unread: unreadCount(state.receipts, env),
    notices: unreadNotices(state.agentNotices),
    urgent,
    owed: pendingView(state, env, nowMs).filter((each) => each.owed_by === env.self),
    from: unreadByAuthor(state.receipts, env),
  };
}

/** How many messages are unread, by author. */
export function unreadByAuthor({ taken }: ReceiptsState, env: Env): Map<string, number> {
  const from = new Map<string, number>();
  for (const [log, { unread, more }] of taken) {
    const owner = env.layout.logs.get(log)?.owner;
    const count = unread.lines.length + (more?.count ?? 0);
    if (owner === undefined || count === 0) continue;
    from.set(owner, (from.get(owner) ?? 0) + count);
  }
  return from;
}

/** @param marks what the asker knows already */
export function mailView(state: State, env: Env, nowMs: number, marks: Marks): MailView {
  const { unread, notices, urgent, owed, from } = waitingNow(state, env, nowMs);
  const steps = owed.filter((each) => isStep(state, each)).length;
  return {
    ...(steps === 0 ? {} : { steps }),
    ...{ unread, notices, urgent },
    owed: owed.length,
    overdue: owed.filter(({ overdue }) => overdue).length,
    from: [...from].map(([handle, count]) => ({ handle, count })),
    ...freshBeyond(state, env, marks),
  };
}

function freshBeyond(state: State, env: Env, marks: Marks): Pick<MailView, "fresh" | "marks"> {
  const lines: MailLine[] = [];
  const next: Record<string, number> = {};
  let [count, urgent] = [0, 0];
  for (const [log, { unread, more }] of state.receipts.taken) {
    const owner = env.layout.logs.get(log)?.owner;
    if (owner === undefined || unread.lines.length + (more?.count ?? 0) === 0) continue;
    const known = marks[log] ?? 0;
    next[log] = Math.max(known, unread.lines.at(-1) ?? 0);
    const later = [...unread.lines.keys()].filter((place) => (unread.lines[place] ?? 0) > known);
    const laterUrgent = urgentAfter(unread, known);
    count += later.length;
    urgent += laterUrgent.length;
    for (const place of firstPlaces(unread, later, new Set(laterUrgent))) {
      const line = unreadAt(unread, place);
      if (line !== undefined) lines.push(mailLine(line, owner));
    }
  }
  return { fresh: { count, urgent, lines: firstOf(lines) }, marks: next };
}

/** An open request for a step of a plan. */
function isStep({ requests }: State, { event_id: id, owed_by: by }: ObligationView): boolean {
  return requests.requests.get(requestKey(id, by))?.requestType === PLAN_STEP;
}

function firstPlaces(
  { lines, ats }: UnreadLines,
  places: readonly number[],
  urgent: ReadonlySet<number>,
): number[] {
  const rank = (place: number): number => (urgent.has(lines[place] ?? 0) ? 0 : 1);
  return places
    .toSorted((a, b) => rank(a) - rank(b) || (ats[a] ?? 0) - (ats[b] ?? 0))
    .slice(0, MAX_FRESH_LINES);
}

function firstOf(lines: readonly MailLine[]): MailLine[] {
  const byTime = (a: MailLine, b: MailLine): number =>
    Date.parse(a.received_at) - Date.parse(b.received_at);
  const sorted = lines.toSorted((a, b) => Number(b.urgent) - Number(a.urgent) || byTime(a, b));
  return fairShare(sorted, MAX_FRESH_LINES, ({ from }) => from);
}

function mailLine(line: UnreadLine, from: string): MailLine {
  const { id, thread, at, urgent = false, quiet = false } = line;
  const received = new Date(at).toISOString();
  return { event_id: id, from, thread, received_at: received, urgent, quiet };
}
