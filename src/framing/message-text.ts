import type { InboxMessage, PlainMessage } from "../api/views.ts";
import type { Tier } from "../trust/tiers.ts";
import type { Priority } from "../wire/message.ts";
import { askedWords, knownWords } from "./asked-words.ts";
import { bodyText } from "./body-text.ts";
import type { Paint } from "./paint.ts";
import { sanitise, sanitiseLines } from "./sanitise.ts";
import { shortId } from "./short-id.ts";
import { aheadNote, dueWords, when } from "./when.ts";

/** Characters of a body that are shown unless all of it is asked for. Spec 8.6. */
const SHOWN_BODY = 2_000;

/** How messages are shown. */
export interface MessageLook {
  readonly paint: Paint;
  readonly nowMs: number;
  /** The command that prints all of a body; undefined: bodies are not cut. */
  readonly restOf: ((id: string) => string) | undefined;
}

interface Facts {
  readonly id: string;
  /** A daemon of an older version does not say it. */
  readonly priority?: Priority;
}

/**
 * A message for people: a line of facts, the subject, the body behind a bar. A peer's words are
 * sanitised, and no line of the body can be taken for one of ours. Spec 8.2.
 */
export function messageText(
  { id, priority }: Facts,
  message: PlainMessage,
  notes: readonly string[],
  look: MessageLook,
): string {
  const { paint } = look;
  const high = priority === "high" ? ` ${paint("red", "high")}` : "";
  const facts = `${paint("bold", sanitise(shortId(id)))} ${paint("cyan", sanitise(message.from))} ${sanitise(typeOf(message))}${high} ${paint("dim", sanitise(when(message.timestamp, look.nowMs)))}`;
  const extra = notes.length === 0 ? "" : ` ${paint("yellow", `[${notes.join(", ")}]`)}`;
  const lines = [`${facts}${extra}`, `  ${paint("bold", sanitise(message.subject))}`];
  lines.push(...wordRows(id, bodyText(message), look));
  if (message.refs !== undefined && message.refs.length > 0) {
    lines.push(`  refs: ${message.refs.map(sanitise).join(", ")}`);
  }
  return lines.join("\n");
}

export function inboxText(message: InboxMessage, look: MessageLook): string {
  const { _meta } = message;
  const notes = tierNotes(_meta.tier);
  if (!_meta.read) notes.push("unread");
  if (!_meta.verified) notes.push("not signed");
  if (_meta.after_gap) notes.push("lines before it are missing");
  const ahead = aheadNote(message.timestamp, _meta.received_at);
  if (ahead !== undefined) notes.push(ahead);
  for (const asked of _meta.obligations) {
    if (knownWords(asked) !== undefined) notes.push(askedWords(asked));
    const due = asked.due_at === null ? null : dueWords(asked, (time) => when(time, look.nowMs));
    notes.push(`${sanitise(asked.owed_by)} owes an answer${due === null ? "" : `, ${due}`}`);
  }
  return messageText(_meta, message, notes, look);
}

/** Every text of a peer below VERIFIED is shown with its tier. Spec 2.3. */
export function tierNotes(tier: Tier | null): string[] {
  if (tier === null) return ["of no tier"];
  return tier === "UNTRUSTED" ? [tier] : [];
}

/** Unknown kinds come without a type. Spec 1.3. */
function typeOf(message: PlainMessage): string {
  return message.type ?? `kind:${message.kind ?? "?"}`;
}

/** Rows of a peer's words behind a bar, and how to see what was cut off. Nothing for an empty text. */
export function wordRows(
  id: string,
  text: string,
  { paint, restOf }: Pick<MessageLook, "paint" | "restOf">,
): string[] {
  if (text === "") return [];
  const characters = restOf === undefined ? [] : Array.from(text);
  const left = characters.length - SHOWN_BODY;
  const isCut = restOf !== undefined && left > 0;
  const shown = isCut ? characters.slice(0, SHOWN_BODY).join("") : text;
  const rows = sanitiseLines(shown).map((line) => `  ${paint("dim", "│")} ${line}`);
  if (isCut) rows.push(`  ${left} more characters: ${restOf(shortId(id))}`);
  return rows;
}
