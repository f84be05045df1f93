import { canonicalText, V31_OMIT } from "../../wire/canonical.ts";
import { decisionWords } from "../../wire/decision-words.ts";
import { MINUTE_MS } from "../../wire/durations.ts";
import { isHandle } from "../../wire/handle.ts";
import { fromPlain, isJsonObject, type JsonObject, type JsonValue } from "../../wire/json/json.ts";
import type { Domain } from "../../trust/policy/config.ts";
import { isChained, placeJson, readPlace, type Place, type PlaceJson } from "../../wire/places.ts";
import { field, textField, textsField } from "../body.ts";
import { patternsOverlap } from "../claims/path-match.ts";
import { readAsk, readClose } from "./ask-line.ts";
import { lineAt, type History } from "./history.ts";
import { outcomeOf } from "./outcome.ts";

/** One line of decisions.jsonl before its recorder signs it like a message. Spec 3.4.7. */
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
  readonly proposal: PlaceJson;
  readonly acks: readonly PlaceJson[];
  readonly close: PlaceJson;
  readonly supersedes: string | null;
  readonly recorded_by: string;
}

/** The domains that a proposal touches by its `domains` and `paths`, and who owns those that are pinned. 3.6. */
export type TouchedDomains = (body: JsonValue) => {
  readonly names: readonly string[];
  readonly owners: Readonly<Record<string, string>>;
};

/** Names and paths beyond these are not looked at. */
const MOST_DOMAINS = 64;
const MOST_PATHS = 256;
const MOST_NAME = 128;

/** By the domains of the pinned configuration. */
export function touchedBy(pinned: ReadonlyMap<string, Domain>): TouchedDomains {
  return (body) => {
    const named = (textsField(body, "domains") ?? []).filter((name) => name.length <= MOST_NAME);
    const paths = (textsField(body, "paths") ?? []).slice(0, MOST_PATHS);
    const overlaps = ({ paths: owned }: Domain): boolean =>
      owned.some((pattern) => paths.some((path) => patternsOverlap(pattern, path)));
    const sharing = [...pinned].filter(([, domain]) => overlaps(domain)).map(([name]) => name);
    const names = [...new Set([...named.slice(0, MOST_DOMAINS), ...sharing])];
    const owners = names.flatMap((name) => {
      const owner = pinned.get(name)?.owner;
      return owner === undefined ? [] : [[name, owner] as const];
    });
    return { names, owners: Object.fromEntries(owners) };
  };
}

const MOST_SLUG = 64;
const MOST_SUPERSEDES = 256;
const ID_DIGITS = 8;
/** A required party records what the closer's daemon has not recorded by then. */
export const RECORDS_AFTER_MS = 10 * MINUTE_MS;
/** These follow from pins, not from lines. */
const OF_PINS = ["affected_domains", "domain_owners"];
const NOT_COMPARED = [...V31_OMIT, ...OF_PINS];

/** The entry of an approved proposal; undefined of anything else, and while it is not approved. */
export function decisionOf(
  history: History,
  proposal: Place,
  touched: TouchedDomains,
  recorder: string,
): UnsignedDecision | undefined {
  const line = lineAt(history, proposal);
  const ask = line === undefined ? undefined : readAsk(line);
  if (line === undefined || ask?.is !== "proposal") return undefined;
  const outcome = outcomeOf(history, ask, ask.parties === undefined ? recorder : undefined);
  const closed = outcome.is === "approved" ? history.linked(outcome.close) : undefined;
  const close = closed === undefined ? undefined : readClose(closed);
  if (closed === undefined || close === undefined) return undefined;
  const { body, subject, refs } = line;
  const parties = isChained(proposal) ? (ask.parties ?? []) : [closed.place.author];
  const acks = isChained(proposal)
    ? parties.flatMap((party) => close.entries.find(({ by }) => by === party)?.ack ?? [])
    : [closed.place];
  const supersedes = textField(body, "supersedes");
  const { names, owners } = touched(body);
  return {
    decision_id: decisionId(textField(body, "decision_id"), subject, proposal.id),
    ratified_at: closed.timestamp,
    proposer: proposal.author,
    acked_by: [proposal.author, ...parties],
    decision: decisionWords(subject, body),
    canonical: true,
    refs,
    affected_domains: names,
    domain_owners: owners,
    correlation_id: ask.thread,
    proposal: placeJson(proposal),
    acks: acks.map(placeJson),
    close: placeJson(closed.place),
    supersedes:
      supersedes !== undefined && supersedes.length <= MOST_SUPERSEDES ? supersedes : null,
    recorded_by: recorder,
  };
}

/** The proposer's own name for it or a slug of the subject, then the beginning of the proposal's id. */
function decisionId(given: string | undefined, subject: string, id: string): string {
  const name = given !== undefined && isHandle(given) ? given : slug(given ?? subject);
  return `${name}-${id.slice(0, ID_DIGITS)}`;
}

export function slug(text: string): string {
  const words = text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/gu, "-")
    .slice(0, MOST_SLUG)
    .replaceAll(/^-|-$/gu, "");
  return words === "" ? "decision" : words;
}

export type EntryVerdict =
  | { readonly is: "proved" }
  /** The lines that it follows from are not held yet. */
  | { readonly is: "pending"; readonly detail: string }
  | { readonly is: "unproved"; readonly detail: string };

/**
 * Whether an entry of decisions.jsonl says what the lines say. Domains and their owners follow from each reader's
 * pins, so they prove nothing.
 *
 * @param signedBy the agent whose pinned or named key has signed it
 */
export function judgeEntry(
  history: History,
  entry: JsonObject,
  signedBy: string | undefined,
): EntryVerdict {
  const proposal = readPlace(field(entry, "proposal"));
  const recorder = textField(entry, "recorded_by");
  if (signedBy === undefined || signedBy !== recorder)
    return { is: "unproved", detail: "its recorder has not signed it" };
  if (textsField(entry, "acked_by")?.includes(recorder) !== true)
    return { is: "unproved", detail: "its recorder is no party of it" };
  if (proposal === undefined) return { is: "unproved", detail: "it names no proposal" };
  const close = readPlace(field(entry, "close"));
  const asked = lineAt(history, proposal);
  const closed = close === undefined ? undefined : history.linked(close);
  if (asked === undefined) return { is: "pending", detail: "the proposal is not held" };
  if (close !== undefined && closed === undefined)
    return { is: "pending", detail: "its close is not held" };
  const ask = readAsk(asked);
  const closer = ask?.parties === undefined ? close?.author : undefined;
  const outcome = ask === undefined ? undefined : outcomeOf(history, ask, closer);
  if (outcome?.is === "pending" && outcome.waitsFor.length > 0)
    return { is: "pending", detail: "lines are missing that its close names" };
  const nothing: TouchedDomains = () => ({ names: [], owners: {} });
  const expected = decisionOf(history, proposal, nothing, closer ?? recorder);
  if (expected === undefined) return { is: "unproved", detail: "the proposal is not approved" };
  const field_ = differs(entry, { ...expected, recorded_by: recorder });
  return field_ === undefined
    ? { is: "proved" }
    : { is: "unproved", detail: `${field_} is not what the lines say` };
}

/** The first field that is not as expected. */
function differs(entry: JsonObject, expected: UnsignedDecision): string | undefined {
  const plain = fromPlain(expected);
  if (!isJsonObject(plain)) throw new Error("a decision is an object");
  const names = new Set([...Object.keys(plain), ...Object.keys(entry)]);
  return [...names]
    .filter((name) => !NOT_COMPARED.includes(name))
    .find((name) => textOf(field(entry, name)) !== textOf(plain[name]));
}

function textOf(value: JsonValue | undefined): string | undefined {
  return value === undefined ? undefined : canonicalText(value);
}

/** When our daemon records a decision, milliseconds of Unix time; undefined when that is not up to it. */
export function recordsAtMs(
  history: History,
  decision: UnsignedDecision,
  us: string,
): number | undefined {
  const close = readPlace(fromPlain(decision.close));
  const receivedMs = close === undefined ? undefined : history.receipt(close)?.atMs;
  if (close === undefined || receivedMs === undefined) return undefined;
  if (close.author === us) return receivedMs;
  return decision.acked_by.slice(1).includes(us) ? receivedMs + RECORDS_AFTER_MS : undefined;
}

/** A decision that counts, and how it stands beside the others. */
export interface StandingDecision {
  readonly decision: UnsignedDecision;
  /** The `decision_id` of the one that supersedes it. */
  readonly supersededBy: string | undefined;
  /** Others of its thread that are in force too: none of them says which one holds. */
  readonly beside: readonly string[];
}

/**
 * How decisions stand, in their order. Of two entries of a proposal the first counts. `entries` are proved, in the
 * order of the file.
 */
export function standingDecisions(entries: readonly UnsignedDecision[]): StandingDecision[] {
  const first = new Map<string, UnsignedDecision>();
  for (const entry of entries) {
    const [author, seq, id] = entry.proposal;
    const name = `${author} ${seq} ${id}`;
    if (!first.has(name)) first.set(name, entry);
  }
  const byId = new Map<string, UnsignedDecision>();
  const supersededBy = new Map<string, string>();
  for (const decision of first.values()) {
    const { supersedes, acked_by: agreed } = decision;
    const earlier = supersedes === null ? undefined : byId.get(supersedes);
    if (earlier?.acked_by.every((agent) => agreed.includes(agent)) === true)
      supersededBy.set(earlier.decision_id, decision.decision_id);
    byId.set(decision.decision_id, decision);
  }
  const inThread = new Map<string, string[]>();
  for (const { decision_id: id, correlation_id: thread } of byId.values()) {
    if (supersededBy.has(id)) continue;
    const others = inThread.get(thread);
    if (others === undefined) inThread.set(thread, [id]);
    else others.push(id);
  }
  return [...byId.values()].map((decision) => {
    const { decision_id: id, correlation_id: thread } = decision;
    const beside = inThread.get(thread) ?? [];
    const isInForce = beside.includes(id);
    return {
      ...{ decision, supersededBy: supersededBy.get(id) },
      beside: isInForce ? beside.filter((other) => other !== id) : [],
    };
  });
}
