import {
  decisionOf,
  fieldThatDiffers,
  type DecisionEntry,
  type EntryRecord,
  type Ratification,
} from "./decision-record.ts";
import type { AutomaticIncident, Effect } from "../effects.ts";
import { quote } from "../../wire/quote.ts";
import { advertisedCadence } from "../heartbeats/liveness.ts";
import { beatsFrom, lastBeat } from "../logs/covering-beats.ts";
import type { LogsState } from "../logs/logs-state.ts";
import type { Proposal } from "./proposal.ts";
import { dropContent, proposalsById, type ProposalsState } from "./proposals-state.ts";
import { nameProposal } from "./proposals.ts";
import type { CoreEvent } from "../events.ts";
import type { Env, Now } from "../env.ts";
import { answerLogName } from "./party-position.ts";

/** Entries kept that are not proved, signed ones and others apart; beyond, the oldest go. */
const MAX_DOUBTFUL = 4_096;
/** Proved entries kept of one proposal: each required party may have recorded it, and once again. */
const MAX_PROVED = 16;
/** Spec 3.4: after so many beats of the proposer without an entry another party records it. */
const BEATS_WITHOUT_ENTRY = 2;
const CADENCES_OF_SILENCE = 2;

export type Verdict =
  | { readonly is: "proved" }
  | { readonly is: "pending"; readonly detail: string }
  /** `signed`: by a pinned agent, so the operator is told. */
  | { readonly is: "unproved"; readonly signed: boolean; readonly detail: string };

export interface JudgedEntry {
  readonly id: string;
  readonly record: EntryRecord;
  readonly signedBy: string | undefined;
  readonly signatureValid: boolean;
  verdict: Verdict;
}

/** What is in decisions.jsonl, and what should be. Spec 3.4, "The record". */
export interface DecisionsState {
  /** In the order of the file. */
  entries: JudgedEntry[];
  /** Ratified proposals that we may record, without a proved entry. */
  readonly unrecorded: Set<string>;
}

export function emptyDecisions(): DecisionsState {
  return { entries: [], unrecorded: new Set() };
}

/** Folds an event after `applyProposals`, whose answer `changed` is. */
export function applyDecisions(
  state: DecisionsState,
  event: CoreEvent,
  env: Env,
  proposals: ProposalsState,
  logs: LogsState,
  changed: ReadonlySet<Proposal>,
): void {
  if (event.kind === "entry" && !isKnown(state, event.entry)) {
    const { id, record, signedBy, signatureValid } = event.entry;
    const named = proposalsById(proposals, record.proposal_id ?? "", env);
    for (const proposal of named) nameProposal(proposals, proposal, env, logs);
    const verdict = judgeEntry(proposals, logs, env, event.entry);
    state.entries.push({ id, record, signedBy, signatureValid, verdict });
    if (state.entries.length > MAX_DOUBTFUL) boundEntries(state);
    for (const proposal of named) noteWhetherRecorded(state, proposals, proposal, env);
  }
  for (const proposal of changed) {
    for (const entry of state.entries) {
      if (entry.record.proposal_id !== proposal.id) continue;
      nameProposal(proposals, proposal, env, logs);
      entry.verdict = judgeEntry(proposals, logs, env, entry);
    }
    noteWhetherRecorded(state, proposals, proposal, env);
  }
}

/**
 * A line that is there twice, or is read again after the file was changed, adds nothing. The id
 * does not cover the signature: an entry without a valid one must not hide the real one.
 */
function isKnown(
  { entries }: DecisionsState,
  { id, record, signedBy, signatureValid }: DecisionEntry,
): boolean {
  let proved = 0;
  for (const each of entries) {
    if (each.id === id && each.signedBy === signedBy && each.signatureValid === signatureValid) {
      return true;
    }
    if (each.verdict.is === "proved" && each.record.proposal_id === record.proposal_id) proved += 1;
  }
  return proved >= MAX_PROVED;
}

/**
 * An agent that can write to the file but has no key cannot push out entries that wait for their
 * proof.
 */
function boundEntries(state: DecisionsState): void {
  for (const signed of [false, true]) {
    const isDoubtful = ({ verdict, signatureValid }: JudgedEntry): boolean =>
      verdict.is !== "proved" && signatureValid === signed;
    let excess = state.entries.filter(isDoubtful).length - MAX_DOUBTFUL;
    if (excess <= 0) continue;
    state.entries = state.entries.filter((entry) => !isDoubtful(entry) || excess-- <= 0);
  }
}

function noteWhetherRecorded(
  state: DecisionsState,
  proposals: ProposalsState,
  proposal: Proposal,
  env: Env,
): void {
  const isRatified = proposal.outcome?.status === "ratified";
  if (isRatified && proposal.content !== undefined && !hasProvedEntry(state, proposal)) {
    state.unrecorded.add(proposal.key);
    return;
  }
  state.unrecorded.delete(proposal.key);
  // An auditor is no agent of the wire: it lists what follows from the logs, recorded or not.
  const isAgent = env.layout.roster.includes(env.self);
  if (isRatified && proposal.settled && isAgent) dropContent(proposals, proposal);
}

function hasProvedEntry(state: DecisionsState, proposal: Proposal): boolean {
  return state.entries.some(
    ({ record, verdict }) => record.proposal_id === proposal.id && verdict.is === "proved",
  );
}

/**
 * Proved: signed by the proposer or a required party, ratified at exactly the line named, and every
 * field but the recorder's follows from proposal and beat. Pending until we hold what proves or
 * refutes it. Spec 3.4.
 */
export function judgeEntry(
  proposals: ProposalsState,
  logs: LogsState,
  env: Env,
  entry: DecisionEntry,
): Verdict {
  const { record, signedBy, signatureValid } = entry;
  if (!signatureValid || signedBy === undefined) {
    return { is: "unproved", signed: false, detail: "not signed by an agent that is pinned" };
  }
  const unproved = (detail: string): Verdict => ({ is: "unproved", signed: true, detail });
  if (record.recorded_by !== signedBy) return unproved("recorded_by is not who signed it");
  if (record.proposal_id === undefined) return unproved("it names no proposal");
  const candidates = proposalsById(proposals, record.proposal_id, env);
  const proposal = candidates.find((each) => each.outcome?.status === "ratified") ?? candidates[0];
  if (proposal === undefined) return { is: "pending", detail: "its proposal is not held" };
  if (signedBy !== proposal.from && !proposal.required.includes(signedBy)) {
    return unproved(`${signedBy} is neither the proposer nor required`);
  }
  const { outcome } = proposal;
  if (outcome === undefined) {
    return isPassed(logs, proposal, record)
      ? unproved("the proposal is not ratified at the beat named")
      : { is: "pending", detail: "the lines that ratify it are not all held" };
  }
  if (outcome.status !== "ratified") return unproved(`the proposal was ${outcome.status}`);
  const differs = fieldThatDiffers(record, proposal.digest, ratificationOf(proposal, outcome));
  return differs === undefined
    ? { is: "proved" }
    : unproved(`${differs} does not follow from the proposal and its ratification`);
}

/** Whether we have judged the beat that it names, and that beat did not ratify. */
function isPassed(logs: LogsState, proposal: Proposal, record: EntryRecord): boolean {
  if (proposal.problem !== undefined) return true;
  const beats = beatsFrom(logs, proposal.log, proposal.line);
  const named = beats.find((beat) => beat.id === record.ratified_by);
  return named !== undefined && named.line <= proposal.judgedTo;
}

export function ratificationOf(
  proposal: Proposal,
  outcome: NonNullable<Proposal["outcome"]>,
): Ratification {
  return {
    proposalId: proposal.id,
    correlationId: proposal.correlationId,
    proposer: proposal.from,
    required: proposal.required,
    ackIds: outcome.ackIds,
    by: outcome.by,
    at: outcome.at,
  };
}

/** Entries to write, and entries to warn of. Recording is no deadline effect: history counts. */
export function decideDecisions(
  state: DecisionsState,
  proposals: ProposalsState,
  logs: LogsState,
  env: Env,
  now: Now,
): Effect[] {
  const effects: Effect[] = [];
  for (const key of state.unrecorded) {
    const proposal = proposals.proposals.get(key);
    if (proposal?.outcome === undefined || proposal.content === undefined) continue;
    if (!isOursToRecord(proposal, logs, env, now)) continue;
    const ratified = ratificationOf(proposal, proposal.outcome);
    effects.push({ do: "record", decision: decisionOf(proposal.content, ratified, env.self) });
  }
  for (const { id, verdict, record, signedBy } of state.entries) {
    if (verdict.is !== "unproved" || !verdict.signed) continue;
    effects.push({ do: "tell", incident: unprovedIncident(id, signedBy, record, verdict.detail) });
  }
  return effects;
}

function unprovedIncident(
  id: string,
  peer: string | undefined,
  record: EntryRecord,
  detail: string,
): AutomaticIncident {
  return {
    key: `decision_unproved:${id}`,
    cause: "decision_unproved",
    ...(peer === undefined ? {} : { peer }),
    subject: `decisions.jsonl: ${quote(record.decision_id ?? id)} is not proved`,
    detail: `${detail}; it is not shown as canonical`,
    concernsWire: true,
  };
}

/**
 * The first to record is the proposer (an unchained one's acker); the other side does when the
 * first has had time enough and there is no entry. Spec 3.4, "Exactly once".
 */
function isOursToRecord(proposal: Proposal, logs: LogsState, env: Env, now: Now): boolean {
  const first = proposal.chained ? proposal.from : proposal.required[0];
  if (first === env.self) return true;
  if (proposal.from !== env.self && !proposal.required.includes(env.self)) return false;
  const log = proposal.chained
    ? proposal.log
    : answerLogName(env.layout, proposal, proposal.required[0] ?? "");
  if (!env.reading.caughtUp(log)) return false;
  const since = proposal.outcome?.line ?? Infinity;
  if (beatsFrom(logs, log, since + 1).length >= BEATS_WITHOUT_ENTRY) return true;
  const last = lastBeat(logs, log);
  const cadence = advertisedCadence(last?.cadenceMs, env);
  return now.wallMs - (last?.at ?? proposal.at) >= CADENCES_OF_SILENCE * cadence;
}

/** The proved entry of each proposal: readers count one, however often it was recorded. */
export function provedEntries(state: DecisionsState): JudgedEntry[] {
  const first = new Map<string, JudgedEntry>();
  for (const entry of state.entries) {
    const id = entry.record.proposal_id;
    if (entry.verdict.is === "proved" && id !== undefined && !first.has(id)) first.set(id, entry);
  }
  return [...first.values()];
}

/**
 * Whether another decision supersedes a proved one: it names it in `supersedes`, and all who agreed
 * to the first have agreed to it.
 */
export function isSuperseded(entry: JudgedEntry, proved: readonly JudgedEntry[]): boolean {
  const { decision_id: id, proposal_id: proposalId, acked_by: parties = [] } = entry.record;
  return proved.some(({ record }) => {
    if (record.supersedes !== id && record.supersedes !== proposalId) return false;
    return parties.every((party) => record.acked_by?.includes(party) === true);
  });
}
