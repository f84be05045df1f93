import { HOUR_MS } from "../../wire/durations.ts";
import type { NoticedEvent } from "../events.ts";
import { MAX_NOTICES_PER_HOUR } from "../notices.ts";
import { matterKey, type AgentNotice, type Matter, type PeerStanding } from "./agent-notice.ts";

/** Keys of matters that were told are remembered, oldest forgotten first. */
const MAX_KNOWN_MATTERS = 4_096;
/** Matters of our own that wait to be told; beyond, the oldest are dropped. */
const MAX_DUE_MATTERS = 1_024;
/** The same of one peer: more would not be told anyway. So none can push out what is not its own. */
const MAX_DUE_OF_PEER = MAX_NOTICES_PER_HOUR + 2;
/** Notices that are kept for the agent's list; the file has the older ones too. @internal */
export const MAX_LISTED_NOTICES = 256;

/** What our agent was told by its daemon. Spec 3.12. */
export interface AgentNoticesState {
  /** Nothing that happened before the first `noticed` event is told: an older version did not tell. */
  began: boolean;
  /** What has happened and was not told yet, by key. */
  readonly due: Map<string, Matter>;
  readonly known: Set<string>;
  /** When within the last hour, by peer. */
  readonly recent: Map<string, number[]>;
  /** The newest, oldest first. */
  notices: ListedNotice[];
  /** What our agent was told last of each peer that is not well. */
  readonly peers: Map<string, PeerStanding>;
  /** The escalation by which there is safe mode, as our agent was told. */
  safeMode: string | null;
}

export interface ListedNotice extends AgentNotice {
  read: boolean;
}

export function emptyAgentNotices(): AgentNoticesState {
  return {
    began: false,
    due: new Map(),
    known: new Set(),
    recent: new Map(),
    notices: [],
    peers: new Map(),
    safeMode: null,
  };
}

/** Notes what happened, to be told when the next round decides. */
export function note(state: AgentNoticesState, matters: readonly Matter[]): void {
  for (const matter of matters) {
    const key = matterKey(matter);
    if (state.known.has(key) || state.due.has(key)) continue;
    const others = [...state.due].filter(([, { peer }]) => peer === matter.peer);
    if (matter.peer !== undefined && others.length >= MAX_DUE_OF_PEER) continue;
    const [oldest] = others[others.length - MAX_DUE_MATTERS] ?? [];
    if (oldest !== undefined) state.due.delete(oldest);
    state.due.set(key, matter);
  }
}

export function takeNoticed(state: AgentNoticesState, event: NoticedEvent): void {
  state.began = true;
  for (const { peer, ...notice } of event.notices) {
    know(state, matterKey(notice));
    state.notices = [...state.notices, { ...notice, read: false }].slice(-MAX_LISTED_NOTICES);
    if (peer === undefined) continue;
    const times = [...withinHour(state, peer, event.at), event.at];
    state.recent.set(peer, times.slice(-MAX_NOTICES_PER_HOUR - 1));
  }
  for (const key of event.passed ?? []) know(state, key);
  for (const [peer, standing] of event.peers ?? []) {
    if (standing === "well") state.peers.delete(peer);
    else state.peers.set(peer, standing);
  }
  if (event.safeMode !== undefined) state.safeMode = event.safeMode;
}

function know(state: AgentNoticesState, key: string): void {
  state.due.delete(key);
  state.known.add(key);
  const oldest = state.known.keys().next().value;
  if (state.known.size > MAX_KNOWN_MATTERS && oldest !== undefined) state.known.delete(oldest);
}

export function takeRead(state: AgentNoticesState, ids: readonly string[] | "all"): void {
  const read = new Set(ids === "all" ? [] : ids);
  for (const notice of state.notices) if (ids === "all" || read.has(notice.id)) notice.read = true;
}

/** When that peer was told of within the hour before. */
export function withinHour(
  state: AgentNoticesState,
  peer: string,
  nowMs: number,
): readonly number[] {
  return (state.recent.get(peer) ?? []).filter((at) => at > nowMs - HOUR_MS);
}

/** The newest notices, oldest first. */
export function agentNoticesView(state: AgentNoticesState, unreadOnly: boolean): ListedNotice[] {
  return state.notices.filter(({ read }) => !unreadOnly || !read).map((notice) => ({ ...notice }));
}

export function unreadNotices({ notices }: AgentNoticesState): number {
  return notices.filter(({ read }) => !read).length;
}

/** Our clock was set back to `at`: no limit counts what seems to have been told later. Spec 4.1. */
export function setAgentNoticesBack(state: AgentNoticesState, at: number): void {
  for (const [peer, times] of state.recent) {
    state.recent.set(
      peer,
      times.map((each) => Math.min(each, at)),
    );
  }
}
