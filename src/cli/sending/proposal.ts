import type { Command } from "commander";
import type { Client } from "../../api/client.ts";
import { DeaddropError } from "../../api/errors.ts";
import { slug } from "../../protocol/decisions/record/decision-record.ts";
import type { Draft } from "../../wire/compose.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../wire/json/json-value.ts";
import type { BodyFlags } from "../input/body-input.ts";
import { collect } from "../context.ts";
import { dueInstant } from "./due.ts";
import { subjectWith, type Parent } from "./parent.ts";
import { peersOf, recipients } from "./recipients.ts";
import { draftOptions, type SendFlags } from "./send-draft.ts";

export interface ProposalFlags extends SendFlags, BodyFlags {
  required?: string[];
  domain?: string[];
  path?: string[];
  decision?: string;
  decisionId?: string;
  supersedes?: string;
  due?: string;
}

export function addProposalFlags(command: Command): Command {
  return command
    .option("--required <handle>", "whose ack it takes (repeatable; in a pair the peer)", collect)
    .option("--domain <name>", "a domain that it touches (repeatable)", collect)
    .option("--path <pattern>", "paths that it touches (repeatable)", collect)
    .option("--decision <text>", "the words to be recorded (else the body, else the subject)")
    .option("--decision-id <id>", "a name for the decision (else a slug of the subject)")
    .option("--supersedes <id>", "the decision that it replaces")
    .option(
      "--due <when>",
      "until when to answer: 30m, 4h, 2d or a time (else 30 min from reading)",
    );
}

export interface Proposal {
  readonly subject: string;
  /** What was given as the body. */
  readonly reasons: JsonValue;
  /** Handles, or `*` for every peer. */
  readonly required: readonly string[];
  readonly flags: ProposalFlags;
  readonly nowMs: number;
  /** The proposal that it counters. */
  readonly counters?: Parent;
}

/** A proposal's draft; `body.required` names whom it needs, each by its handle. Spec 3.4. */
export async function proposal(client: Client, about: Proposal): Promise<Draft> {
  const { flags, counters, subject, nowMs } = about;
  const required = about.required.includes("*") ? await peersOf(client) : about.required;
  const due = flags.due === undefined ? {} : { due: dueInstant(flags.due, nowMs) };
  const body = { ...reasonFields(about.reasons, flags), ...fieldsOf(flags), ...due, required };
  return {
    to: flags.to === undefined ? required : await recipients(client, flags.to),
    type: "proposal",
    subject,
    body,
    ...draftOptions(flags),
    ackRequired: true,
    ...(counters === undefined ? {} : counterFields(subject, body, counters)),
  };
}

/** What it counters is in its subject, but not in the words and the name that are recorded. */
function counterFields(subject: string, body: JsonObject, counters: Parent) {
  return {
    subject: subjectWith(subject, "counter", counters),
    body: {
      decision: subject,
      decision_id: slug(subject),
      ...body,
      counters: counters.event_id,
    },
    correlationId: counters.correlation_id,
  };
}

/** Text is the decision itself, unless --decision words it: then it is the reasons for it. */
function reasonFields(reasons: JsonValue, flags: ProposalFlags): JsonObject {
  if (isJsonObject(reasons)) return reasons;
  if (typeof reasons !== "string") {
    throw new DeaddropError("usage", "a proposal's body is text or a JSON object");
  }
  if (reasons === "") return {};
  return flags.decision === undefined ? { decision: reasons } : { text: reasons };
}

function fieldsOf({ domain, path, decision, decisionId, supersedes }: ProposalFlags): JsonObject {
  return {
    ...(domain === undefined ? {} : { domains: domain }),
    ...(path === undefined ? {} : { paths: path }),
    ...(decision === undefined ? {} : { decision }),
    ...(decisionId === undefined ? {} : { decision_id: decisionId }),
    ...(supersedes === undefined ? {} : { supersedes }),
  };
}
