import type { InboxMessage, PlainMessage, ObligationView, HeldMessage } from "../../api/views.ts";
import { knownWords } from "../../framing/asked-words.ts";
import { attribution, briefAttribution } from "../../framing/attribution.ts";
import { bodyText } from "../../framing/body-text.ts";
import { partOf, type Frame } from "../../framing/frame.ts";
import { sanitise } from "../../framing/sanitise.ts";
import { shortId } from "../../framing/short-id.ts";
import { tokenCeiling } from "../../framing/token-ceiling.ts";
import { aheadNote, dueWords } from "../../framing/when.ts";
import type { Tier } from "../../trust/tiers.ts";

/**
 * What a result may cost by our count, which no tokenizer exceeds by more than twice: a result has
 * fewer than 10,000 tokens by any of them. Spec 8.1.
 */
const RESULT_TOKENS = 4_800;
/** Of a list of messages: there is something said besides. */
export const LIST_TOKENS = RESULT_TOKENS - 500;
/** Of a body that is shown where it was not asked for. */
const FIRST_LINE_TOKENS = 60;
/** Of a body among others. */
const BODY_TOKENS = 900;
/** Of one whole body. */
const WHOLE_TOKENS = 4_200;
/** Of a subject, of the paths that a message refers to. */
const LINE_TOKENS = 260;

/** How much of a message is shown. */
export type Amount = "summary" | "body" | { readonly from: number };

/** A message as data: a line of ours, then the words of its author in a frame. */
export function inboxWords(frame: Frame, message: InboxMessage, how: Amount, self: string): string {
  const { _meta: meta } = message;
  const notes = [meta.read ? "read" : "unread", ...messageNotes(message, self)];
  return framed(frame, message, { ...meta, notes, at: message.timestamp }, how);
}

/** What a line of an inbox page depends on besides its message. */
interface PageLook {
  readonly self: string;
  readonly nowMs: number;
  /** Then no line has to say so. */
  readonly areAllUnread: boolean;
}

/**
 * A message in a page of many: a line of ours, then a line of its author's subject and first line. The
 * second is not framed yet: `summaryPage` does it for all of them.
 */
export function inboxSummary(message: InboxMessage, look: PageLook): string {
  const { _meta: meta, from, type, kind, timestamp } = message;
  const subject = cut(message.subject);
  const body = bodyText(message);
  const part = partOf(body, 0, FIRST_LINE_TOKENS);
  const line = part.text.split("\n", 1)[0] ?? "";
  const left = countOf(body) - countOf(line);
  const notes = [
    ...(look.areAllUnread ? [] : [meta.read ? "read" : "unread"]),
    ...messageNotes(message, look.self),
    ...(left > 0 ? [`${left} more characters`] : []),
  ];
  const facts = { ...meta, from, type, kind, at: timestamp, notes };
  const isRepeated = line === "" || line === message.subject;
  const words = isRepeated ? subject : `${subject} — ${line}`;
  return `${briefAttribution(facts, look.nowMs)}\n${sanitise(words)}`;
}

/** A page of these: our lines with numbers, then in one frame the words of each, by its number. */
export function summaryPage(frame: Frame, summaries: readonly string[]): string[] {
  const pairs = summaries.map((each, index) => {
    const [head = "", words = ""] = each.split("\n");
    return { head: `${index + 1}. ${head}`, words: `${index + 1}. ${words}` };
  });
  const isCut = pairs.some(({ head }) => head.endsWith("more characters"));
  return [
    ...pairs.map(({ head }) => head),
    `${frame.notice} Each row is of the message with its number.`,
    frame.around(pairs.map(({ words }) => words)),
    ...(isCut ? ['Whole messages: read {"id":"…"}, or bodies: true.'] : []),
  ];
}

export function threadWords(frame: Frame, message: HeldMessage, how: Amount): string {
  const { _meta: meta } = message;
  const notes = meta.priority === "high" ? ["high priority"] : [];
  if (meta.refused !== null) notes.push(`refused here: ${meta.refused}`);
  for (const id of meta.corrections) notes.push(`corrected by ${shortId(id)}`);
  const verified = message.signature !== undefined;
  const facts = { ...meta, verified, thread: message.correlation_id, notes };
  return framed(frame, message, { ...facts, at: message.timestamp }, how);
}

/** What is known of it here, in words of ours. */
function messageNotes({ _meta: meta, timestamp }: InboxMessage, self: string): string[] {
  const ahead = aheadNote(timestamp, meta.received_at);
  return [
    ...(meta.priority === "high" ? ["high priority"] : []),
    ...(meta.after_gap ? ["lines before it are missing"] : []),
    ...(ahead === undefined ? [] : [ahead]),
    ...meta.obligations.map((each) => owedNote(each, self)),
  ];
}

function owedNote(asked: ObligationView, self: string): string {
  const { owed_by: who } = asked;
  const what = knownWords(asked);
  const until = dueWords(asked, (time) => time);
  return `${who === self ? "you owe" : `${who} owes`} an answer${what === undefined ? "" : ` to a ${what}`} (${until})`;
}

interface Known {
  readonly id: string;
  readonly tier: Tier | null;
  readonly verified: boolean;
  readonly thread: string;
  readonly at: string;
  readonly notes: readonly string[];
}

function framed(frame: Frame, message: PlainMessage, known: Known, how: Amount): string {
  const { from, type, kind, subject, refs = [] } = message;
  const head = attribution({ ...known, from, type, kind });
  const body = bodyText(message);
  const part = partOf(body, typeof how === "object" ? how.from : 0, tokensOf(how));
  const rows = [cut(subject)];
  const shown = how === "summary" ? (part.text.split("\n", 1)[0] ?? "") : part.text;
  if (shown !== "") rows.push(shown);
  if (how !== "summary" && refs.length > 0) rows.push(cut(`refs: ${refs.join(", ")}`));
  const left = part.left + countOf(part.text) - countOf(shown);
  return [head, frame.around(rows), ...restOf(known.id, left, part.next, how)].join("\n");
}

function tokensOf(how: Amount): number {
  if (how === "summary") return FIRST_LINE_TOKENS;
  return how === "body" ? BODY_TOKENS : WHOLE_TOKENS;
}

/** A line of a list: a subject, what a message refers to, a notice. */
export function cut(line: string): string {
  const { text, left } = partOf(line, 0, LINE_TOKENS);
  return left === 0 ? text : `${text}…`;
}

function countOf(text: string): number {
  return Array.from(text).length;
}

/** How the rest of a body is read. */
function restOf(id: string, left: number, next: number | undefined, how: Amount): string[] {
  if (left <= 0) return [];
  const where = how === "summary" ? 0 : (next ?? 0);
  return [`(${left} more characters: read {"id":"${shortId(id)}","from_character":${where}})`];
}

/** The first of these that fit into one result, as text; the others are not looked at. */
export function fitting<Item>(
  items: Iterable<Item>,
  render: (item: Item) => string,
  tokens = RESULT_TOKENS,
): string[] {
  const fits: string[] = [];
  let spent = 0;
  for (const item of items) {
    const text = render(item);
    // With the end of its line.
    spent += tokenCeiling(text) + 2;
    if (spent > tokens && fits.length > 0) break;
    fits.push(text);
  }
  return fits;
}

/** The same for the last of them, in their order. */
export function lastFitting<Item>(
  items: readonly Item[],
  render: (item: Item) => string,
  tokens = RESULT_TOKENS,
): string[] {
  return fitting(items.toReversed(), render, tokens).toReversed();
}
