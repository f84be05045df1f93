import type { RequestKey, SendAnswer } from "../../api/client.ts";
import { canonicalText, sha256Hex } from "../../wire/canonical.ts";
import { fromPlain } from "../../wire/json/json.ts";
import type { Prepared } from "../../sending/prepared.ts";
import { shortId } from "../../framing/short-id.ts";
import { text, type Schema } from "./schema.ts";
import type { Call, ToolAnswer } from "./tool.ts";

/** What every tool that sends takes besides. Spec 8.1. */
export interface Repeatable {
  request_key?: string;
}

/** The argument of it. */
export const REQUEST_KEY: Readonly<Record<string, Schema>> = {
  request_key: { ...text("makes a repeated call safe: sent once in 24 h"), maxLength: 128 },
};

/**
 * Prepares a message and sends it, once: a call that repeats the key of another one is answered as
 * that was, before anything is looked at that may have changed since. Spec 8.1.
 */
export async function say(
  call: Call,
  args: object & Repeatable,
  prepare: () => Promise<Prepared>,
): Promise<ToolAnswer> {
  const { client } = call;
  const key = keyOf(call, args);
  if (key !== undefined) {
    const before = await client.ask("answered", { key });
    if (before !== null) return { facts: sentFacts(call, before) };
  }
  const { draft, note, answers } = await prepare();
  const sent = await client.ask("send", { drafts: [draft], ...(key === undefined ? {} : { key }) });
  const answered =
    answers === undefined
      ? {}
      : { answers: { id: shortId(answers.event_id), from: answers.from, type: answers.type } };
  return {
    facts: { ...sentFacts(call, sent), ...answered, ...(note === undefined ? {} : { note }) },
  };
}

/** The key names the whole call: a tool, who calls it, and all other arguments. */
function keyOf(
  { tool, client }: Call,
  { request_key: name, ...args }: object & Repeatable,
): RequestKey | undefined {
  if (name === undefined || name === "") return undefined;
  const asked = canonicalText(fromPlain({ tool, from: client.handle, args }));
  return { name, digest: sha256Hex(Buffer.from(asked, "utf8")) };
}

const ADVICE = {
  sent: "stored and on its way; do not send it again",
  queued: "stored here, and goes out by itself: do not send it again",
} as const;

function sentFacts({ client }: Call, sent: SendAnswer): object {
  const { outcome, messages, repeated, parks, paused, refused_by: refusedBy } = sent;
  return {
    outcome,
    from: client.handle,
    messages: messages.map(({ event_id, to }) => ({ id: shortId(event_id), to })),
    advice: ADVICE[outcome],
    ...(repeated === true ? { repeated } : {}),
    ...(parks === true ? { parks } : {}),
    ...(paused === undefined ? {} : { paused }),
    ...(refusedBy === undefined ? {} : { will_be_refused_by: refusedBy }),
  };
}
