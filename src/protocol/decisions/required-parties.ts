import { isChained } from "../../wire/chain.ts";
import { agentName, isHandle } from "../../wire/handle.ts";
import type { JsonValue } from "../../wire/json/json.ts";
import { answerLog, type Layout, type Log } from "../../wire/layout.ts";
import type { Message } from "../../wire/message.ts";
import { quote } from "../../wire/quote.ts";
import { field, textsField } from "../body.ts";
import { patternsOverlap } from "./path-match.ts";
import type { Domains } from "../env.ts";

/** Names and paths beyond these are not looked at. */
const MAX_NAMED_DOMAINS = 64;
const MAX_PATHS = 256;
const MAX_NAME = 128;

/** Whom a proposal needs. */
export interface Required {
  /** In the order in which the proposal names them; empty when there is a problem. */
  readonly parties: readonly string[];
  /** Why it cannot be ratified. Spec 3.4: it is shown so. */
  readonly problem: string | undefined;
  /** It names agents that our pinned roster lacks: the operator may accept a roster with them. */
  readonly awaitsRoster: boolean;
}

/**
 * Whom a proposal in `log` needs, by its signed body and `to`, so that every reader agrees. Of our
 * configuration only the roster counts: agents outside it have to be accepted first. Spec 3.4,
 * "Asking".
 */
export function requiredOf(message: Message, log: Log, layout: Layout): Required {
  const named = namedParties(message, log);
  if (typeof named === "string") return impossible(named);
  const problem = partiesProblem(named, message, log);
  if (problem !== undefined) return impossible(problem);
  const strangers = named.filter((party) => !layout.roster.includes(party));
  if (strangers.length > 0) {
    const words = `body.required names ${strangers.map((party) => quote(party)).join(", ")}, outside our roster`;
    return { ...impossible(words), awaitsRoster: true };
  }
  if (named.some((party) => answerLog(layout, log, party) === undefined)) {
    return impossible("body.required names an agent that does not read this log");
  }
  return { parties: named, problem: undefined, awaitsRoster: false };
}

function impossible(problem: string): Required {
  return { parties: [], problem, awaitsRoster: false };
}

function namedParties(message: Message, log: Log): readonly string[] | string {
  if (field(message.body, "required") === undefined) {
    if (log.addressee !== undefined) return [log.addressee];
    const [only, ...more] = new Set(message.to ?? ["*"]);
    return only !== undefined && only !== "*" && more.length === 0
      ? [only]
      : "body.required is missing; a proposal to more than one agent names whom it needs";
  }
  const names = textsField(message.body, "required");
  if (names === undefined) return "body.required is not a list of handles";
  const parties = names.map((name) => agentName(name));
  return [...new Set(parties.map((party, at) => party ?? names[at] ?? ""))];
}

function partiesProblem(
  parties: readonly string[],
  message: Message,
  log: Log,
): string | undefined {
  if (parties.length === 0) return "body.required is empty";
  if (!parties.every(isHandle)) return "body.required names what is no handle";
  if (parties.includes(log.owner)) return "body.required names the proposer";
  if (parties.length > 1 && log.addressee !== undefined) {
    return "body.required names several agents; that needs layout outbox";
  }
  const { to = ["*"] } = message;
  const unasked = parties.find((party) => !to.includes("*") && !to.includes(party));
  if (unasked !== undefined) return `body.required names ${quote(unasked)}, to does not`;
  // Spec 3.4: an unchained proposer, between two agents only.
  if (!isChained(message) && parties.length > 1) {
    return "an unchained proposal can ask one agent only";
  }
  return undefined;
}

/** The domains that a proposal touches by its `domains` and `paths`, and the owners of those. */
export function touchedDomains(
  body: JsonValue,
  domains: Domains,
): { names: string[]; owners: [domain: string, owner: string][] } {
  const named = (textsField(body, "domains") ?? []).filter((name) => name.length <= MAX_NAME);
  const names = new Set(named.slice(0, MAX_NAMED_DOMAINS));
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
 * The owners whom `body.required` must include, too, when we compose a proposal. A reader does not
 * check this: an owner that is left out does not void a proposal. Spec 3.4.
 */
export function ownersNeeded(body: JsonValue, domains: Domains, proposer: string): string[] {
  const owners = touchedDomains(body, domains).owners.map(([, owner]) => owner);
  return [...new Set(owners)].filter((owner) => owner !== proposer);
}
