import type { InboxMessage, MessageFields } from "../../api/views.ts";
import type { Tier } from "../../trust/tiers.ts";
import type { Paint } from "./output.ts";
import { sanitise, sanitiseLines } from "./sanitise.ts";
import { shortId, when } from "./text.ts";

/**
 * A message for people: a line of facts, the subject, the body behind a bar. A peer's words are
 * sanitised, and no line of the body can be taken for one of ours. Spec 8.2.
 */
export function messageText(
  id: string,
  message: MessageFields,
  notes: readonly string[],
  paint: Paint,
  nowMs: number,
): string {
  const priority = message.priority === "high" ? ` ${paint("red", "high")}` : "";
  const facts = `${paint("bold", sanitise(shortId(id)))} ${paint("cyan", sanitise(message.from))} ${sanitise(typeOf(message))}${priority} ${paint("dim", sanitise(when(message.timestamp, nowMs)))}`;
  const extra = notes.length === 0 ? "" : ` ${paint("yellow", `[${notes.join(", ")}]`)}`;
  const lines = [`${facts}${extra}`, `  ${paint("bold", sanitise(message.subject))}`];
  for (const line of bodyLines(message.body)) lines.push(`  ${paint("dim", "│")} ${line}`);
  if (message.refs !== undefined && message.refs.length > 0) {
    lines.push(`  refs: ${message.refs.map(sanitise).join(", ")}`);
  }
  return lines.join("\n");
}

export function inboxText(message: InboxMessage, paint: Paint, nowMs: number): string {
  const { _meta } = message;
  const notes = tierNotes(_meta.tier);
  if (!_meta.read) notes.push("unread");
  if (!_meta.verified) notes.push("not signed");
  if (_meta.after_gap) notes.push("lines before it are missing");
  for (const { owed_by, overdue, due_at } of _meta.obligations) {
    notes.push(
      `${sanitise(owed_by)} owes an answer${overdue ? ", overdue" : dueNote(due_at, nowMs)}`,
    );
  }
  return messageText(_meta.id, message, notes, paint, nowMs);
}

/** Every text of a peer below VERIFIED is shown with its tier. Spec 2.3. */
export function tierNotes(tier: Tier | null): string[] {
  if (tier === null) return ["of no tier"];
  return tier === "UNTRUSTED" ? [tier] : [];
}

function dueNote(dueAt: string | null, nowMs: number): string {
  return dueAt === null ? "" : `, due ${when(dueAt, nowMs)}`;
}

/** Unknown kinds come without a type. Spec 1.3. */
function typeOf(message: MessageFields): string {
  return message.type ?? `kind:${message.kind ?? "?"}`;
}

/** Text as it is, anything else as indented JSON; nothing for an empty body. */
function bodyLines(body: unknown): string[] {
  if (body === "" || body === null) return [];
  return sanitiseLines(typeof body === "string" ? body : JSON.stringify(body, null, 2));
}
