import { decide, apply } from "../../../src/protocol/core.ts";
import type { Effect } from "../../../src/protocol/effects.ts";
import type { Env } from "../../../src/protocol/env.ts";
import type { CoreEvent } from "../../../src/protocol/events.ts";
import {
  beatWritten,
  newBeatTimers,
  planBeats,
} from "../../../src/protocol/heartbeats/beat-timers.ts";
import { toldEvent } from "../../../src/protocol/notices.ts";
import { unreadView } from "./unread-view.ts";
import { emptyState, type State } from "../../../src/protocol/state.ts";
import {
  lineEvent,
  scriptEnv,
  type Saying,
  type ScriptLine,
  type WireScript,
} from "./wire-script.ts";

/** What the daemon of a model agent wrote, and when. */
export interface Written {
  readonly by: string;
  readonly line: ScriptLine;
  readonly at: number;
}

/**
 * One agent of the model: the whole protocol core as a daemon would run it, over lines that reach it
 * when the model says so, and an agent that reads, works and answers when the model says so. What
 * really happened is noted beside it: when the agent had read a message and was not busy.
 */
export class ClockAgent {
  readonly state: State = emptyState();
  readonly env: Env;
  readonly written: Written[] = [];
  /** By event id, when the agent had read it and was not busy. */
  readonly freeSince = new Map<string, number>();
  /** Logs of others do not reach it for a while. */
  isCutOff = false;
  #isBusy = false;
  #timers = newBeatTimers();
  readonly #readWhileBusy = new Set<string>();
  readonly #taken = new Map<string, number>();
  readonly #script: WireScript;
  readonly log: string;

  constructor(script: WireScript, handle: string, change: Parameters<typeof scriptEnv>[3]) {
    this.#script = script;
    const caughtUp = (log: string): boolean => this.#isRead(log);
    this.env = scriptEnv(script.layout, handle, {}, { ...change, caughtUp });
    const own = [...script.layout.logs.values()].find(({ owner }) => owner === handle);
    this.log = own?.name ?? handle;
  }

  get handle(): string {
    return this.env.self;
  }

  #isRead(log: string): boolean {
    return (this.#taken.get(log) ?? 0) === (this.#script.lines.get(log)?.length ?? 0);
  }

  #fold(event: CoreEvent): void {
    apply(this.state, event, this.env);
  }

  /** The daemon takes in what has reached it, and does what is to do. */
  tick(at: number): void {
    const now = { wallMs: at, monoMs: at };
    if (!this.isCutOff) this.#takeIn(at);
    this.#timers = planBeats(this.#timers, this.state.receipts, this.env, now);
    for (const effect of decide(this.state, this.env, now, this.#timers)) this.#run(effect, at);
  }

  #takeIn(at: number): void {
    for (const [name, lines] of this.#script.lines) {
      const from = this.#taken.get(name) ?? 0;
      this.#taken.set(name, lines.length);
      for (const line of lines.slice(from)) this.#fold(lineEvent(line, this.handle, { at }));
    }
  }

  #run(effect: Effect, at: number): void {
    if (effect.do === "beat") {
      this.#write(effect.log, at, { type: "heartbeat", body: effect.body });
      const now = { wallMs: at, monoMs: at };
      const { heartbeats } = this.state;
      this.#timers = beatWritten(this.#timers, effect.log, heartbeats, this.env, now, 0.5);
    } else if (effect.do === "send") {
      const { type, subject, to, correlationId, body } = effect.draft;
      const thread = correlationId === undefined ? {} : { thread: correlationId };
      const line = this.#write(effect.log, at, { type, subject, to, ...thread, body });
      this.written.push({ by: this.handle, line, at });
    } else if (effect.do === "mirror") {
      this.#fold({ kind: "mirrored", id: effect.id, at });
    } else if (effect.do === "tell") {
      this.#fold(toldEvent(effect.incident, at));
    }
  }

  #write(log: string, at: number, saying: Saying): ScriptLine {
    // Its own lines come first: a daemon never overtakes itself.
    this.#takeOwn(log, at);
    const line = this.#script.say(log, at, saying);
    this.#takeOwn(log, at);
    return line;
  }

  #takeOwn(log: string, at: number): void {
    const lines = this.#script.lines.get(log) ?? [];
    for (const line of lines.slice(this.#taken.get(log) ?? 0)) {
      this.#fold(lineEvent(line, this.handle, { at }));
    }
    this.#taken.set(log, lines.length);
  }

  /** The agent writes a message. What it answers, and all before that in the same log, it has read. */
  say(at: number, saying: Saying, answered?: string): void {
    const unread = unreadView(this.state.receipts);
    const last = unread.find(({ id }) => id === answered);
    this.#write(this.log, at, saying);
    const read = unread.filter(({ log, line }) => log === last?.log && line <= last.line);
    this.#noteRead(
      [...read.map(({ id }) => id), ...(answered === undefined ? [] : [answered])],
      at,
    );
  }

  /** The agent marks the oldest of its messages as read. */
  read(at: number, count: number): void {
    const ids = unreadView(this.state.receipts)
      .slice(0, count)
      .map(({ id }) => id);
    this.#fold({ kind: "read", ids, at });
    this.#noteRead(ids, at);
  }

  #noteRead(ids: readonly string[], at: number): void {
    for (const id of ids) {
      if (this.#isBusy) this.#readWhileBusy.add(id);
      else if (!this.freeSince.has(id)) this.freeSince.set(id, at);
    }
  }

  /** The agent begins to work, or has done. */
  work(at: number, isBusy: boolean): void {
    this.#isBusy = isBusy;
    this.#fold({ kind: "status", at, state: isBusy ? "busy" : "idle" });
    if (isBusy) return;
    this.#noteRead([...this.#readWhileBusy], at);
    this.#readWhileBusy.clear();
  }
}
