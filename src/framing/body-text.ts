import type { PlainMessage } from "../api/views.ts";
import { decisionWords } from "../wire/decision-words.ts";
import { shortId } from "./short-id.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Fields that name messages: they are shown as far as a command needs them. */
const ID_FIELDS: ReadonlySet<string> = new Set(
  "about acks after answers corrects counters decides ends escalates leaves resolves resumes supersedes".split(
    " ",
  ),
);
const EVENT_ID = /^[0-9a-f]{64}$/;

/**
 * A body as people and models read it: text as it is, an object in words, a field on a line. What
 * acks, cards, announcements and heartbeats say is one sentence. A proposal begins with the words
 * that are recorded when all agree. The text may hold any character.
 */
export function bodyText({
  type,
  subject,
  body,
}: Pick<PlainMessage, "type" | "subject" | "body">): string {
  if (type === "proposal") return proposalText(subject, body);
  if (typeof body === "string") return body;
  if (body === null || body === undefined) return "";
  if (!isObject(body)) return JSON.stringify(body);
  const sentence = SENTENCES[type ?? ""]?.(body);
  return sentence ?? fieldLines(body);
}

const SENTENCES: Readonly<Record<string, (body: Fields) => string | undefined>> = {
  ack: ackText,
  correction: closeText,
  agent_card: ({ name, handle, issued_at: issued }) =>
    `the card of ${words(name ?? handle ?? "an agent")}${issued === undefined ? "" : `, of ${words(issued)}`}`,
  trust_tier_announcement: ({ about, tier }) =>
    about === undefined || tier === undefined
      ? undefined
      : `${words(about)} has the tier ${words(tier)} at the sender`,
  heartbeat: ({ state, last_action: last }) =>
    `${words(state ?? "alive")}${last === undefined || last === null ? "" : `, last: ${words(last)}`}`,
};

function proposalText(subject: string, body: unknown): string {
  const decides = fieldText("decides", decisionWords(subject, body));
  if (!isObject(body)) return decides;
  const { decision: _recorded, text, ...rest } = body;
  const reasons = text === undefined || text === "" ? [] : [fieldText("reasons", words(text))];
  return [decides, ...reasons, ...linesOf(rest)].join("\n");
}

/** Which message it answers, and how; then what else it says. */
function ackText(body: Fields): string | undefined {
  const { acks, answers, about, approve, reason, ...rest } = body;
  const named = acks ?? answers ?? about;
  if (named === undefined && approve === undefined) return undefined;
  const verb = approve === true ? "agrees to" : approve === false ? "rejects" : "has seen";
  const what = words(shortIds(named ?? "the thread"));
  return [`${verb} ${what}${because(reason)}`, ...linesOf(rest)].join("\n");
}

/** What was asked, and what became of it; `answers` proves it, and says nothing to a reader. */
function closeText(body: Fields): string | undefined {
  const { decides, outcome, of, answers: _proof, reason, ...rest } = body;
  if (decides === undefined || outcome === undefined) return undefined;
  const party = of === undefined ? "" : ` for ${words(of)}`;
  const what = `${words(shortIds(decides))} is ${words(outcome)}${party}`;
  return [`${what}${because(reason)}`, ...linesOf(rest)].join("\n");
}

function because(reason: unknown): string {
  return reason === undefined || reason === "" ? "" : `: ${words(reason)}`;
}

function fieldLines(body: Fields): string {
  return linesOf(body).join("\n");
}

function linesOf(body: Fields): string[] {
  return Object.entries(body).map(([name, value]) => {
    const text = words(ID_FIELDS.has(name) ? shortIds(value) : value);
    return name === "text" ? text : fieldText(name, text);
  });
}

/** Of a place its id is what a command takes. */
function shortIds(value: unknown): unknown {
  if (Array.isArray(value)) return isPlace(value) ? shortIds(value[2]) : value.map(shortIds);
  return typeof value === "string" && EVENT_ID.test(value) ? shortId(value) : value;
}

function isPlace(value: readonly unknown[]): boolean {
  return value.length === 3 && typeof value[0] === "string" && typeof value[2] === "string";
}

function fieldText(name: string, text: string): string {
  return text.includes("\n") ? `${name}:\n${text}` : `${name}: ${text}`;
}

/** Text as it is, a list of text with commas, anything else as JSON. */
function words(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value) && value.every((item) => typeof item === "string")) {
    return value.join(", ");
  }
  return JSON.stringify(value);
}

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
