import { DeaddropError } from "../../../api/errors.ts";
import type { AgentNoticeView, InboxMessage, InboxPage } from "../../../api/views.ts";
import { tokenCeiling } from "../../../framing/token-ceiling.ts";
import { waitForNews } from "../../../client/wait-for-news.ts";
import { WAITED_FOR, type WaitedFor } from "../../../protocol/receipts/awaited.ts";
import { parentOf } from "../../../sending/naming/parent.ts";
import { recipients } from "../../../sending/naming/recipients.ts";
import { cut, fitting, inboxWords, lastFitting, LIST_TOKENS } from "../peer-words.ts";
import { choice, flag, object, text, texts, whole } from "../schema.ts";
import { tool, type Call } from "../tool.ts";

interface InboxArgs {
  unread?: boolean;
  from?: string;
  cursor?: string;
  limit?: number;
  bodies?: boolean;
}

const SHOWN_MESSAGES = 20;
const MAX_LIMIT = 100;
/** A page of the largest messages crosses the socket at once. */
const AT_A_TIME = 5;
/** Clients give a call a minute or so. */
const DEFAULT_WAIT_SECONDS = 50;
const MAX_WAIT_SECONDS = 600;

/** What is there for our agent, and what it has read. Spec 8.1, 3.12. */
export const INBOX_TOOLS = [
  tool<InboxArgs>({
    name: "inbox",
    description:
      "Messages for you, oldest first: unread ones unless unread is false, as subjects and first lines. Marks nothing read: call mark_read with the ids you have dealt with. n-… are notices of your own daemon.",
    input: object({
      unread: flag("only what is unread (default true)"),
      from: text("only from this peer"),
      cursor: text("the cursor of an earlier answer: what comes after it"),
      limit: whole(1, MAX_LIMIT),
      bodies: flag("show bodies too"),
    }),
    effect: "reads",
    answersFacts: false,
    run: async (call, args) => ({ words: await inboxText(call, args) }),
  }),
  tool<{ ids?: string[]; all?: boolean }>({
    name: "mark_read",
    description:
      "Marks messages and notices read, by the ids that inbox showed: their senders can prove it from then on. It answers nothing; acknowledge, reply, accept or reject do.",
    input: object({ ids: texts("ids, or their first 6 characters"), all: flag() }),
    effect: "marks",
    answersFacts: true,
    async run({ client }, { ids = [], all = false }) {
      if (ids.length === 0 && !all) {
        throw new DeaddropError("usage", "which messages?", {
          hint: "give their ids as inbox shows them, or all: true",
        });
      }
      const named = all
        ? ("all" as const)
        : await Promise.all(ids.map((id) => wholeId(client, id)));
      return { facts: { ...(await client.ask("read", { ids: named })), from: client.handle } };
    },
  }),
  tool<{ unread?: boolean }>({
    name: "notices",
    description:
      "What your daemon has told you: how your proposals and requests ended, what was refused, who is silent.",
    input: object({ unread: flag("only unread ones (default true)") }),
    effect: "reads",
    answersFacts: false,
    async run({ client, frame }, { unread = true }) {
      const notices = await client.view("agent_notices", unread ? { unread } : {});
      // Quoted subjects of peers may be in them.
      const shown = lastFitting(notices, (each) => cut(noticeRow(each)));
      const left = notices.length - shown.length;
      const more = left === 0 ? [] : [`(${left} older ones are not shown)`];
      const words =
        notices.length === 0
          ? "No notices."
          : [frame.notice, frame.around(shown), ...more].join("\n");
      return { words };
    },
  }),
  tool<{ timeout_seconds?: number; for?: WaitedFor }>({
    name: "wait_for_mail",
    description:
      "Waits until something is there for you and says what, as counts and senders; at once if it is there already. Then call inbox.",
    input: object({
      timeout_seconds: whole(1, MAX_WAIT_SECONDS, `default ${DEFAULT_WAIT_SECONDS}`),
      for: choice(WAITED_FOR, "anything, urgent mail, or an answer you owe (default any)"),
    }),
    effect: "reads",
    answersFacts: true,
    async run(call, { timeout_seconds: seconds = DEFAULT_WAIT_SECONDS, for: awaited = "any" }) {
      const { client, signal } = call;
      const news = await waitForNews(client, awaited, {
        nowMs: () => performance.now(),
        sleep: (durationMs) => pause(durationMs, signal),
        endMs: performance.now() + 1_000 * seconds,
        hasGone: () => signal.aborted,
      });
      return { facts: { ...news, from_handle: client.handle } };
    },
  }),
];

function noticeRow({ id, at, kind, text }: AgentNoticeView): string {
  return `${id} ${at} ${kind}: ${text}`;
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
  const { unread = true, cursor } = args;
  if (args.from !== undefined) await recipients(client, [args.from]);
  const isNewest = !unread && cursor === undefined;
  const { texts, left, cursor: next } = await (isNewest ? newest(call, args) : oldest(call, args));
  const { notices } = await client.view("news");
  return [
    `You are ${client.handle}. ${counted(texts.length, unread)}.`,
    ...(notices > 0 ? [`${notices} unread notices: call notices.`] : []),
    ...(texts.length > 0 ? [frame.notice, ...texts] : []),
    ...(left > 0 ? [`${left} ${isNewest ? "older" : "more"} not shown.`] : []),
    ...(next === undefined ? [] : [`cursor: ${next}`]),
  ].join("\n");
}

function render({ frame, client }: Call, { bodies = false }: InboxArgs) {
  const how = bodies ? "body" : "summary";
  return (message: InboxMessage): string => inboxWords(frame, message, how, client.handle);
}

async function newest(call: Call, args: InboxArgs): Promise<Shown> {
  const { from, limit = SHOWN_MESSAGES } = args;
  const page = await call.client.view("inbox_page", {
    ...(from === undefined ? {} : { from }),
    ...{ limit: Math.min(limit, SHOWN_MESSAGES), newest: true },
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
  const { unread = true, from, cursor, limit = SHOWN_MESSAGES } = args;
  const query = { ...(unread ? { unread } : {}), ...(from === undefined ? {} : { from }) };
  const texts: string[] = [];
  let [after, room, left] = [cursor, LIST_TOKENS, 0];
  while (texts.length < limit) {
    const asked = { ...query, ...(after === undefined ? {} : { after }) };
    const count = Math.min(AT_A_TIME, limit - texts.length);
    const page = await call.client.view("inbox_page", { ...asked, limit: count });
    const fits = fitting(page.messages, render(call, args), room);
    // Not even the first of them: it begins the next result.
    const isFull = texts.length > 0 && tokensOf(fits.slice(0, 1)) > room;
    if (isFull) return { texts, left: leftOf(page, 0), cursor: after };
    texts.push(...fits);
    room -= tokensOf(fits);
    left = leftOf(page, fits.length);
    if (fits.length < page.messages.length) {
      // The place behind the last message that is shown.
      const last = await call.client.view("inbox_page", { ...asked, limit: fits.length });
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
