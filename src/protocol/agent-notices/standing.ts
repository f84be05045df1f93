import type { Env } from "../env.ts";
import { onlinePeers, silentPeers } from "../heartbeats/liveness.ts";
import { safeModeEnd, type SafeMode } from "../escalations/safe-mode-end.ts";
import { safeMode } from "../incidents/safe-mode.ts";
import type { State } from "../state.ts";
import { pendingView } from "../threads/threads-view.ts";
import type { Matter, NoticeNews, PeerStanding } from "./agent-notice.ts";

/** Changes of what lasts: our agent is told when they begin and when they end. */
interface StandingNews extends Required<Pick<NoticeNews, "peers">>, Pick<NoticeNews, "safeMode"> {
  readonly matters: readonly Matter[];
}

/** What is different from what our agent was told last. Spec 3.12. */
export function standingNews(state: State, env: Env, nowMs: number): StandingNews {
  const peers = changedPeers(state, env, nowMs);
  const told = state.agentNotices.safeMode;
  const mode = safeMode(state.incidents, env);
  const escalation = mode?.escalation_id ?? null;
  return {
    peers,
    ...(escalation === told ? {} : { safeMode: escalation }),
    matters: [
      ...peers.flatMap(([peer, standing]) => peerMatter(state, env, nowMs, peer, standing)),
      ...(escalation === told ? [] : safeModeMatter(told, mode, env)),
    ],
  };
}

/** Of several escalations one is told at a time: when it ends, another one may go on. */
function safeModeMatter(told: string | null, mode: SafeMode | undefined, env: Env): Matter[] {
  if (mode === undefined) return told === null ? [] : [safeModeEnded(told)];
  const { of, author, escalation_id: about } = mode;
  const verb = told === null ? "has begun" : "goes on";
  const text =
    `Safe mode ${verb}, because ${of} did not ack an incident of ${author} in time: ` +
    `most messages are not sent; ${safeModeEnd(mode, env.self, "agent")}.`;
  return [{ kind: "safe_mode_begun", about, text, peer: undefined }];
}

function safeModeEnded(escalation: string): Matter {
  const text = "Safe mode has ended: all messages are sent again.";
  return { kind: "safe_mode_ended", about: escalation, text, peer: undefined };
}

function changedPeers(state: State, env: Env, nowMs: number): [string, PeerStanding][] {
  const { heldPeers } = env.reading;
  const silent = new Set(silentPeers(state.heartbeats, env, nowMs));
  const online = new Set(onlinePeers(state.heartbeats, env, nowMs));
  return env.layout.members.flatMap((peer): [string, PeerStanding][] => {
    if (peer === env.self) return [];
    const told = state.agentNotices.peers.get(peer) ?? "well";
    let standing = told;
    if (heldPeers.has(peer)) standing = "held";
    else if (silent.has(peer)) standing = "silent";
    else if (told === "held" || online.has(peer)) standing = "well";
    return standing === told ? [] : [[peer, standing]];
  });
}

/** Only while something is owed between the two: otherwise the agent waits for nothing. */
function peerMatter(
  state: State,
  env: Env,
  nowMs: number,
  peer: string,
  standing: PeerStanding,
): Matter[] {
  const pending = pendingView(state, env, nowMs);
  const byIt = pending.filter(({ from, owed_by }) => from === env.self && owed_by === peer).length;
  const byUs = pending.filter(({ from, owed_by }) => from === peer && owed_by === env.self).length;
  if (byIt + byUs === 0) return [];
  const beat = state.heartbeats.peerBeats.get(peer);
  const since = new Date(beat?.at ?? nowMs).toISOString();
  const owed = owedText(byIt, byUs);
  const about = `${peer} ${new Date(nowMs).toISOString()}`;
  switch (standing) {
    case "held": {
      const text = `Nothing more of ${peer} is taken in until your operator decides (deaddrop peer show ${peer}), and ${owed}.`;
      return [{ kind: "peer_held", about, text, peer }];
    }
    case "silent": {
      const text = `${peer} is silent, its last heartbeat came at ${since}, and ${owed}.`;
      return [{ kind: "peer_silent", about: `${peer} ${since}`, text, peer }];
    }
    case "well":
      return [{ kind: "peer_back", about, text: `${peer} is back, and ${owed}.`, peer }];
  }
}

function owedText(byIt: number, byUs: number): string {
  const parts = [
    ...(byIt === 0 ? [] : [`it owes you ${answers(byIt)}`]),
    ...(byUs === 0 ? [] : [`you owe it ${answers(byUs)}`]),
  ];
  return parts.join(" and ");
}

function answers(count: number): string {
  return count === 1 ? "1 answer" : `${count} answers`;
}
