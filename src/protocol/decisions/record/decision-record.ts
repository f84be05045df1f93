import { canonicalBytes, sha256Hex, V31_OMIT } from "../../../wire/canonical.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../wire/json/json.ts";
import { decisionWords } from "../../../wire/decision-words.ts";
import type { Message } from "../../../wire/message.ts";
import { field, textField, textsField } from "../../body.ts";
import { touchedDomains } from "../required-parties.ts";
import type { Domains } from "../../env.ts";

const MAX_SLUG = 64;
const MAX_SUPERSEDES = 256;
const PROPOSAL_ID_DIGITS = 8;
const PLAIN_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/u;

/** One line of decisions.jsonl before its recorder signs it like a message. Spec 3.4. */
export interface UnsignedDecision {
  readonly decision_id: string;
  readonly ratified_at: string;
  readonly proposer: string;
  readonly acked_by: readonly string[];
  readonly decision: string;
  readonly canonical: true;
  readonly refs: readonly string[];
  readonly affected_domains: readonly string[];
  readonly domain_owners: Readonly<Record<string, string>>;
  readonly correlation_id: string;
  readonly proposal_id: string;
  readonly ack_ids: readonly string[];
  readonly ratified_by: string;
  readonly supersedes: string | null;
  readonly recorded_by: string;
}

/** What of a decision follows from the proposal alone. */
export interface DecisionContent {
  readonly decisionId: string;
  readonly decision: string;
  readonly refs: readonly string[];
  readonly affectedDomains: readonly string[];
  readonly domainOwners: readonly (readonly [domain: string, owner: string])[];
  readonly supersedes: string | null;
}

/** What of it follows from how the proposal was ratified. */
export interface Ratification {
  readonly proposalId: string;
  readonly correlationId: string;
  readonly proposer: string;
  readonly required: readonly string[];
  readonly ackIds: readonly string[];
  readonly by: string;
  readonly at: string;
}

export function decisionContent(message: Message, domains: Domains): DecisionContent {
  const { body, subject, id, refs } = message;
  const { names, owners } = touchedDomains(body, domains);
  const supersedes = textField(body, "supersedes");
  return {
    decisionId: decisionId(textField(body, "decision_id"), subject, id),
    decision: decisionWords(subject, body),
    refs,
    affectedDomains: names,
    domainOwners: owners,
    supersedes: supersedes !== undefined && supersedes.length <= MAX_SUPERSEDES ? supersedes : null,
  };
}

/** Spec 3.4: the proposer's own name for it or a slug of the subject, then the proposal's id. */
function decisionId(given: string | undefined, subject: string, proposalId: string): string {
  const name = given !== undefined && PLAIN_ID.test(given) ? given : slug(given ?? subject);
  return `${name}-${proposalId.slice(0, PROPOSAL_ID_DIGITS)}`;
}

/** A decision's name from a text: what is not a letter or a digit becomes a hyphen. */
export function slug(text: string): string {
  const words = text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/gu, "-")
    .slice(0, MAX_SLUG)
    .replaceAll(/^-|-$/gu, "");
  return words === "" ? "decision" : words;
}

export function decisionOf(
  content: DecisionContent,
  ratified: Ratification,
  recorder: string,
): UnsignedDecision {
  return {
    decision_id: content.decisionId,
    ratified_at: ratified.at,
    proposer: ratified.proposer,
    acked_by: [ratified.proposer, ...ratified.required],
    decision: content.decision,
    canonical: true,
    refs: content.refs,
    affected_domains: content.affectedDomains,
    domain_owners: Object.fromEntries(content.domainOwners),
    correlation_id: ratified.correlationId,
    proposal_id: ratified.proposalId,
    ack_ids: ratified.ackIds,
    ratified_by: ratified.by,
    supersedes: content.supersedes,
    recorded_by: recorder,
  };
}

/** A fingerprint of the content, so that it can be checked after its text was dropped. */
export function contentDigest(content: DecisionContent): string {
  const parts = [
    content.decisionId,
    content.decision,
    content.refs,
    [...content.affectedDomains].sort(),
    content.domainOwners.map(([domain, owner]) => JSON.stringify([domain, owner])).sort(),
    content.supersedes,
  ];
  return sha256Hex(new TextEncoder().encode(JSON.stringify(parts)));
}

/** A line of decisions.jsonl as it was read. */
export interface DecisionEntry {
  /** SHA-256 of its canonical bytes: its event id, if it has one. */
  readonly id: string;
  readonly record: EntryRecord;
  /** The pinned agent whose key signed it, if there is one. */
  readonly signedBy: string | undefined;
  readonly signatureValid: boolean;
}

/** A decision as its recorder has signed it. */
export interface SignedDecision extends UnsignedDecision {
  readonly event_id: string;
  readonly public_key_id: string;
  readonly signature: string;
}

/** Its fields, as far as they have the type that they should have. */
export type EntryRecord = { -readonly [Name in keyof SignedDecision]?: SignedDecision[Name] };

/**
 * A proved entry with all of its fields. Those that it leaves out are empty, and were compared as
 * such. Field by field: to spread thousands of them takes ten times as long.
 */
export function provedRecord(record: EntryRecord): SignedDecision {
  return {
    decision: record.decision ?? "",
    refs: record.refs ?? [],
    affected_domains: record.affected_domains ?? [],
    domain_owners: record.domain_owners ?? {},
    supersedes: record.supersedes ?? null,
    decision_id: record.decision_id,
    ratified_at: record.ratified_at,
    proposer: record.proposer,
    correlation_id: record.correlation_id,
    proposal_id: record.proposal_id,
    ratified_by: record.ratified_by,
    recorded_by: record.recorded_by,
    event_id: record.event_id,
    public_key_id: record.public_key_id,
    signature: record.signature,
    acked_by: record.acked_by,
    ack_ids: record.ack_ids,
    canonical: record.canonical,
  } as SignedDecision;
}

/** Reads a parsed line of decisions.jsonl; hand-written ones may lack anything. */
export function readEntry(
  fields: JsonObject,
  signature: { readonly signedBy: string | undefined; readonly valid: boolean },
): DecisionEntry {
  const record: Record<string, unknown> = {};
  for (const name of TEXTS) {
    const value = textField(fields, name);
    if (value !== undefined) record[name] = value;
  }
  for (const name of LISTS) {
    const value = textsField(fields, name);
    if (value !== undefined) record[name] = [...value];
  }
  if (field(fields, "canonical") === true) record["canonical"] = true;
  if (field(fields, "supersedes") === null) record["supersedes"] = null;
  const owners = ownersField(field(fields, "domain_owners"));
  if (owners !== undefined) record["domain_owners"] = owners;
  return {
    id: sha256Hex(canonicalBytes(fields, V31_OMIT)),
    record,
    signedBy: signature.signedBy,
    signatureValid: signature.valid,
  };
}

const TEXTS = [
  "decision_id",
  "ratified_at",
  "proposer",
  "decision",
  "correlation_id",
  "proposal_id",
  "ratified_by",
  "supersedes",
  "recorded_by",
  "event_id",
  "public_key_id",
  "signature",
] as const;
const LISTS = ["acked_by", "refs", "affected_domains", "ack_ids"] as const;

function ownersField(value: JsonValue | undefined): Record<string, string> | undefined {
  if (!isJsonObject(value)) return undefined;
  const owners = Object.entries(value);
  if (!owners.every(([, owner]) => typeof owner === "string")) return undefined;
  return Object.fromEntries(owners) as Record<string, string>;
}

/** The first field of an entry that does not follow from the ratified proposal. */
export function fieldThatDiffers(
  record: EntryRecord,
  digest: string,
  ratified: Ratification,
): string | undefined {
  if (record.ratified_at !== ratified.at) return "ratified_at";
  if (record.proposer !== ratified.proposer) return "proposer";
  if (record.canonical !== true) return "canonical";
  if (record.correlation_id !== ratified.correlationId) return "correlation_id";
  if (record.proposal_id !== ratified.proposalId) return "proposal_id";
  if (record.ratified_by !== ratified.by) return "ratified_by";
  if (!sameTexts(record.acked_by, [ratified.proposer, ...ratified.required])) return "acked_by";
  if (!sameTexts(record.ack_ids, ratified.ackIds)) return "ack_ids";
  const content: DecisionContent = {
    decisionId: record.decision_id ?? "",
    decision: record.decision ?? "",
    refs: record.refs ?? [],
    affectedDomains: record.affected_domains ?? [],
    domainOwners: Object.entries(record.domain_owners ?? {}),
    supersedes: record.supersedes ?? null,
  };
  return contentDigest(content) === digest ? undefined : "decision";
}

function sameTexts(given: readonly string[] | undefined, expected: readonly string[]): boolean {
  if (given === undefined || given.length !== expected.length) return false;
  const sorted = [...expected].sort();
  return [...given].sort().every((text, at) => text === sorted[at]);
}
