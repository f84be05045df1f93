import { ownLogs, type Layout } from "../../wire/layout.ts";
import { endStatus } from "../decisions/proposals-view.ts";
import { isVoid, type Proposal } from "../decisions/proposal.ts";
import type { ProposalsState } from "../decisions/proposals-state.ts";
import type { Effect } from "../effects.ts";
import type { Env } from "../env.ts";
import type { LogsState } from "./logs-state.ts";

/** How far one pair has agreed that the wire moves to outboxes. Spec 3.11. */
export interface PairAgreement {
  between: string[];
  /**
   * The proposal that counts: the ratified one, else the newest that is not void, else the newest;
   * null: nobody has proposed it.
   */
  proposal_id: string | null;
  status: "none" | "open" | "ratified" | "rejected" | "ended" | "void";
}

/** `deaddrop layout`. */
export interface LayoutView {
  layout: "pairwise" | "outbox";
  /** Every pair has ratified the move: each operator may take it. Of a pairwise wire. */
  agreed: boolean;
  /** Of a pairwise wire. */
  pairs: PairAgreement[];
  /** Agents whose logs are not chained: while there are any the wire does not move. */
  unchained: string[];
  /** Of a wire that has moved: its closed logs, and the line that has closed each; null: not yet. */
  closed: { log: string; by: string | null }[];
}

/** What is known of the change of layout, by the logs alone. Spec 3.11. */
export function layoutView(
  proposals: ProposalsState,
  logs: LogsState,
  { layout }: Pick<Env, "layout">,
): LayoutView {
  const isPairwise = layout.kind === "pairwise";
  const pairs = isPairwise
    ? pairsOf(layout.members).map((pair) => agreed(proposals, layout, pair))
    : [];
  const closed = [...layout.logs.values()].filter(({ into }) => into !== undefined);
  return {
    layout: layout.kind,
    agreed: isPairwise && pairs.every(({ status }) => status === "ratified"),
    pairs,
    unchained: isPairwise
      ? layout.members.filter((handle) => isUnchained(logs, handle, { layout }))
      : [],
    closed: closed.map(({ name }) => ({ log: name, by: logs.get(name)?.closing?.id ?? null })),
  };
}

/** Our operator is told once when all have agreed: what follows is each operator's own. Spec 3.11. */
export function decideLayout(
  proposals: ProposalsState,
  logs: LogsState,
  env: Pick<Env, "layout" | "self">,
): Effect[] {
  if (env.layout.kind !== "pairwise" || proposals.moves.size === 0) return [];
  const { agreed: isAgreed, pairs } = layoutView(proposals, logs, env);
  if (!isAgreed) return [];
  const ids = pairs.map(({ proposal_id: id }) => id?.slice(0, 12) ?? "").join(" ");
  return [
    {
      do: "tell",
      incident: {
        key: `layout_agreed:${ids}`,
        cause: "layout_agreed",
        subject: "all agents have agreed to move this wire to outboxes",
        detail:
          "look at it and take it: deaddrop layout accept. Until then your agent goes on in the logs of its pairs",
        concernsWire: false,
      },
    },
  ];
}

function pairsOf(roster: readonly string[]): [string, string][] {
  return roster.flatMap((one, at) =>
    roster.slice(at + 1).map((other): [string, string] => [one, other]),
  );
}

function agreed(state: ProposalsState, layout: Layout, between: [string, string]): PairAgreement {
  const all = [...state.moves].flatMap((key) => state.proposals.get(key) ?? []);
  const asked = all.filter((each) => {
    const to = askedBy(each, layout);
    return to !== undefined && between.includes(each.from) && between.includes(to);
  });
  const counted =
    asked.find((each) => statusOf(each) === "ratified") ??
    asked.findLast((each) => statusOf(each) !== "void") ??
    asked.at(-1);
  if (counted === undefined) return { between, proposal_id: null, status: "none" };
  return { between, proposal_id: counted.id, status: statusOf(counted) };
}

/** Who alone is asked. A void proposal requires nobody: the one to whom its log is written. */
function askedBy(proposal: Proposal, { logs }: Layout): string | undefined {
  if (isVoid(proposal)) return logs.get(proposal.log)?.addressee;
  return proposal.required.length === 1 ? proposal.required[0] : undefined;
}

function statusOf(proposal: Proposal): PairAgreement["status"] {
  const { outcome } = proposal;
  if (outcome === undefined) return isVoid(proposal) ? "void" : "open";
  const end = endStatus(outcome);
  return end === "ratified" || end === "rejected" ? end : "ended";
}

/** An agent has written a log of which no line is chained. What others have written there counts for nothing. */
function isUnchained(logs: LogsState, handle: string, { layout }: Pick<Env, "layout">): boolean {
  return ownLogs(layout, handle).some(({ name }) => {
    const { lines = 0, foreign = 0, marks } = logs.get(name) ?? {};
    return lines > foreign && marks?.lines.length === 0;
  });
}
