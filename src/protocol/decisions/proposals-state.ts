import { forgetDeciding, forgetPlain, noKnownLines, type KnownLines } from "../logs/known-lines.ts";
import type { Proposal } from "./proposal.ts";
import type { Env } from "../env.ts";
import { sizeOf, topicKey, type Topic } from "./proposal-thread.ts";
import { EVICTION_BATCH, ROOM } from "../bounds.ts";

/** Threads kept for outcomes; beyond, the one untouched for longest goes. */
const MAX_TOPICS = 4_096;
/** The same where the oldest have open proposals: these go last. */
const MAX_OPEN_TOPICS = 16_384;
/** Lines remembered in all threads: beyond, whole threads go as above, until there is room again. */
const MAX_ALL_LINES = 131_072;
const MAX_ALL_OPEN_LINES = 2 * MAX_ALL_LINES;
/** Texts kept of open proposals by peers. Ours stay: no peer makes us forget what we record. */
const MAX_CONTENTS = 1_024;

/** Proposals of another layout that are remembered: ratified ones before others. */
const MAX_MOVES = 1_024;

/** Proposals, and what became of them. Spec 3.4. A function of the logs, not of arrival. */
export interface ProposalsState {
  /** Least recently touched first. */
  readonly topics: Map<string, Topic>;
  /** The messages of all topics. */
  readonly names: KnownLines;
  /** In all topics. */
  lineCount: number;
  readonly proposals: Map<string, Proposal>;
  /** Proposals that the next beats of a log may decide, by that log. */
  readonly watched: Map<string, Set<string>>;
  /** Our own live ones that are open: deadlines run on them. */
  readonly running: Set<string>;
  /** Threads of ours whose counters do not converge. */
  readonly diverging: Set<string>;
  /** Those that ask for another layout, oldest first: the newest ones. Spec 3.11. */
  readonly moves: Set<string>;
  /** Peers' open proposals whose content is kept, oldest first. */
  readonly contents: Set<string>;
}

export function emptyProposals(): ProposalsState {
  return {
    topics: new Map(),
    names: noKnownLines(),
    lineCount: 0,
    proposals: new Map(),
    watched: new Map(),
    running: new Set(),
    diverging: new Set(),
    moves: new Set(),
    contents: new Set(),
  };
}

/** An unchained line may be in the logs of several pairs, with one id. */
export function proposalKey(id: string, log: string, chained: boolean): string {
  return chained ? id : `${id} ${log}`;
}

/** The proposals with that id: more than one only if an unchained one was broadcast. */
export function proposalsById(state: ProposalsState, id: string, env: Env): Proposal[] {
  const keys = [id, ...[...env.layout.logs.keys()].map((log) => proposalKey(id, log, false))];
  return keys.flatMap((key) => state.proposals.get(key) ?? []);
}

/** The proposals of a thread. */
export function proposalsIn(state: ProposalsState, topic: Topic): Proposal[] {
  const lines = [...topic.lines.values()].flat().filter((line) => line.says === "proposal");
  return lines.flatMap(
    (line) => state.proposals.get(proposalKey(line.id, line.log, line.chained)) ?? [],
  );
}

/** Those of them whose outcome may still come or change. */
export function openIn(state: ProposalsState, topic: Topic): Proposal[] {
  return proposalsIn(state, topic).filter(({ settled }) => !settled);
}

/** Whether rival proposals are still open under that correlation id: a conflict. Spec 3.1. */
export function isConflictOpen(state: ProposalsState, env: Env, correlationId: string): boolean {
  const logs = [...env.layout.logs.keys()];
  for (const key of new Set(logs.map((log) => topicKey(env.layout, log, correlationId)))) {
    const topic = state.topics.get(key);
    if (topic === undefined) continue;
    const open = openIn(state, topic).filter((proposal) => proposal.outcome === undefined);
    if (new Set(open.map((proposal) => proposal.from)).size > 1) return true;
  }
  return false;
}

/** The lowest line of a log whose beats may still decide a proposal. */
export function beatsNeeded(state: ProposalsState, log: string): number {
  return watchedIn(state, log)
    .filter(({ chained }) => chained)
    .reduce((lowest, { judgedTo }) => Math.min(lowest, judgedTo), Infinity);
}

/**
 * Beats below that line are forgotten, so what they decided, or timestamps before them, is final
 * now: no honest line comes as late as that.
 */
export function makeFinalBefore(state: ProposalsState, log: string, line: number): void {
  for (const proposal of watchedIn(state, log)) {
    const { chained, outcome, key } = proposal;
    if (chained || outcome === undefined || outcome.line >= line) continue;
    proposal.settled = true;
    state.watched.get(log)?.delete(key);
  }
}

function watchedIn(state: ProposalsState, log: string): Proposal[] {
  return [...(state.watched.get(log) ?? [])].flatMap((key) => state.proposals.get(key) ?? []);
}

/** Remembers a proposal that asks for another layout. */
export function keepMove(state: ProposalsState, key: string): void {
  state.moves.add(key);
  if (state.moves.size <= MAX_MOVES) return;
  const ended = [...state.moves].find(
    (each) => state.proposals.get(each)?.outcome?.status !== "ratified",
  );
  state.moves.delete(ended ?? key);
}

/** Keeps the content of the oldest of them no longer, when there are too many. */
export function keepContent(state: ProposalsState, key: string): void {
  state.contents.add(key);
  if (state.contents.size <= MAX_CONTENTS) return;
  const oldest = state.proposals.get(deleteFirst(state.contents) ?? "");
  if (oldest !== undefined) oldest.content = undefined;
}

/** Forgets the text of a proposal that we will not record any more. */
export function dropContent(state: ProposalsState, proposal: Proposal): void {
  state.contents.delete(proposal.key);
  proposal.content = undefined;
}

/** The first of a set, which is taken out. */
export function deleteFirst(set: Set<string>): string | undefined {
  const first = set.values().next().value;
  if (first !== undefined) set.delete(first);
  return first;
}

/** Makes room. Ratified proposals stay for good: entries of decisions.jsonl are proved by them. */
export function boundTopics(state: ProposalsState): void {
  const { size } = state.topics;
  if (size <= MAX_TOPICS || size % EVICTION_BATCH !== 0) return;
  const isEnough = (dropped: number): boolean => dropped === EVICTION_BATCH;
  dropTopics(state, isEnough, size > MAX_OPEN_TOPICS);
}

/** The same where few threads have many lines; the one that has just grown stays. */
export function boundLines(state: ProposalsState, grown: Topic): void {
  const { lineCount } = state;
  if (lineCount <= MAX_ALL_LINES || lineCount % EVICTION_BATCH !== 0) return;
  const isEnough = (): boolean => state.lineCount <= MAX_ALL_LINES - ROOM;
  dropTopics(state, isEnough, lineCount > MAX_ALL_OPEN_LINES, grown);
}

/** The one untouched for longest first; those with open proposals only when they may go too. */
function dropTopics(
  state: ProposalsState,
  isEnough: (dropped: number) => boolean,
  mayDropOpen: boolean,
  grown?: Topic,
): void {
  const open: Topic[] = [];
  let dropped = 0;
  for (const topic of state.topics.values()) {
    if (isEnough(dropped) || open.length === EVICTION_BATCH) break;
    if (topic === grown) continue;
    const isOpen = openIn(state, topic).some(
      (proposal) => proposal.outcome === undefined && proposal.problem === undefined,
    );
    if (isOpen) {
      open.push(topic);
    } else {
      dropTopic(state, topic);
      dropped += 1;
    }
  }
  for (const topic of mayDropOpen ? open : []) {
    if (isEnough(dropped)) break;
    dropTopic(state, topic);
    dropped += 1;
  }
}

function dropTopic(state: ProposalsState, topic: Topic): void {
  for (const [log, lines] of topic.lines) {
    for (const line of lines) {
      const key = proposalKey(line.id, log, line.chained);
      // A line of an outbox may be in a thread of a closed log, too.
      if (state.proposals.get(key)?.log === log) forget(state, key);
      forgetDeciding(state.names, log, line.id);
    }
  }
  forgetPlain(state.names, topic.number, topic.others);
  state.diverging.delete(topic.key);
  state.topics.delete(topic.key);
  state.lineCount -= sizeOf(topic);
}

function forget(state: ProposalsState, key: string): void {
  const proposal = state.proposals.get(key);
  if (proposal === undefined) return;
  proposal.settled = true;
  for (const watched of state.watched.values()) watched.delete(key);
  state.running.delete(key);
  if (proposal.outcome?.status === "ratified") return;
  state.moves.delete(key);
  dropContent(state, proposal);
  state.proposals.delete(key);
}
