import { DeaddropError } from "../../api/errors.ts";
import { shortId } from "../../framing/short-id.ts";
import { say, type Said } from "../../verbs/say.ts";
import type { Prepared } from "../../verbs/prepared.ts";
import { asCalls } from "./call-words.ts";
import { text } from "./schema.ts";
import type { Call, ToolAnswer } from "./tool.ts";

/** What every tool that sends takes besides; what it is for is said once, in the instructions. Spec 8.1. */
export const REQUEST_KEY = { request_key: text() };
const MAX_KEY_CHARACTERS = 128;

const ADVICE = "stored and on its way; do not send it again";

interface KeyedArguments {
  readonly request_key?: string | undefined;
  readonly [name: string]: unknown;
}

/** Sends what is prepared, and answers the facts of it. */
export async function saying(
  call: Call,
  { request_key: key, ...args }: KeyedArguments,
  prepare: () => Promise<Prepared>,
): Promise<ToolAnswer> {
  const { client, tool: name } = call;
  if (key !== undefined && key.length > MAX_KEY_CHARACTERS) {
    throw new DeaddropError("usage", `${name}: request_key must have at most 128 characters`);
  }
  return { facts: factsOf(client.handle, await say(call, { name, args, key }, prepare)) };
}

/** No word of a peer: of what is answered not even the subject. What is undefined is left out as JSON. */
function factsOf(from: string, said: Said): object {
  const { outcome, messages, answers, note } = said;
  return {
    ...{ outcome, from },
    messages: messages.map(({ event_id, to }) => ({ id: shortId(event_id), to })),
    advice: ADVICE,
    repeated: said.repeated || undefined,
    parks: said.parks || undefined,
    paused: said.paused,
    not_published_yet: said.unpublished,
    not_woken: said.not_woken,
    waits_for_comparison_of_digits_at: said.awaits_comparison,
    will_be_refused_by: said.refused_by,
    answers: answers && { id: shortId(answers.event_id), from: answers.from, type: answers.type },
    // What it agrees to is a peer's words: pending, inbox and thread show them in a frame.
    recorded_when_all_agree: said.decides,
    note: note === undefined ? undefined : asCalls(note),
  };
}
