import type { Client } from "../api/client.ts";
import { DeaddropError } from "../api/errors.ts";
import { slug } from "../protocol/asks/record.ts";
import { textField } from "../protocol/body.ts";
import type { Draft } from "../wire/compose.ts";
import { decisionWords } from "../wire/decision-words.ts";
import { definedFields } from "../wire/defined-fields.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../wire/json/json-value.ts";
import { proposalOf, refuseEnded } from "./ended.ts";
import { parentOf, subjectWith, type Parent } from "./naming/parent.ts";
import { peersOf, recipients } from "./naming/recipients.ts";
import type { Extras, Prepared } from "./prepared.ts";
import { bodyFields } from "./words/opening.ts";
import { dueInstant } from "./words/times.ts";

export interface Proposal {
  /** What is to be decided, in the words that are recorded unless `decision` has others. */
  readonly subject: string;
  /** Why: text, or a JSON object with fields of its own. Never what is decided. */
  readonly reasons: JsonValue;
  readonly to?: readonly string[] | undefined;
  /** Whose ack it takes: handles, or `*` for every peer. */
  readonly required?: readonly string[] | undefined;
  readonly domains?: readonly string[] | undefined;
  readonly paths?: readonly string[] | undefined;
  /** The words that are recorded, where they are not the subject. */
  readonly decision?: string | undefined;
  readonly decisionId?: string | undefined;
  /** The decision that it replaces: its id, its proposal's, or a unique prefix of either. */
  readonly supersedes?: string | undefined;
  /** Until when to answer: a span from now, or an instant. */
  readonly due?: string | undefined;
  readonly extras: Extras;
}

/** Asks for a decision. Spec 3.4.1, "Asking". `nowMs`: the time of the wall clock. */
export async function prepareProposal(
  client: Client,
  about: Proposal,
  nowMs: number,
): Promise<Prepared> {
  const required = await recipients(client, about.required ?? about.to);
  return proposing(await draftOf(client, about, required, nowMs));
}

/**
 * Another proposal in the thread of a peer's. It needs those whom the first one needed, and its
 * proposer, unless `required` says otherwise. Spec 3.4.
 */
export async function prepareCounter(
  client: Client,
  id: string,
  about: Proposal & { readonly anyway?: boolean | undefined },
  nowMs: number,
): Promise<Prepared> {
  const parent = await proposalNamed(client, id);
  await refuseEnded(client, parent, about.anyway === true);
  const required = await recipients(client, about.required ?? (await parties(client, parent)));
  return { ...proposing(await draftOf(client, about, required, nowMs, parent)), answers: parent };
}

/** A draft of a proposal, with what is recorded when it is ratified. */
function proposing(draft: Draft): Prepared {
  return { draft, decides: decisionWords(draft.subject, draft.body) };
}

/** `body.required` names whom it needs, each by its handle. Spec 3.4. */
async function draftOf(
  client: Client,
  about: Proposal,
  named: readonly string[],
  nowMs: number,
  counters?: Parent,
): Promise<Draft> {
  const { subject } = about;
  const required = named.includes("*") ? await peersOf(client) : named;
  const fields = { ...decisionFields(about), ...fieldsOf(about, nowMs), required };
  const body = await withSuperseded(client, fields, required);
  return {
    to: about.to === undefined ? required : await recipients(client, about.to),
    type: "proposal",
    subject,
    body,
    ...about.extras,
    ackRequired: true,
    ...(counters === undefined ? {} : counterFields(subject, body, counters)),
  };
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
}: Pick<Proposal, "subject" | "reasons" | "decision">): JsonObject {
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

function fieldsOf({ domains, paths, decisionId, supersedes, due }: Proposal, nowMs: number) {
  return definedFields({
    domains: domains && [...domains],
    paths: paths && [...paths],
    decision_id: decisionId,
    supersedes,
    due: due === undefined ? undefined : dueInstant(due, nowMs),
  });
}
