import { firstCodePoints } from "../../wire/json/code-points.ts";
import { sanitise } from "../../wire/quote.ts";
import { textField } from "../body.ts";
import { positionSoFar } from "../decisions/party-position.ts";
import type { Outcome, Proposal } from "../decisions/proposal.ts";
import { caseOf } from "../decisions/proposals.ts";
import { proposalsById, type ProposalsState } from "../decisions/proposals-state.ts";
import { endStatus, type EndStatus } from "../decisions/proposals-view.ts";
import type { Env } from "../env.ts";
import type { CoreEvent } from "../events.ts";
import type { LogsState } from "../logs/logs-state.ts";
import { listedSubject } from "../routing.ts";
import { quoted, type Matter } from "./agent-notice.ts";

/** Characters of a reason of ours that a notice repeats. */
const MAX_REASON = 240;

/** What the ends of proposals are judged by. */
interface Facts {
  readonly proposals: ProposalsState;
  readonly logs: LogsState;
  readonly env: Env;
}

/**
 * The ends of proposals that concern our agent: of its own, and of those that need it. Every end is
 * told, whatever brought it about. Spec 3.4, "Deadlines".
 */
export function endsOf(facts: Facts, changed: ReadonlySet<Proposal>, event: CoreEvent): Matter[] {
  return [...changed].flatMap((proposal) => {
    const { outcome, from, required } = proposal;
    const { self } = facts.env;
    if (outcome === undefined || !(from === self || required.includes(self))) return [];
    const isOurs = from === self;
    const text = isOurs
      ? ownEnd(facts, proposal, outcome, event)
      : `${from}'s proposal ${subjectOf(facts, proposal)}, which needed your answer, ${peersEnd(facts, proposal, outcome)}.`;
    const about = proposal.id;
    return [{ kind: endStatus(outcome), about, text, peer: isOurs ? undefined : from }];
  });
}

function subjectOf({ env }: Facts, { from, subject }: Proposal): string {
  return quoted(listedSubject(env, from, subject));
}

function ownEnd(facts: Facts, proposal: Proposal, outcome: Outcome, event: CoreEvent): string {
  const by = replacedBy(facts, outcome);
  const words: Record<EndStatus, string> = {
    ratified: "is ratified: every required party agreed",
    rejected: `is rejected by ${rejectedBy(facts, proposal)}`,
    reverted: `is reverted${reasonOf(event, outcome)}`,
    replaced: `is replaced${by}: you agreed to that one, and it is ratified`,
    superseded: "is superseded by your next one in the same thread",
    withdrawn: "is withdrawn, because you agreed to another one in its thread",
  };
  return `Your proposal ${subjectOf(facts, proposal)} ${words[endStatus(outcome)]}.`;
}

function peersEnd(facts: Facts, proposal: Proposal, outcome: Outcome): string {
  const { from, id } = proposal;
  switch (endStatus(outcome)) {
    case "ratified":
      return "is ratified: every required party agreed";
    case "rejected":
      return `is rejected by ${rejectedBy(facts, proposal)}`;
    case "reverted":
      return `was reverted by ${from}: \`deaddrop thread ${id.slice(0, 10)}\` shows why`;
    case "replaced":
      return `is replaced${replacedBy(facts, outcome)}: ${from} agreed to that one, and it is ratified`;
    case "superseded":
      return `is superseded by another one of ${from} in the same thread`;
    case "withdrawn":
      return `is withdrawn: ${from} agreed to another one in its thread`;
  }
}

/** Which one replaces it, where we hold it. */
function replacedBy(facts: Facts, { replacedBy: id }: Outcome): string {
  const [sibling] = proposalsById(facts.proposals, id ?? "", facts.env);
  if (sibling === undefined) return " by another one";
  const whose = sibling.from === facts.env.self ? "your" : `${sibling.from}'s`;
  return ` by ${whose} proposal ${subjectOf(facts, sibling)}`;
}

/** Our own words, by which our daemon or our agent has reverted; no peer's. */
function reasonOf(event: CoreEvent, { by }: Outcome): string {
  if (event.kind !== "line" || !event.own || event.message.id !== by) return "";
  const reason = textField(event.message.body, "reason");
  if (reason === undefined) return ": it was taken back";
  return `: ${sanitise(firstCodePoints(reason, MAX_REASON))}`;
}

function rejectedBy({ proposals, logs, env }: Facts, proposal: Proposal): string {
  const topic = proposals.topics.get(proposal.topic);
  if (topic === undefined) return "a required party";
  const of = caseOf(proposals, topic, env, logs);
  const rejecting = proposal.required.filter(
    (party) => positionSoFar(of, proposal, party).rejection !== undefined,
  );
  return (
    rejecting.map((party) => (party === env.self ? "you" : party)).join(", ") || "a required party"
  );
}
