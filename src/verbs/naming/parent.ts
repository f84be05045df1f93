import type { Client } from "../../api/client.ts";
import { DeaddropError } from "../../api/errors.ts";
import type { ResolvedId } from "../../api/views.ts";
import { firstCodePoints } from "../../wire/json/code-points.ts";
import { MAX_SUBJECT_CODE_POINTS, MIN_ID_PREFIX } from "../../wire/limits.ts";
import { quote } from "../../wire/quote.ts";
import { sanitise } from "../../framing/sanitise.ts";
import { shortId } from "../../framing/short-id.ts";

/** The message that another one answers. */
export type Parent = ResolvedId;

const LIKE_AN_ID = /^[0-9a-f]{6,64}$/i;
/** What our own replies begin with, so that a long conversation does not pile it up. */
const REPLY_TO = /^(?:re: (?:[A-Za-z0-9][A-Za-z0-9._-]{0,127}'s [a-z_]+(?::[0-9]+)?: )?)+/i;

/** The help of an argument that names a message. */
export const MESSAGE_ID = "event id, or a prefix of it of 6 characters or more; last: the newest";

/**
 * The message named by event id or unique prefix of it, never by correlation id (spec 8.6). Throws
 * DeaddropError `unknown_id` or `ambiguous_id`.
 */
export async function parentOf(client: Client, name: string, of?: "ours"): Promise<Parent> {
  const id = isNewest(name) ? await newestId(client, of) : name.replace(/^#/, "");
  try {
    return await client.view("resolve_id", { id });
  } catch (error) {
    const short = id.length < MIN_ID_PREFIX && /^[0-9a-f]+$/.test(id);
    if (!short || !(error instanceof DeaddropError) || error.code !== "unknown_id") throw error;
    throw new DeaddropError("unknown_id", error.message, {
      hint: `a part of an event id needs at least ${MIN_ID_PREFIX} characters`,
    });
  }
}

/** Whether a name stands for the newest message: of those that have come, or of `ours`. */
export function isNewest(name: string): boolean {
  return name === "last" || name === "latest";
}

async function newestId(client: Client, of: "ours" | undefined): Promise<string> {
  if (of === "ours") {
    const [newest] = await client.view("sent", { limit: 1 });
    if (newest !== undefined) return newest.event_id;
    throw new DeaddropError("unknown_id", "you have sent nothing yet");
  }
  const { messages } = await client.view("inbox", { newest: true, limit: 1 });
  const [newest] = messages;
  if (newest !== undefined) return newest._meta.id;
  throw new DeaddropError("unknown_id", "no message has been received yet", {
    hint: "last is the newest message in the inbox; `deaddrop sent` lists what you sent",
  });
}

/**
 * What binds needs the id of what is answered: by `last` somebody would agree to what has just come,
 * unread. Throws DeaddropError with the ids that wait for an answer of ours.
 */
export async function refuseNewest(client: Client, name: string): Promise<void> {
  if (!isNewest(name)) return;
  const meant = await idsToAnswer(client);
  throw new DeaddropError("usage", `an answer that binds takes an id, not "${name}"`, {
    hint: meant.length === 0 ? "nothing waits for your answer" : "read it first: deaddrop pending",
    instead: { given: name, meant },
  });
}

/** The proposals and requests that wait for an answer of ours, the oldest first. */
export async function idsToAnswer(client: Client): Promise<readonly string[]> {
  const owed = await client.view("pending");
  const asked = owed.filter(
    ({ owed_by: by, type }) => by === client.handle && ["proposal", "request"].includes(type),
  );
  return asked.map(({ event_id: id }) => shortId(id));
}

/** The same, for a command that answers incidents alone. */
export async function incidentNamed(client: Client, id: string): Promise<Parent> {
  const parent = await parentOf(client, id);
  if (parent.type === "incident") return parent;
  throw new DeaddropError("refused", `${id} is no incident: it is ${aboutParent(parent)}`, {
    hint: "`deaddrop incident list` shows the incidents",
  });
}

/** Where a message with `--thread` goes. */
export interface NamedThread {
  readonly correlationId: string;
  /** The message by which the thread was named. */
  readonly continues: Parent | undefined;
}

/**
 * The thread that `--thread` names: by a message in it, as everywhere, or by its correlation id as
 * it is. What could be an event id is taken for one and never for a correlation id. Spec 8.6.
 */
export async function threadNamed(client: Client, name: string): Promise<NamedThread> {
  if (!LIKE_AN_ID.test(name)) {
    await requireThread(client, name);
    return { correlationId: name, continues: undefined };
  }
  const continues = await parentOf(client, name);
  return { correlationId: continues.correlation_id, continues };
}

/** A mistyped name would begin a thread that nobody looks for. Throws DeaddropError `unknown_id`. */
async function requireThread(client: Client, name: string): Promise<void> {
  try {
    await client.view("thread", { id: name });
  } catch (error) {
    if (!(error instanceof DeaddropError) || error.code !== "unknown_id") throw error;
    throw new DeaddropError("unknown_id", `not sent: no thread here is named ${quote(name)}`, {
      hint: "to write into a thread, name one of its messages by 6 or more characters of its id (deaddrop inbox, deaddrop sent); to begin a new one, leave the thread out",
      cause: error,
    });
  }
}

/** Whom an answer goes to: the author; for our own message those whom it went to. */
export function answerTo(parent: Parent, client: Client): string[] {
  if (parent.from !== client.handle) return [parent.from];
  return parent.to.filter((handle) => handle !== client.handle);
}

/** Author, type and subject: what is shown with every answer that is signed. Spec 8.6. */
export function aboutParent({ from, type, subject }: Parent): string {
  return `${from}'s ${type}: ${sanitise(subject)}`;
}

/** "ack: scribe's proposal: …", within what a subject may have. */
export function answerSubject(word: string, parent: Parent): string {
  const subject = word === "re" ? parent.subject.replace(REPLY_TO, "") : parent.subject;
  return cutSubject(`${word}: ${aboutParent({ ...parent, subject })}`);
}

/** A subject of one's own, followed by what it answers as far as there is room. */
export function subjectWith(own: string, word: string, parent: Parent): string {
  if (own.trim() === "") {
    throw new DeaddropError("usage", "the subject is empty", {
      hint: "leave --subject out, and the subject of what you answer is used",
    });
  }
  const whole = `${own} (${answerSubject(word, parent)})`;
  return Array.from(own).length > MAX_SUBJECT_CODE_POINTS ? own : cutSubject(whole);
}

/** What fits into a subject. */
export function cutSubject(text: string): string {
  return firstCodePoints(text, MAX_SUBJECT_CODE_POINTS);
}
