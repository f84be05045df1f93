import { DeaddropError } from "../../../api/errors.ts";
import type { ThreadMessage, ThreadView } from "../../../api/views.ts";
import { threadLabel } from "../../../framing/attribution.ts";
import { shortId } from "../../../framing/short-id.ts";
import { lastFitting, LIST_TOKENS, threadWords } from "../peer-words.ts";
import { object, text, whole } from "../schema.ts";
import { tool, type Call } from "../tool.ts";

interface ThreadArgs {
  id: string;
  from_character?: number;
  skip_newest?: number;
}

const SEARCH_LIMIT = 20;
const MAX_SEARCH_LIMIT = 50;
const MAX_OFFSET = 1_000_000_000;

/** Conversations, and what was said when. Spec 8.1. */
export const THREAD_TOOLS = [
  tool<ThreadArgs>({
    name: "thread",
    description:
      "The conversation that a message belongs to, its newest messages last, with its proposals. With from_character: only that message, its body from there on.",
    input: object(
      {
        id: text("id of a message, or its first 6 characters"),
        from_character: whole(0, MAX_OFFSET),
        skip_newest: whole(0, MAX_OFFSET, "to read what is further back"),
      },
      "id",
    ),
    effect: "reads",
    answersFacts: false,
    run: async (call, args) => ({ words: await threadText(call, args) }),
  }),
  tool<{ text: string; limit?: number; before?: string }>({
    name: "search",
    description: "Messages of all threads whose subject or body contains a text, the newest last.",
    input: object(
      { text: text(), limit: whole(1, MAX_SEARCH_LIMIT), before: text("of an earlier answer") },
      "text",
    ),
    effect: "reads",
    answersFacts: false,
    run: async (call, args) => ({ words: await searchText(call, args) }),
  }),
];

async function threadText(
  call: Call,
  { id, from_character: from, skip_newest: skip = 0 }: ThreadArgs,
) {
  const { client, frame } = call;
  const threads = await client.view("thread", { id, by: "event_id" });
  const [thread] = threads;
  if (thread === undefined) throw new DeaddropError("unknown_id", `no message is named ${id}`);
  if (from !== undefined) {
    const message = named(thread, id);
    return [frame.notice, threadWords(frame, message, { from })].join("\n");
  }
  const { messages } = thread;
  const end = Math.max(0, messages.length - skip);
  const render = (each: ThreadMessage) => threadWords(frame, each, "body");
  const shown = lastFitting(messages.slice(0, end), render, LIST_TOKENS);
  const older = end - shown.length;
  return [
    `${headOf(thread)} You are ${client.handle}.`,
    frame.notice,
    ...(older > 0 ? [`(${older} older messages: skip_newest ${skip + shown.length})`] : []),
    ...shown,
    ...thread.proposals.map(
      (each) => `proposal ${shortId(each.proposal_id)} by ${each.proposer}: ${each.status}`,
    ),
    ...thread.obligations.map(
      (each) => `${each.owed_by} owes an answer to ${shortId(each.event_id)}`,
    ),
  ].join("\n");
}

function headOf({
  correlation_id: name,
  participants,
  status,
  waiting_on: waits,
}: ThreadView): string {
  const waiting = waits.length === 0 ? "" : ` (on ${waits.join(", ")})`;
  return `Thread ${threadLabel(name)} of ${participants.join(", ")}: ${status}${waiting}.`;
}

/** The message that is asked for: `thread` has found it by that id. */
function named({ messages }: ThreadView, id: string): ThreadMessage {
  const found = messages.find(({ _meta }) => _meta.id.startsWith(id.toLowerCase()));
  if (found === undefined) throw new DeaddropError("unknown_id", `no message is named ${id}`);
  return found;
}

async function searchText(
  { client, frame }: Call,
  { text: wanted, limit = SEARCH_LIMIT, before }: { text: string; limit?: number; before?: string },
): Promise<string> {
  const page = await client.view("search_page", {
    text: wanted,
    limit,
    ...(before === undefined ? {} : { before }),
  });
  const render = (each: ThreadMessage) => threadWords(frame, each, "summary");
  const shown = lastFitting(page.messages, render, LIST_TOKENS);
  const left = page.messages.length - shown.length;
  return [
    `You are ${client.handle}. ${shown.length} found in this part of history.`,
    ...(shown.length === 0 ? [] : [frame.notice, ...shown]),
    ...(left === 0 ? [] : [`(${left} older ones of this part are not shown: use a smaller limit)`]),
    page.next === null ? "Nothing older." : `older: search with before ${page.next}`,
  ].join("\n");
}
