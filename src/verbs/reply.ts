import { replyNote } from "./ended.ts";
import { EXTRAS, extrasOf, ID, SUBJECT_OPTION, TO } from "./fields.ts";
import { answerSubject, answerTo, parentOf, subjectWith } from "./naming/parent.ts";
import { withParties, recipients } from "./naming/recipients.ts";
import { requestToUs, wantsAnswer } from "./naming/request-named.ts";
import { body, choice, text, verb } from "./verb.ts";
import { neededBody, withState } from "./words/opening.ts";

const TYPES = ["feedback", "request", "warning", "decision"] as const;

/**
 * A message in the thread of another. It answers a request; of a proposal or an incident it says
 * that it does not. Spec 3.3.
 */
export const reply = verb({
  about:
    "Answers in the thread of a message, to its author unless --to says otherwise. It settles a " +
    "request; a proposal is settled by accept, reject or counter, anything else by ack.",
  fields: {
    id: ID,
    body: body("what you have to say"),
    subject: SUBJECT_OPTION,
    type: { ...choice(TYPES, "--type <type>", "the message's type"), default: "feedback" },
    state: text("--state <line>", "the line of state that a warning or long request opens with"),
    to: TO,
    ...EXTRAS,
  },
  needs: ["id"],
  examples: ['deaddrop reply 4f2a91 "Yes, from Monday on."'],
  async prepare({ client }, args) {
    const { type, subject: own } = args;
    const stated = withState(type, neededBody(args.body), args.state);
    const parent = await parentOf(client, args.id);
    const request = await requestToUs(client, parent);
    if (request !== undefined && request.status === "pending") throw wantsAnswer(request);
    const to = await recipients(client, args.to ?? answerTo(parent, client));
    return {
      draft: {
        to,
        type,
        subject: own === undefined ? answerSubject("re", parent) : subjectWith(own, "re", parent),
        body: await withParties(client, { type, to, body: stated }),
        correlationId: parent.correlation_id,
        ...extrasOf(args),
      },
      answers: parent,
      note: await replyNote(client, parent),
    };
  },
});
