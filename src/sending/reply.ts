import type { Client } from "../api/client.ts";
import type { JsonValue } from "../wire/json/json-value.ts";
import { replyNote } from "./ended.ts";
import { answerSubject, answerTo, parentOf, subjectWith } from "./naming/parent.ts";
import { withParties, recipients } from "./naming/recipients.ts";
import { requestToUs, wantsAnswer } from "./naming/request-named.ts";
import type { Extras, Prepared } from "./prepared.ts";
import { withState } from "./words/opening.ts";

/** What a reply can be. */
export const REPLY_TYPES = ["feedback", "request", "warning", "decision"] as const;

export interface Reply {
  readonly type: string;
  readonly body: JsonValue;
  /** What it is about; what it answers is added. */
  readonly subject?: string | undefined;
  /** Whom it goes to; the author of what it answers unless given. */
  readonly to?: readonly string[] | undefined;
  readonly state?: string | undefined;
  readonly extras: Extras;
}

/**
 * A message in the thread of another. It answers a request; of a proposal or an incident it says
 * that it does not. Spec 3.3.
 */
export async function prepareReply(client: Client, id: string, about: Reply): Promise<Prepared> {
  const stated = withState(about.type, about.body, about.state);
  const parent = await parentOf(client, id);
  const request = await requestToUs(client, parent);
  if (request !== undefined && request.status === "pending") throw wantsAnswer(request);
  const { subject: own, type } = about;
  const to = await recipients(client, about.to ?? answerTo(parent, client));
  return {
    draft: {
      to,
      type,
      subject: own === undefined ? answerSubject("re", parent) : subjectWith(own, "re", parent),
      body: await withParties(client, { type, to, body: stated }),
      correlationId: parent.correlation_id,
      ...about.extras,
    },
    answers: parent,
    note: await replyNote(client, parent),
  };
}
