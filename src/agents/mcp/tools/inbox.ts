import { DeaddropError } from "../../../api/errors.ts";
import type { InboxMessage, InboxPage } from "../../../api/views.ts";
import { tokenCeiling } from "../../../framing/token-ceiling.ts";
import { waitForNews } from "../../../client/wait-for-news.ts";
import { AGENT_STATES } from "../../../protocol/beats/beat.ts";
import { WAITED_FOR } from "../../../agent/answers/waited-for.ts";
import { parentOf } from "../../../verbs/naming/parent.ts";
import { recipients } from "../../../verbs/naming/recipients.ts";
import {
  fitting,
  inboxSummary,
  inboxWords,
  lastFitting,
  LIST_TOKENS,
  summaryPage,
} from "../peer-words.ts";
import { choice, flag, object, text, texts, whole, type Args } from "../schema.ts";
import { tool, type Call } from "../tool.ts";

const INBOX = object({
  unread: flag("false: read ones too"),
  from: text(),
  bodies: flag(),
  limit: whole(),
  cursor: text(),
  wait_seconds: whole("waits for mail, at most 600"),
  wait_for: choice(WAITED_FOR),
});
type InboxArgs = Args<typeof INBOX>;
const MARK = object({
  ids: texts(),
  all: flag(),
  state: choice(AGENT_STATES),
  last_action: text(),
  heads_down: flag(),
});

const SHOWN_MESSAGES = 20;
const MAX_LIMIT = 100;
/** A page of the largest messages crosses the socket at once. */
const AT_A_TIME = 5;
const MAX_WAIT_SECONDS = 600;

/** What is there for our agent. Spec 8.1, 3.12. */
export const INBOX_TOOL = tool({
  name: "inbox",
  description: "Your unread messages, oldest first, as first lines. mark marks them read.",
  input: INBOX,
  effect: "reads",
  waits: ({ wait_seconds: seconds = 0 }) => seconds > 0,
  async run(call, args) {
    const waited = await waitText(call, args);
    return { words: [...waited, await inboxText(call, args)].join("\n") };
  },
});

/** What our agent has read, and how it is. Spec 8.1, 3.12. */
export const MARK_TOOL = tool({
  name: "mark",
  description:
    "Marks messages and notices read, which answers nothing. Or tells peers how you are.",
  input: MARK,
  effect: "marks",
  run: async (call, args) => ({ facts: await mark(call, args) }),
});

async function mark({ client }: Call, args: Args<typeof MARK>): Promise<object> {
  const { ids = [], all = false, state, last_action: lastAction, heads_down: headsDown } = args;
  const marksRead = ids.length > 0 || all;
  const status = {
    ...(state === undefined ? {} : { state }),
    ...(lastAction === undefined ? {} : { lastAction }),
    ...(headsDown === undefined ? {} : { headsDown }),
  };
  const setsStatus = Object.keys(status).length > 0;
  if (!marksRead && !setsStatus) {
    throw new DeaddropError("usage", "mark: which messages, or which state?", {
      hint: "give ids as inbox shows them, or all: true; or state, last_action or heads_down",
    });
  }
  const named = all ? ("all" as const) : await Promise.all(ids.map((id) => wholeId(client, id)));
  const read = marksRead ? await client.ask("read", { ids: named }) : {};
  if (setsStatus) await client.ask("status", status);
  return { ...read, ...(setsStatus ? { outcome: "set" } : {}), from: client.handle };
}

/** Waits as long as it is asked to; what it says of a wait in vain. */
async function waitText({ client, signal }: Call, args: InboxArgs): Promise<string[]> {
  const { wait_seconds: asked = 0, wait_for: awaited = "any" } = args;
  const seconds = Math.min(asked, MAX_WAIT_SECONDS);
  if (seconds === 0) return [];
  const news = await waitForNews(client, awaited, {
    nowMs: () => performance.now(),
    sleep: (durationMs) => pause(durationMs, signal),
    endMs: performance.now() + 1_000 * seconds,
    hasGone: () => signal.aborted,
  });
  return news.ready ? [] : [`Nothing came within ${seconds} s.`];
}

/** What one look at the inbox shows. */
interface Shown {
  readonly texts: readonly string[];
  /** Messages that fit the question and are not shown. */
  readonly left: number;
  /** Where the next look begins; undefined for the newest ones. */
  readonly cursor: string | undefined;
}

async function inboxText(call: Call, args: InboxArgs): Promise<string> {
  const { client, frame } = call;
  const { unread = true, cursor, bodies = false } = args;
  if (args.from !== undefined) await recipients(client, [args.from]);
  const isNewest = !unread && cursor === undefined;
  const { texts, left, cursor: next } = await (isNewest ? newest(call, args) : oldest(call, args));
  const { notices } = await client.view("mail");
  return [
    `You are ${client.handle}. ${counted(texts.length, unread)}.`,
    ...(notices > 0 ? [`${notices} unread notices: read {"what":"notices"}`] : []),
    ...(texts.length === 0 ? [] : bodies ? [frame.notice, ...texts] : summaryPage(frame, texts)),
    ...(left > 0 ? [`${left} ${isNewest ? "older" : "more"} not shown.`] : []),
    ...(next === undefined ? [] : [`cursor: ${next}`]),
  ].join("\n");
}

function render({ frame, client, nowMs }: Call, { bodies = false, unread = true }: InboxArgs) {
  return (message: InboxMessage): string =>
    bodies
      ? inboxWords(frame, message, "body", client.handle)
      : inboxSummary(message, { self: client.handle, nowMs, areAllUnread: unread });
}

function limitOf({ limit = SHOWN_MESSAGES }: InboxArgs): number {
  return Math.min(Math.max(1, limit), MAX_LIMIT);
}

async function newest(call: Call, args: InboxArgs): Promise<Shown> {
  const { from } = args;
  const page = await call.client.view("inbox", {
    ...(from === undefined ? {} : { from }),
    ...{ limit: Math.min(limitOf(args), SHOWN_MESSAGES), newest: true },
  });
  const texts = lastFitting(page.messages, render(call, args), LIST_TOKENS);
  return {
    texts,
    left: (page.more ?? 0) + page.messages.length - texts.length,
    cursor: undefined,
  };
}

/** A few at a time, since bodies may be long, until a result is full. */
async function oldest(call: Call, args: InboxArgs): Promise<Shown> {
  const { unread = true, from, cursor } = args;
  const limit = limitOf(args);
  const query = { ...(unread ? { unread } : {}), ...(from === undefined ? {} : { from }) };
  const texts: string[] = [];
  let [after, room, left] = [cursor, LIST_TOKENS, 0];
  while (texts.length < limit) {
    const asked = { ...query, ...(after === undefined ? {} : { after }) };
    const count = Math.min(AT_A_TIME, limit - texts.length);
    const page = await call.client.view("inbox", { ...asked, limit: count });
    const fits = fitting(page.messages, render(call, args), room);
    // Not even the first of them: it begins the next result.
    const isFull = texts.length > 0 && tokensOf(fits.slice(0, 1)) > room;
    if (isFull) return { texts, left: leftOf(page, 0), cursor: after };
    texts.push(...fits);
    room -= tokensOf(fits);
    left = leftOf(page, fits.length);
    if (fits.length < page.messages.length) {
      // The place behind the last message that is shown.
      const last = await call.client.view("inbox", { ...asked, limit: fits.length });
      return { texts, left, cursor: last.next };
    }
    after = page.next;
    if (left === 0) break;
  }
  return { texts, left, cursor: after };
}

function leftOf({ messages, more }: InboxPage, shown: number): number {
  return messages.length - shown + (more ?? 0);
}

function tokensOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + tokenCeiling(text) + 2, 0);
}

function counted(count: number, unread: boolean): string {
  const what = unread ? "unread message" : "message";
  if (count === 0) return `No ${what}s`;
  return count === 1 ? `1 ${what}` : `${count} ${what}s`;
}

/** A notice by its own id, a message by its event id or the first characters of it. */
async function wholeId(client: Call["client"], id: string): Promise<string> {
  return id.startsWith("n-") ? id : (await parentOf(client, id)).event_id;
}

/** Also ends when the caller does not wait any more. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
