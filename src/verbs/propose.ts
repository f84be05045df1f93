import type { Client } from "../api/client.ts";
import { DeaddropError } from "../api/errors.ts";
import { slug } from "../protocol/asks/record.ts";
import { textField } from "../protocol/body.ts";
import { decisionWords } from "../wire/decision-words.ts";
import { definedFields } from "../wire/defined-fields.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../wire/json/json-value.ts";
import { proposalOf, refuseEnded } from "./ended.ts";
import { ANYWAY, EXTRAS, extrasOf, TO } from "./fields.ts";
import { cutSubject, parentOf, refuseNewest, subjectWith, type Parent } from "./naming/parent.ts";
import { peersOf, recipients } from "./naming/recipients.ts";
import { withNote, type Prepared } from "./prepared.ts";
import { pathsGiven } from "./project.ts";
import { body, text, texts, verb, type ArgumentsOf, type Speaker } from "./verb.ts";
import { bodyFields } from "./words/opening.ts";
import { dueInstant } from "./words/times.ts";

const FIELDS = {
  subject: text(
    "[subject] --subject <text>",
    "what is to be decided: recorded as it is, unless --decision words it",
  ),
  reasons: body("the reasons, which are not recorded", "never recorded"),
  required: texts(
    "--required <handle>",
    "whose ack it takes (repeatable; in a pair the peer)",
    "who must agree",
  ),
  domains: texts("--domain <name>", "a domain that it touches (repeatable)"),
  paths: texts("--path <pattern>", "paths that it touches (repeatable)"),
  decision: text(
    "--decision <text>",
    "the words that are recorded (else the subject; never the body)",
    "the exact words that are recorded",
  ),
  decision_id: text("--decision-id <id>", "a name for the decision (else a slug of the subject)"),
  supersedes: text(
    "--supersedes <id>",
    "the decision that it replaces: its id, its proposal's, or a unique prefix",
    "id of a decision",
  ),
  due: text(
    "--due <when>",
    "until when to answer: 30m, 4h, 2d or a time (else 30 min from reading)",
    "30m, 2d or a time",
  ),
  ...EXTRAS,
};
type Proposal = ArgumentsOf<typeof FIELDS & { to: typeof TO }, never>;

/** Asks for a decision. Spec 3.4.1, "Asking". */
export const propose = verb({
  about:
    "Proposes a decision. Once every required party has agreed, decisions.jsonl records the words of " +
    "--decision, else the subject; never the body.",
  fields: { to: { ...TO, spelling: "[peer] --to <handle>" }, ...FIELDS },
  needs: [],
  examples: [
    'deaddrop propose "Format v3.1 is frozen until May." "Others build on it now."',
    'deaddrop propose "docs" --decision "The docs move to site/." --path "docs/**" --required scribe',
  ],
  async prepare(by, args) {
    return preparing(by, args, await recipients(by.client, args.required ?? args.to));
  },
});

/** Another proposal in the thread of a peer's. Spec 3.4. */
export const counter = verb({
  about:
    "Answers a proposal with another one. It needs those whom the first one needed, and its " +
    "proposer, unless --required says otherwise. What is recorded when all agree are the words of " +
    "--decision, else the subject; never the body.",
  fields: {
    id: text("<id>", "the proposal: event id, or a prefix of it of 6 characters or more"),
    ...FIELDS,
    subject: text(
      "[subject] --subject <text>",
      "what is to be decided instead: recorded as it is, unless --decision words it",
    ),
    to: TO,
    anyway: ANYWAY,
  },
  needs: ["id"],
  examples: ['deaddrop counter 4f2a91 "freeze it until March" "April is too late for us."'],
  async prepare(by, args) {
    const { client } = by;
    const parent = await proposalNamed(client, args.id);
    await refuseEnded(client, parent, args.anyway === true);
    const required = await recipients(client, args.required ?? (await parties(client, parent)));
    return { ...(await preparing(by, args, required, parent)), answers: parent };
  },
});

/** `body.required` names whom it needs, each by its handle. Spec 3.4. */
async function preparing(
  by: Speaker,
  args: Proposal,
  named: readonly string[],
  counters?: Parent,
): Promise<Prepared> {
  const { client, nowMs } = by;
  const { decision, reasons = "", domains, decision_id, supersedes } = args;
  const subject = args.subject ?? (decision === undefined ? undefined : cutSubject(decision));
  if (subject === undefined || subject.trim() === "") {
    throw new DeaddropError(
      "usage",
      subject === undefined ? "no subject" : "the subject is empty",
      {
        hint: 'say what is to be decided: deaddrop propose "decision" "reasons"',
      },
    );
  }
  const { paths, note } = pathsGiven(by, args.paths ?? []);
  const required = named.includes("*") ? await peersOf(client) : named;
  const fields = {
    ...decisionFields({ subject, reasons, decision }),
    ...definedFields({
      domains,
      paths: args.paths && [...paths],
      decision_id,
      supersedes,
      due: args.due === undefined ? undefined : dueInstant(args.due, nowMs),
    }),
    required,
  };
  const body = await withSuperseded(client, fields, required);
  const draft = {
    to: args.to === undefined ? required : await recipients(client, args.to),
    type: "proposal",
    subject,
    body,
    ...extrasOf(args),
    ackRequired: true,
    ...(counters === undefined ? {} : counterFields(subject, body, counters)),
  };
  return withNote({ draft, decides: decisionWords(draft.subject, draft.body) }, note);
}

/** What it counters is in its subject, but not in the words and the name that are recorded. */
function counterFields(subject: string, body: JsonObject, counters: Parent) {
  return {
    subject: subjectWith(subject, "counter", counters),
    body: { decision_id: slug(subject), ...body, counters: counters.place },
    correlationId: counters.correlation_id,
  };
}

/** A proposal of a peer. */
async function proposalNamed(client: Client, id: string): Promise<Parent> {
  await refuseNewest(client, id);
  const parent = await parentOf(client, id);
  if (parent.type !== "proposal") {
    throw new DeaddropError("refused", `that is a ${parent.type}, not a proposal`, {
      hint: "`deaddrop proposals` lists them; `deaddrop reply` answers any message",
    });
  }
  if (parent.from !== client.handle) return parent;
  throw new DeaddropError("refused", "that proposal is your own", {
    hint: "propose again in its thread with `deaddrop send --type proposal --thread …`, or take it back with `deaddrop correct <id> --revert`",
  });
}

async function parties(client: Client, parent: Parent): Promise<string[]> {
  const countered = await proposalOf(client, parent);
  // One that memory has dropped still says whom it was addressed to.
  const all = new Set([parent.from, ...(countered?.required ?? parent.to)]);
  return [...all].filter((handle) => handle !== client.handle);
}

/**
 * The reasons, and always the words to be recorded: `decision`, else the subject, never the reasons.
 * Only a JSON object may word the decision itself, in its field `decision`.
 */
export function decisionFields({
  subject,
  reasons,
  decision,
}: {
  readonly subject: string;
  readonly reasons: JsonValue;
  readonly decision?: string | undefined;
}): JsonObject {
  if (!isJsonObject(reasons) && typeof reasons !== "string") {
    throw new DeaddropError("usage", "a proposal's body is text or a JSON object");
  }
  const fields = bodyFields(reasons);
  const words = decision ?? textField(fields, "decision") ?? subject;
  if (words.trim() === "") {
    throw new DeaddropError("usage", "the decision is empty, so nothing was sent", {
      hint: "word it with --decision, or leave that out: the subject is recorded then",
    });
  }
  return { ...fields, decision: words };
}

/** Names the decision that it supersedes by its id, however it was named. */
export async function withSuperseded(
  client: Client,
  body: JsonObject,
  parties: readonly string[],
): Promise<JsonObject> {
  const named = textField(body, "supersedes");
  if (named === undefined) return body;
  const { supersededId } = await import("./naming/decision-named.ts");
  return { ...body, supersedes: await supersededId(client, named, parties) };
}
