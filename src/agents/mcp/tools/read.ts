import { DeaddropError } from "../../../api/errors.ts";
import type {
  AgentNoticeView,
  ObligationView,
  HeldMessage,
  ThreadView,
} from "../../../api/views.ts";
import { askedWords } from "../../../framing/asked-words.ts";
import { threadLabel } from "../../../framing/attribution.ts";
import { shortId } from "../../../framing/short-id.ts";
import { dueWords } from "../../../framing/when.ts";
import { helpText } from "../../skill/skill-text.ts";
import { inTurns } from "../../../protocol/fair-share.ts";
import { asCalls } from "../call-words.ts";
import { cut, fitting, lastFitting, LIST_TOKENS, threadWords } from "../peer-words.ts";
import { choice, object, text, texts, whole, type Args } from "../schema.ts";
import { tool, type Call, type ToolAnswer } from "../tool.ts";
import { claimsText } from "./claims.ts";
import { checkText, decisionsText } from "./decisions.ts";
import { stepsText } from "./plans.ts";

type ReadArgs = Args<typeof READ>;

const SEARCH_LIMIT = 20;
const MAX_SEARCH_LIMIT = 50;

/** What `read` shows, by its argument `what`. */
const VIEWS: Readonly<Record<string, (call: Call, args: ReadArgs) => Promise<string | object>>> = {
  thread: threadText,
  search: searchText,
  check: checkText,
  decisions: decisionsText,
  claims: claimsText,
  pending: pendingText,
  notices: noticesText,
  steps: stepsText,
  peers: peersOnWire,
  help: helpOn,
};

const READ = object({
  what: choice(Object.keys(VIEWS)),
  id: text("6 characters do"),
  text: text(),
  paths: texts(),
  from_character: whole(),
  skip: whole("newest ones to leave out"),
  limit: whole(),
  cursor: text(),
});

const inboxCall = (): string => "inbox {}";

/** Everything that can be read besides the inbox. Spec 8.1. */
export const READ_TOOL = tool({
  name: "read",
  description:
    "thread (id), search (text), check (paths: may you edit, what was decided), decisions in force, claims, pending (answers owed), notices of your daemon, plan steps for you, peers, help (text: a topic).",
  input: READ,
  effect: "reads",
  elsewhere: { inbox: inboxCall, messages: inboxCall, mail: inboxCall },
  async run(call, args): Promise<ToolAnswer> {
    const answer = await VIEWS[whatOf(args)]?.(call, args);
    if (answer === undefined) throw new Error(`there is no view ${args.what ?? ""}`);
    return typeof answer === "string" ? { words: answer } : { facts: answer };
  },
});

/** What is meant where it is not said: each of these arguments belongs to one view. */
function whatOf({ what, id, text: wanted, paths }: ReadArgs): string {
  if (what !== undefined) return what;
  if (id !== undefined) return "thread";
  if (paths !== undefined) return "check";
  if (wanted !== undefined) return "search";
  throw new DeaddropError("usage", "read: what is missing", {
    hint: `give what as one of ${Object.keys(VIEWS).join(", ")}; or an id, a text or paths`,
  });
}

function needed(value: string | undefined, what: string, name: string): string {
  if (value !== undefined) return value;
  throw new DeaddropError("usage", `read ${what}: ${name} is missing`, {
    hint: `read {"what":"${what}","${name}":"…"}`,
  });
}

async function threadText(call: Call, args: ReadArgs): Promise<string> {
  const { client, frame } = call;
  const { from_character: from, skip = 0 } = args;
  const id = needed(args.id, "thread", "id");
  const threads = await client.view("thread", { id, by: "event_id" });
  const [thread] = threads;
  if (thread === undefined) throw new DeaddropError("unknown_id", `no message is named ${id}`);
  if (from !== undefined) {
    const message = named(thread, id);
    return [frame.notice, threadWords(frame, message, { from })].join("\n");
  }
  const { messages } = thread;
  const end = Math.max(0, messages.length - skip);
  const render = (each: HeldMessage) => threadWords(frame, each, "body");
  const shown = lastFitting(messages.slice(0, end), render, LIST_TOKENS);
  const older = end - shown.length;
  return [
    `${headOf(thread)} You are ${client.handle}.`,
    frame.notice,
    ...(older > 0 ? [`(${older} older messages: skip ${skip + shown.length})`] : []),
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
function named({ messages }: ThreadView, id: string): HeldMessage {
  const found = messages.find(({ _meta }) => _meta.id.startsWith(id.toLowerCase()));
  if (found === undefined) throw new DeaddropError("unknown_id", `no message is named ${id}`);
  return found;
}

async function searchText({ client, frame }: Call, args: ReadArgs): Promise<string> {
  const { limit = SEARCH_LIMIT, cursor } = args;
  const page = await client.view("search", {
    text: needed(args.text, "search", "text"),
    limit: Math.min(Math.max(1, limit), MAX_SEARCH_LIMIT),
    ...(cursor === undefined ? {} : { before: cursor }),
  });
  const render = (each: HeldMessage) => threadWords(frame, each, "summary");
  const shown = lastFitting(page.messages, render, LIST_TOKENS);
  const left = page.messages.length - shown.length;
  return [
    `You are ${client.handle}. ${shown.length} found in this part of history.`,
    ...(shown.length === 0 ? [] : [frame.notice, ...shown]),
    ...(left === 0 ? [] : [`(${left} older ones of this part are not shown: use a smaller limit)`]),
    page.next === null ? "Nothing older." : `older: the same with cursor ${page.next}`,
  ].join("\n");
}

/** What our agent owes and is owed. Spec 3.8, 3.3. */
async function pendingText({ client, frame }: Call): Promise<string> {
  const owed = await client.view("pending");
  if (owed.length === 0) return "Nothing is owed.";
  const turns = inTurns(owed, ({ from }) => from);
  const shown = fitting(turns, (each) => cut(owedRow(each, client.handle)));
  const left = owed.length - shown.length;
  const more = left === 0 ? [] : [`(${left} more are not shown)`];
  return [frame.notice, frame.around(shown), ...more].join("\n");
}

function owedRow(each: ObligationView, self: string): string {
  const { event_id, request_id: request, from, owed_by: by } = each;
  const until = dueWords(each, (time) => time);
  const named = request === null ? "" : `, request ${shortId(request)}`;
  const who = by === self ? "you" : by;
  const words = each.decision === null ? each.subject : `decides: ${each.decision}`;
  return `${shortId(event_id)} ${askedWords(each)}${named} of ${from}, owed by ${who}, ${until}: ${words}`;
}

/** What the daemon has told its agent, the newest last. Subjects of peers may be quoted in it. */
async function noticesText({ client, frame }: Call): Promise<string> {
  const unread = await client.view("agent_notices", { unread: true });
  const notices = unread.length > 0 ? unread : await client.view("agent_notices", {});
  if (notices.length === 0) return "No notices.";
  const shown = lastFitting(notices, (each) => cut(noticeRow(each)));
  const left = notices.length - shown.length;
  const more = left === 0 ? [] : [`(${left} older ones are not shown)`];
  const head = unread.length > 0 ? [] : ["No unread notices. Those that were read:"];
  return [...head, frame.notice, frame.around(shown), ...more].join("\n");
}

function noticeRow({ id, at, kind, text }: AgentNoticeView): string {
  return `${id} ${at} ${kind}: ${asCalls(text)}`;
}

/** What is not worth its tokens in each session: all of it, or the section of a topic. */
async function helpOn({ skill }: Call, { text: topic }: ReadArgs): Promise<string> {
  return helpText(skill, topic);
}

/** Who else is on the wire: whether each is there, and how far it is trusted here. */
async function peersOnWire({ client }: Call): Promise<object> {
  const peers = await client.view("peers");
  return {
    from: client.handle,
    peers: peers.map((peer) => ({
      handle: peer.handle,
      presence: peer.held ? "held by your operator's rules" : peer.presence,
      trust_tier: peer.trust_tier,
      agent_last_seen: peer.agent_last_seen,
      unread_there: peer.inbox_unread_count,
    })),
  };
}
