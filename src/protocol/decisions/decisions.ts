import {
  decisionOf,
  fieldThatDiffers,
  type DecisionEntry,
  type EntryRecord,
  type Ratification,
} from "./record/decision-record.ts";
import {
  addEntry,
  doubtfulEntries,
  entriesOf,
  isKnownEntry,
  judgeAgain,
  noEntries,
  type JudgedEntry,
  type RecordedEntries,
  type Verdict,
} from "./record/recorded-entries.ts";
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

/** Spec 3.4: after so many beats of the proposer without an entry another party records it. */
const BEATS_WITHOUT_ENTRY = 2;
const CADENCES_OF_SILENCE = 2;

/** What is in decisions.jsonl, and what should be. Spec 3.4, "The record". */
export interface DecisionsState {
  readonly entries: RecordedEntries;
  /** Ratified proposals that we may record, without a proved entry. */
  readonly unrecorded: Set<string>;
}

export function emptyDecisions(): DecisionsState {
  return { entries: noEntries(), unrecorded: new Set() };
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
  if (event.kind === "entry" && !isKnownEntry(state.entries, event.entry)) {
    const { id, record, signedBy, signatureValid } = event.entry;
    const named = proposalsById(proposals, record.proposal_id ?? "", env);
    for (const proposal of named) nameProposal(proposals, proposal, env, logs);
    const verdict = judgeEntry(proposals, logs, env, event.entry);
    addEntry(state.entries, { id, record, signedBy, signatureValid, verdict });
    for (const proposal of named) noteWhetherRecorded(state, proposals, proposal, env);
  }
  for (const proposal of changed) {
    for (const entry of entriesOf(state.entries, proposal.id)) {
      nameProposal(proposals, proposal, env, logs);
      judgeAgain(state.entries, entry, judgeEntry(proposals, logs, env, entry));
    }
    noteWhetherRecorded(state, proposals, proposal, env);
  }
}

function noteWhetherRecorded(
  state: DecisionsState,
  proposals: ProposalsState,
  proposal: Proposal,
  env: Env,
): void {
  const isRatified = proposal.outcome?.status === "ratified";
  if (isRatified && proposal.content !== undefined && !isRecorded(state, proposal.id)) {
    state.unrecorded.add(proposal.key);
    return;
  }
  state.unrecorded.delete(proposal.key);
  // An auditor is no agent of the wire: it lists what follows from the logs, recorded or not.
  const isAgent = env.layout.roster.includes(env.self);
  if (isRatified && proposal.settled && isAgent) dropContent(proposals, proposal);
}

/** Whether decisions.jsonl has a proved entry of that proposal, as far as it was read. */
export function isRecorded(state: DecisionsState, proposalId: string): boolean {
  return entriesOf(state.entries, proposalId).some(({ verdict }) => verdict.is === "proved");
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
  for (const { id, verdict, record, signedBy } of doubtfulEntries(state.entries)) {
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
  const since = proposal.outcome?.line ?? Infinity;
  const last = lastBeat(logs, log);
  const lastMs = last?.at ?? proposal.at;
  // An entry comes from another machine with the beats after it, or before them.
  if (beatsFrom(logs, log, since + 1).length >= BEATS_WITHOUT_ENTRY) {
    return env.reading.caughtUp(log, lastMs);
  }
  const dueMs = lastMs + CADENCES_OF_SILENCE * advertisedCadence(last?.cadenceMs, env);
  return now.wallMs >= dueMs && env.reading.caughtUp(log, dueMs);
}

/** The proved entry of each proposal: readers count one, however often it was recorded. */
export function provedEntries(state: DecisionsState): JudgedEntry[] {
  const first = new Map<string, JudgedEntry>();
  for (const entry of state.entries.all.values()) {
    const id = entry.record.proposal_id;
    if (entry.verdict.is === "proved" && id !== undefined && !first.has(id)) first.set(id, entry);
  }
  return [...first.values()];
}

/** The proved decisions that revise another one, by what they name in `supersedes`. */
export function revisionsIn(proved: readonly JudgedEntry[]): ReadonlyMap<string, EntryRecord[]> {
  const revisions = new Map<string, EntryRecord[]>();
  for (const { record } of proved) {
    const { supersedes } = record;
    if (supersedes === undefined || supersedes === null) continue;
    const same = revisions.get(supersedes);
    if (same === undefined) revisions.set(supersedes, [record]);
    else same.push(record);
  }
  return revisions;
}

/** Whether a revision supersedes a proved decision: all who agreed to that one have agreed to it. */
export function isSuperseded(
  { record: { decision_id: id, proposal_id: proposalId, acked_by: parties = [] } }: JudgedEntry,
  revisions: ReturnType<typeof revisionsIn>,
): boolean {
  return [id, proposalId].some((name) =>
    revisions
      .get(name ?? "")
      ?.some(({ acked_by }) => parties.every((party) => acked_by?.includes(party) === true)),
  );
}
