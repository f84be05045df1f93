import { MAX_WAIT_MS } from "../../../api/operations.ts";
import type { NewsView } from "../../../api/views.ts";
import { WAITED_FOR, type WaitedFor } from "../../../protocol/receipts/news.ts";
import { parentOf } from "../../../sending/naming/parent.ts";
import { fitting, inboxWords, LIST_TOKENS } from "../peer-words.ts";
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
/** Clients give a call a minute or so. */
const DEFAULT_WAIT_SECONDS = 50;
const MAX_WAIT_SECONDS = 600;
/** Where no daemon takes in what peers write. */
const TAKE_IN_EVERY_MS = 1_000;

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
      const rows = notices.map(({ id, at, kind, text }) => `${id} ${at} ${kind}: ${text}`);
      const shown = fitting(rows.toReversed()).toReversed();
      const left = rows.length - shown.length;
      const more = left === 0 ? [] : [`(${left} older ones are not shown)`];
      const words =
        rows.length === 0 ? "No notices." : [frame.notice, frame.around(shown), ...more].join("\n");
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
      return { facts: await waitFor(call, awaited, 1_000 * seconds) };
    },
  }),
];

async function inboxText(call: Call, args: InboxArgs): Promise<string> {
  const { client, frame } = call;
  const { unread = true, from, cursor, limit = SHOWN_MESSAGES, bodies = false } = args;
  if (!client.viaDaemon) await client.ask("tick");
  const asked = {
    ...(unread ? { unread } : {}),
    ...(from === undefined ? {} : { from }),
    limit,
  };
  const isNewest = !unread && cursor === undefined;
  const page = await client.view("inbox_page", {
    ...asked,
    ...(isNewest ? { newest: true } : {}),
    ...(cursor === undefined ? {} : { after: cursor }),
  });
  const how = bodies ? "body" : "summary";
  const texts = page.messages.map((each) => inboxWords(frame, each, how, client.handle));
  const shown = fitting(texts, LIST_TOKENS);
  const isCut = shown.length < texts.length;
  // The place behind the last message that is shown, when the result had no room for all.
  const next = isCut
    ? (
        await client.view("inbox_page", {
          ...asked,
          limit: shown.length,
          ...(cursor === undefined ? {} : { after: cursor }),
        })
      ).next
    : page.next;
  const { notices } = await client.view("news");
  const left = (page.more ?? 0) + texts.length - shown.length;
  return [
    `You are ${client.handle}. ${counted(shown.length, unread)}.`,
    ...(notices > 0 ? [`${notices} unread notices: call notices.`] : []),
    ...(shown.length > 0 ? [frame.notice, ...shown] : []),
    ...(left > 0 ? [`${left} ${isNewest ? "older" : "more"} not shown.`] : []),
    ...(isNewest ? [] : [`cursor: ${next}`]),
  ].join("\n");
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

async function waitFor(
  { client, signal }: Call,
  awaited: WaitedFor,
  forMs: number,
): Promise<NewsView & { from_handle: string }> {
  const endMs = performance.now() + forMs;
  for (;;) {
    const leftMs = Math.max(1, endMs - performance.now());
    const limitMs = Math.ceil(Math.min(leftMs, client.viaDaemon ? MAX_WAIT_MS : TAKE_IN_EVERY_MS));
    const news = await client.ask("wait", { for: awaited, limitMs });
    if (news.ready || signal.aborted || performance.now() >= endMs) {
      return { ...news, from_handle: client.handle };
    }
    if (client.viaDaemon) continue;
    await pause(Math.min(TAKE_IN_EVERY_MS, leftMs), signal);
    // Nobody but us takes in what peers write.
    await client.ask("tick");
  }
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
