import type { Client } from "../api/client.ts";
import { DeaddropError } from "../api/errors.ts";
import { textsField } from "../protocol/body.ts";
import { decisionWords } from "../wire/decision-words.ts";
import { MESSAGE_TYPES } from "../wire/kinds.ts";
import { isJsonObject, type JsonValue } from "../wire/json/json-value.ts";
import { EXTRAS, extrasOf, TO } from "./fields.ts";
import { cutSubject, threadNamed } from "./naming/parent.ts";
import { withParties, recipients } from "./naming/recipients.ts";
import { decisionFields, withSuperseded } from "./propose.ts";
import { body, choice, text, verb } from "./verb.ts";
import { withState } from "./words/opening.ts";

/** Heartbeats, cards and announcements are the daemon's own words. */
const DAEMON_TYPES = new Set(["heartbeat", "agent_card", "trust_tier_announcement"]);
/** The types that an agent may write. Spec 1.3. */
const TYPES: readonly string[] = MESSAGE_TYPES.filter((name) => !DAEMON_TYPES.has(name));

/** One message, of any type that an agent may write. Spec 1.2, 8.6. */
export const send = verb({
  about:
    "Sends a message. The body is the argument, a file, or what is piped in. " +
    "A first word that is an agent's handle, or all, is the recipient. " +
    "Answers `sent` once the message is stored; publishing it is retried until it succeeds.",
  fields: {
    to: { ...TO, spelling: "[peer] --to <handle>" },
    subject: text(
      "[subject] --subject <text>",
      'what it is about; the prefix "urgent:" raises its priority',
    ),
    body: body("what you have to say"),
    type: { ...choice(TYPES, "--type <type>", "the message's type"), default: "feedback" },
    thread: {
      ...text("--thread <id>", "write into the thread of this message, or of this correlation id"),
      aliases: ["correlation_id", "reply_to"],
    },
    state: text(
      "--state <line>",
      "the line of state that a ship, warning or long request opens with",
    ),
    ...EXTRAS,
  },
  needs: [],
  examples: [
    'deaddrop send scribe "tests are green" "All 212 pass on main." --ref git:4f2a91c',
    'deaddrop send all --type request "review, please" --body-file notes.md --wait read',
  ],
  async prepare({ client }, args) {
    const { type, body: said = "" } = args;
    const subject = subjectOf(args.subject, said);
    const stated = withState(type, said, args.state);
    const isProposal = type === "proposal";
    const to = await recipients(client, args.to);
    const asked = await withParties(client, { type, to, body: stated });
    const body = isProposal ? await proposalBody(client, subject, asked, to) : asked;
    const thread = args.thread === undefined ? undefined : await threadNamed(client, args.thread);
    return {
      draft: {
        to,
        type,
        subject,
        body,
        ...extrasOf(args),
        ...(thread === undefined ? {} : { correlationId: thread.correlationId }),
        ...(isProposal ? { ackRequired: true } : {}),
      },
      answers: thread?.continues,
      decides: isProposal ? decisionWords(subject, body) : undefined,
    };
  },
});

/** The subject, else the first line of what is said. Throws DeaddropError when there is neither. */
export function subjectOf(subject: string | undefined, said: JsonValue): string {
  if (subject !== undefined && subject.trim() !== "") return subject;
  const words = isJsonObject(said) ? said["text"] : said;
  const [line = ""] = typeof words === "string" ? words.trim().split("\n", 1) : [];
  if (subject === undefined && line !== "") return cutSubject(line);
  throw new DeaddropError("usage", subject === undefined ? "no subject" : "the subject is empty", {
    hint: 'say in a few words what it is about: deaddrop … "subject" "body"',
  });
}

/** The body of a proposal, with all that `propose` writes and checks. */
async function proposalBody(
  client: Client,
  subject: string,
  reasons: JsonValue,
  to: readonly string[],
): Promise<JsonValue> {
  const body = decisionFields({ subject, reasons });
  return withSuperseded(client, body, textsField(body, "required") ?? to);
}
