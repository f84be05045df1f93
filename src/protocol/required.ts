import { agentName } from "../wire/handle.ts";
import type { JsonValue } from "../wire/json.ts";
import { answerLog, type Layout, type Log } from "../wire/layout.ts";
import type { Message } from "../wire/message.ts";
import { field, textsField } from "./body.ts";
import { patternsOverlap } from "./path-match.ts";
import type { Domains } from "./record.ts";

/** Names and paths beyond these are not looked at. */
const MAX_DOMAINS = 64;
const MAX_PATHS = 256;
const MAX_NAME = 128;

/** Whom a proposal needs. */
export interface Required {
  /** In the order in which the proposal names them; empty when there is a problem. */
  readonly parties: readonly string[];
  /** Why it can never be ratified. Spec 3.4: it is shown so. */
  readonly problem: string | undefined;
}

/**
 * Whom a proposal that stands in `log` needs, by its signed body alone: not by configuration, so
 * that every reader agrees. Spec 3.4, "Asking".
 */
export function requiredOf(
  message: Message,
  log: Log,
  layout: Layout,
  isChained: boolean,
): Required {
  const named = namedParties(message, log, layout);
  if (typeof named === "string") return { parties: [], problem: named };
  const problem = partiesProblem(named, log, layout, isChained);
  return problem === undefined ? { parties: named, problem } : { parties: [], problem };
}

function namedParties(message: Message, log: Log, layout: Layout): readonly string[] | string {
  if (field(message.body, "required") === undefined) {
    if (log.addressee !== undefined) return [log.addressee];
    const others = layout.roster.filter((handle) => handle !== log.owner);
    return others.length === 1
      ? others
      : "body.required is missing; among more than two agents a proposal names whom it needs";
  }
  const names = textsField(message.body, "required");
  if (names === undefined) return "body.required is not a list of handles";
  const parties = names.map((name) => agentName(name));
  return [...new Set(parties.map((party, at) => party ?? names[at] ?? ""))];
}

function partiesProblem(
  parties: readonly string[],
  log: Log,
  layout: Layout,
  isChained: boolean,
): string | undefined {
  if (parties.length === 0) return "body.required is empty";
  if (parties.includes(log.owner)) return "body.required names the proposer";
  const stranger = parties.find((party) => !layout.roster.includes(party));
  if (stranger !== undefined) return "body.required names an agent outside the roster";
  if (parties.length > 1 && layout.kind === "pairwise") {
    return "body.required names several agents; that needs layout outbox";
  }
  if (parties.some((party) => answerLog(layout, log, party) === undefined)) {
    return "body.required names an agent that does not read this log";
  }
  // Spec 3.4: an unchained proposer, in pairs only.
  const isPair = layout.kind === "pairwise" || layout.roster.length === 2;
  if (!isChained && !isPair) return "an unchained proposal can be ratified in a pair only";
  return undefined;
}

/** The domains that a proposal touches by its `domains` and `paths`, and the owners of those. */
export function touchedDomains(
  body: JsonValue,
  domains: Domains,
): { names: string[]; owners: [domain: string, owner: string][] } {
  const named = (textsField(body, "domains") ?? []).filter((name) => name.length <= MAX_NAME);
  const names = new Set(named.slice(0, MAX_DOMAINS));
  const paths = (textsField(body, "paths") ?? []).slice(0, MAX_PATHS);
  for (const [name, domain] of domains) {
    const touched = domain.paths.some((owned) =>
      paths.some((path) => patternsOverlap(owned, path)),
    );
    if (touched) names.add(name);
  }
  const owners = [...domains].filter(([name]) => names.has(name));
  return { names: [...names], owners: owners.map(([name, { owner }]) => [name, owner]) };
}

/**
 * The owners whom `body.required` must include besides, for who composes a proposal. A reader does
 * not ask: an owner that is left out does not void a proposal. Spec 3.4.
 */
export function ownersNeeded(body: JsonValue, domains: Domains, proposer: string): string[] {
  const owners = touchedDomains(body, domains).owners.map(([, owner]) => owner);
  return [...new Set(owners)].filter((owner) => owner !== proposer);
}
