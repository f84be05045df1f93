import {
  beatWritten,
  newBeatTimers,
  nextBeatDueMs,
  planBeats,
} from "../../../src/protocol/heartbeats/beat-timers.ts";
import { decideBeats } from "../../../src/protocol/heartbeats/beats.ts";
import { applyHeartbeats, emptyHeartbeats } from "../../../src/protocol/heartbeats/heartbeats.ts";
import { decideIncidents } from "../../../src/protocol/incidents/incident-deadlines.ts";
import { applyIncidents } from "../../../src/protocol/incidents/incidents.ts";
import { emptyIncidents } from "../../../src/protocol/incidents/incident-state.ts";
import { applyLogs } from "../../../src/protocol/logs/logs.ts";
import { emptyLogs } from "../../../src/protocol/logs/logs-state.ts";
import { applyNotices, emptyNotices } from "../../../src/protocol/notices.ts";
import { applyReceipts } from "../../../src/protocol/receipts/receipts.ts";
import { emptyReceipts, unreadCount } from "../../../src/protocol/receipts/receipts-state.ts";
import type { Effect } from "../../../src/protocol/effects.ts";
import type { CoreEvent } from "../../../src/protocol/events.ts";
import type { Env, Now } from "../../../src/protocol/env.ts";
import { lineEvent, type Saying, type ScriptLine, type WireScript } from "./wire-script.ts";

/** One agent's view of a script: the parts of the fold that are tested here, and its timers. */
export class ScriptedAgent {
  readonly logs = emptyLogs();
  readonly receipts = emptyReceipts();
  readonly heartbeats = emptyHeartbeats();
  readonly incidents = emptyIncidents();
  readonly notices = emptyNotices();
  readonly openConflicts = new Set<string>();
  readonly events: CoreEvent[] = [];
  timers = newBeatTimers();
  jitter = 0.5;
  private readonly taken = new Map<string, number>();
  private readonly script: WireScript;
  readonly env: Env;

  constructor(script: WireScript, env: Env) {
    this.script = script;
    this.env = env;
  }

  get self(): string {
    return this.env.self;
  }

  fold(event: CoreEvent): void {
    this.events.push(event);
    const touched = applyLogs(this.logs, event, this.env);
    applyReceipts(this.receipts, event, this.env, this.logs, touched);
    applyHeartbeats(this.heartbeats, event, this.env, {
      hasUnread: (peer) => unreadCount(this.receipts, this.env, peer) > 0,
      contested: [],
      isConflictOpen: (thread) => this.openConflicts.has(thread),
    });
    applyIncidents(this.incidents, event, this.env, this.logs, touched);
    applyNotices(this.notices, event);
  }

  /** Takes in what stands in the logs, as of `at`, and plans beats. */
  read(now: Now): void {
    for (const [name, lines] of this.script.lines) {
      for (const line of lines.slice(this.taken.get(name) ?? 0)) this.take(line, now.wallMs);
    }
    this.timers = planBeats(this.timers, this.receipts, this.env, now);
  }

  say(log: string, now: Now, saying: Saying): ScriptLine {
    const line = this.script.say(log, now.wallMs, saying);
    this.take(line, now.wallMs);
    return line;
  }

  /** Writes the beats that are due; returns them. */
  beat(now: Now): ScriptLine[] {
    const beats = decideBeats(this, this.env, now, this.timers);
    return beats.flatMap((effect) => (effect.do === "beat" ? this.write(effect, now) : []));
  }

  write(effect: Extract<Effect, { do: "beat" }>, now: Now): ScriptLine {
    const line = this.say(effect.log, now, { type: "heartbeat", body: effect.body });
    this.timers = beatWritten(this.timers, effect.log, this.heartbeats, this.env, now, this.jitter);
    return line;
  }

  decideIncidents(now: Now): Effect[] {
    return decideIncidents(this, this.env, now);
  }

  nextDueMs(): number {
    return nextBeatDueMs(this.timers, this.heartbeats, this.env);
  }

  private take(line: ScriptLine, at: number): void {
    this.taken.set(line.log, line.line);
    this.fold(lineEvent(line, this.self, { at }));
  }
}

/** A moment on both clocks, which here run together. */
export function moment(ms: number): Now {
  return { wallMs: ms, monoMs: ms };
}

/** Lets the agents read and beat until `end`, at the moments at which their beats are due. */
export function runUntil(
  agents: readonly ScriptedAgent[],
  from: number,
  end: number,
): ScriptLine[] {
  const beats: ScriptLine[] = [];
  let at = from;
  for (;;) {
    for (const agent of agents) agent.read(moment(at));
    for (const agent of agents) beats.push(...agent.beat(moment(at)));
    for (const agent of agents) agent.read(moment(at));
    const next = Math.min(...agents.map((agent) => agent.nextDueMs()));
    if (!(next <= end)) return beats;
    at = Math.max(next, at + 1);
  }
}
