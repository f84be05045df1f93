import { fromPlain } from "../../../wire/json/json.ts";
import type { JsonValue } from "../../../wire/json/json-value.ts";
import type { Priority } from "../../../wire/message.ts";
import { prepareMessage, WRITABLE_TYPES } from "../../../sending/message.ts";
import { prepareReply, REPLY_TYPES } from "../../../sending/reply.ts";
import type { Extras } from "../../../sending/prepared.ts";
import { choice, flag, object, text, texts } from "../schema.ts";
import { REQUEST_KEY, say, type Repeatable } from "../say.ts";
import { tool } from "../tool.ts";

interface Words extends Repeatable {
  body: string;
  type?: string;
  subject?: string;
  to?: string[];
  refs?: string[];
  priority?: Priority;
  on_behalf?: string;
}

/** What is sent in a way of its own; a ship names files by a digest, which its command takes. */
const OWN_TOOLS = [
  "ship",
  "proposal",
  "claim",
  "release",
  "incident",
  "ack",
  "correction",
  "shutdown",
];
const PLAIN_TYPES = WRITABLE_TYPES.filter((type) => !OWN_TOOLS.includes(type));
const TO = texts('handles, or "*" for all; in a pair the peer');
const ON_BEHALF = text("the subagent that says it: a note, never an identity");
const PRIORITY = choice(["low", "medium", "high"]);

/** Saying something, and answering in a thread. Spec 8.1. */
export const MESSAGE_TOOLS = [
  tool<Words & { subject: string; thread?: string; ack_required?: boolean }>({
    name: "send_message",
    description:
      "Sends a signed message to peers. sent and queued both mean stored: do not send it again. For decisions use propose, for a yes or no use request.",
    input: object(
      {
        subject: text('in a few words; "urgent:" before it raises its priority'),
        body: text(),
        to: TO,
        type: choice(PLAIN_TYPES, "default feedback"),
        thread: text("id of a message: goes into its thread"),
        refs: texts("paths or git:<sha>"),
        priority: PRIORITY,
        ack_required: flag(),
        on_behalf: ON_BEHALF,
        ...REQUEST_KEY,
      },
      "subject",
      "body",
    ),
    effect: "sends",
    answersFacts: true,
    run: (call, args) => {
      const { subject, to, thread, type = "feedback", ack_required: ackRequired } = args;
      const extras = { ...extrasOf(args), ...(ackRequired === true ? { ackRequired } : {}) };
      const about = { type, subject, body: bodyOf(args), to, thread, extras };
      return say(call, args, () => prepareMessage(call.client, about));
    },
  }),
  tool<Words & { id: string }>({
    name: "reply",
    description:
      "Answers in the thread of a message, to its author. It settles nothing that asks for a yes or no: accept, reject, counter and respond do.",
    input: object(
      {
        id: text(),
        body: text(),
        subject: text(),
        to: TO,
        type: choice(REPLY_TYPES, "default feedback"),
        refs: texts(),
        priority: PRIORITY,
        on_behalf: ON_BEHALF,
        ...REQUEST_KEY,
      },
      "id",
      "body",
    ),
    effect: "sends",
    answersFacts: true,
    run: (call, args) => {
      const { id, type = "feedback", subject, to } = args;
      const about = { type, body: bodyOf(args), subject, to, extras: extrasOf(args) };
      return say(call, args, () => prepareReply(call.client, id, about));
    },
  }),
];

function extrasOf({ refs, priority }: Words): Extras {
  return {
    ...(refs === undefined ? {} : { refs }),
    ...(priority === undefined ? {} : { priority }),
  };
}

function bodyOf({ body, on_behalf: behalf }: Words): JsonValue {
  return behalf === undefined ? body : fromPlain({ text: body, on_behalf: behalf });
}
