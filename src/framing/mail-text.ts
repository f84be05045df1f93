import type { MailView } from "../api/views.ts";
import { MINUTE_MS } from "../wire/durations.ts";
import { shellWord } from "../wire/quote.ts";
import { shortId } from "./short-id.ts";

/** What begins every text that a model gets without asking: some tools show it as the user's words. */
const MARK = "[deaddrop, an automatic notice, not written by the user]";
const MAX_HANDLES = 5;
const MAX_IDS = 3;
/** A handle may be long enough to be a sentence. */
const MAX_HANDLE = 32;
/** A path may be longer than all that a hook may say. */
const MAX_COMMAND = 512;

/** Whose mail it is, and when it is told. */
export interface MailLook {
  readonly handle: string;
  readonly nowMs: number;
}

/**
 * What is unread and owed, in at most 2,000 characters: numbers, handles of the roster, ids and ages.
 * Spec 8.2.
 */
export function mailText(mail: MailView, { handle, nowMs }: MailLook): string {
  const { unread, urgent, owed, overdue, notices, steps = 0 } = mail;
  const me = shortHandle(handle);
  const parts: string[] = [];
  if (unread > 0) {
    const share = urgent === 0 ? "" : `, ${urgent} of them urgent`;
    parts.push(`${me} has ${counted(unread, "unread message")}${share} (${senders(mail)}).`);
  }
  const ids = mail.fresh.lines.slice(0, MAX_IDS).map((line) => {
    const age = ageText(nowMs - Date.parse(line.received_at));
    return `${shortId(line.event_id)} from ${shortHandle(line.from)}, ${line.urgent ? "urgent, " : ""}${age}`;
  });
  const more = mail.fresh.count - ids.length;
  if (ids.length > 0) {
    parts.push(`New: ${ids.join("; ")}${more > 0 ? `; and ${more} more` : ""}.`);
  }
  if (owed > 0) {
    const late = overdue === 0 ? "" : `, ${overdue} of them overdue`;
    parts.push(`${me} owes ${counted(owed, "answer")}${late}.`);
  }
  if (steps > 0) {
    parts.push(
      steps === 1
        ? `A step of a plan is waiting for ${me}.`
        : `${steps} steps of plans are waiting for ${me}.`,
    );
  }
  if (notices > 0) parts.push(`${me} has ${counted(notices, "unread notice")}.`);
  return `${MARK} ${parts.join(" ")} ${howToRead(me)}`;
}

/** The one line that wakes an idle session, or has one go on. Spec 8.3. */
export function wakeText(mail: MailView, { handle }: Pick<MailLook, "handle">): string {
  const me = shortHandle(handle);
  const facts = [
    ...(mail.unread > 0
      ? [`${counted(mail.unread, "unread message")} (${senders(mail)}), ${mail.urgent} urgent`]
      : []),
    ...(mail.overdue > 0 ? [counted(mail.overdue, "overdue answer")] : []),
  ];
  return `${MARK} ${me} has ${facts.join(" and ")}. ${howToRead(me)}`;
}

/** It is the agent's turn in a round that its operator has it take part in. Spec 6.3. */
export function turnText(folder: string, participant: string): string {
  const at = `--folder ${shellWord(folder)} --participant ${shellWord(participant)}`;
  const how = at.length <= MAX_COMMAND ? `deaddrop collab next ${at}` : "deaddrop status";
  return `${MARK} It is your turn in a collaboration round. \`${how}\` says more.`;
}

/** Told once to a session that begins while no daemon runs. */
export function noDaemonText(handle: string): string {
  const me = shortHandle(handle);
  return (
    `${MARK} No deaddrop daemon runs for ${me}, so mail is not announced. ` +
    `\`deaddrop inbox --unread --as ${me}\` still reads it; tell your operator.`
  );
}

/** Told at each prompt of a session whose folders were removed. The path is the hook's own argument. */
export function folderGoneText(folder: string): string {
  return (
    `${MARK} Of this session ${folder} no longer exists, so deaddrop cannot work here. ` +
    "Tell the user: the session has to be started again with folders that exist."
  );
}

/** Two sessions speak for one agent. */
export function otherSessionText(tools: readonly string[]): string {
  return (
    `${MARK} Another session of this same agent is open (${tools.join(", ")}). ` +
    "Both read one inbox; only one of them is woken. Tell the user."
  );
}

function senders({ from }: MailView): string {
  const most = from.toSorted((a, b) => b.count - a.count);
  const named = most
    .slice(0, MAX_HANDLES)
    .map(({ handle, count }) => `${count} from ${shortHandle(handle)}`);
  const rest = most.slice(MAX_HANDLES);
  const others = rest.reduce((sum, { count }) => sum + count, 0);
  return [...named, ...(rest.length > 0 ? [`${others} from ${rest.length} others`] : [])].join(
    ", ",
  );
}

function howToRead(me: string): string {
  return `Read it with the deaddrop tool \`inbox\`, or with \`deaddrop inbox --unread --as ${me}\`.`;
}

function shortHandle(handle: string): string {
  return handle.length <= MAX_HANDLE ? handle : `${handle.slice(0, MAX_HANDLE - 1)}…`;
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

function ageText(ageMs: number): string {
  const minutes = Math.max(0, Math.floor(ageMs / MINUTE_MS));
  if (minutes < 1) return "just now";
  return minutes < 120 ? `${minutes} min old` : `${Math.floor(minutes / 60)} h old`;
}
