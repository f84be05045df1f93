import type { Client } from "../api/client.ts";
import { textsField } from "../protocol/body.ts";
import { decisionWords } from "../wire/decision-words.ts";
import { MESSAGE_TYPES } from "../wire/kinds.ts";
import type { JsonValue } from "../wire/json/json-value.ts";
import { threadNamed } from "./naming/parent.ts";
import { withParties, recipients } from "./naming/recipients.ts";
import type { Extras, Prepared } from "./prepared.ts";
import { decisionFields, withSuperseded } from "./proposal.ts";
import { withState } from "./words/opening.ts";

/** Heartbeats, cards and announcements are the daemon's own words. */
const DAEMON_TYPES = new Set(["heartbeat", "agent_card", "trust_tier_announcement"]);

/** The types that an agent may write. Spec 1.3. */
export const WRITABLE_TYPES: readonly string[] = MESSAGE_TYPES.filter(
  (name) => !DAEMON_TYPES.has(name),
);

export interface Message {
  readonly type: string;
  readonly subject: string;
  readonly body: JsonValue;
  /** Handles, or `*`; in a pair the peer unless given. */
  readonly to?: readonly string[] | undefined;
  /** A message of the thread that it goes into, or that thread's correlation id. */
  readonly thread?: string | undefined;
  /** The line of state that it opens with. Spec 1.2. */
  readonly state?: string | undefined;
  readonly extras: Extras;
}

/** The body of a proposal, with all that `propose` writes and checks. */
export async function proposalBody(
  client: Client,
  subject: string,
  reasons: JsonValue,
  to: readonly string[],
): Promise<JsonValue> {
  const body = decisionFields({ subject, reasons });
  return withSuperseded(client, body, textsField(body, "required") ?? to);
}

/** One message of any type that an agent may write. Spec 1.2, 8.6. */
export async function prepareMessage(client: Client, about: Message): Promise<Prepared> {
  const { type, subject, extras } = about;
  const stated = withState(type, about.body, about.state);
  const isProposal = type === "proposal";
  const to = await recipients(client, about.to);
  const asked = await withParties(client, { type, to, body: stated });
  const body = isProposal ? await proposalBody(client, subject, asked, to) : asked;
  const thread = about.thread === undefined ? undefined : await threadNamed(client, about.thread);
  return {
    draft: {
      to,
      type,
      subject,
      body,
      ...extras,
      ...(thread === undefined ? {} : { correlationId: thread.correlationId }),
      ...(isProposal ? { ackRequired: true } : {}),
    },
    answers: thread?.continues,
    decides: isProposal ? decisionWords(subject, body) : undefined,
  };
}
