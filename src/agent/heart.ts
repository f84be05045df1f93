import { readAnswer } from "../protocol/asks/ask-line.ts";
import { countField, field } from "../protocol/body.ts";
import {
  beatDueMs,
  bringForward,
  NEW_BEAT_TIMER,
  restartTimer,
  type BeatTimer,
} from "../protocol/beats/beat-timer.ts";
import { beatBody, composeBeat, type BeatWords } from "../protocol/beats/compose.ts";
import {
  changePace,
  fastestTier,
  NEW_PACE,
  type Pace,
  type PaceEvent,
} from "../protocol/beats/pace.ts";
import { bindingClaims, rivalsOf } from "../protocol/claims/standing.ts";
import type { HeldLine, StoreWriter } from "../store/store.ts";
import type { HeartbeatTier } from "../trust/policy/heartbeat-tiers.ts";
import type { Draft } from "../wire/compose.ts";
import { SECOND_MS } from "../wire/durations.ts";
import { claimFacts } from "./answers/claims.ts";
import type { Core } from "./core.ts";
import {
  changeOwnState,
  notWokenNow,
  readOwnState,
  stateToSay,
  writeOwnState,
  type StateChange,
} from "./own-state.ts";
import { readParked } from "./parked.ts";

/** Lines of ours by which a peer sees that our state has changed, answers aside. Spec 4.9. */
const STATE_CHANGES: ReadonlySet<string> = new Set(["ship", "warning", "decision", "release"]);
/** While nothing may be signed it is tried again after this time. */
const UNREADY_MS = 5 * SECOND_MS;
/** Of what one round has delivered, so much is looked at for the pace of its authors. */
const MOST_DELIVERED = 256;
/** Asks of one thread that are looked at for rival proposals. */
const MOST_RIVALS = 64;
const REFUSES_NOTHING: ReadonlySet<string | null> = new Set(["mail", "passed", null]);

/**
 * The beats of our agent: when they are due, what they say of it, and what it has done itself. Tiers and timers live
 * as long as the process; what the agent said is in the store. Spec 3.2.1, 4.9.
 */
export class Heart {
  readonly #core: Core;
  #paces: Map<string, Pace> = new Map();
  #timer: BeatTimer = NEW_BEAT_TIMER;
  /** A beat is due no later than then: monotonic ms. */
  #byMs = Infinity;
  /** The last mail that was looked at, in the order of delivery. */
  #delivered: number;
  /** Whether our last beat said `paused`; undefined before the first one. */
  #wasPaused: boolean | undefined;

  constructor(core: Core) {
    this.#core = core;
    this.#delivered = core.store.mail.last();
  }

  /** When the next beat is due: monotonic ms. Infinity while nobody reads our beats. */
  get dueMs(): number {
    if (this.#peers.length === 0) return Infinity;
    return Math.min(this.#byMs, beatDueMs(this.#timer, this.cadenceMs));
  }

  /** ms between two beats now. */
  get cadenceMs(): number {
    return this.#core.place.tiers.cadencesMs[this.#tier];
  }

  /** A beat is due no later than then: monotonic ms. */
  beatBy(monoMs: number): void {
    this.#byMs = Math.min(this.#byMs, monoMs);
  }

  /** Once a round: what lines cannot show by themselves. */
  look(): void {
    const { store, safeMode, world } = this.#core;
    const delivered = store.mail.last();
    if (delivered > this.#delivered) {
      const mail = store.mail.after({}, this.#delivered, MOST_DELIVERED);
      this.#delivered = delivered;
      this.#bringForward();
      for (const author of new Set(mail.flatMap((n) => store.line(n)?.author ?? [])))
        this.#change(author, { is: "mail" });
    }
    if ([...this.#paces.values()].some(({ conflicts }) => conflicts.length > 0)) {
      const contested = new Set(this.#contested().map(({ thread }) => thread));
      const { headsDown: isHeadsDown } = readOwnState(store);
      const open = (thread: string): boolean =>
        contested.has(thread) || this.#proposers(thread).isOpen;
      this.#changeAll({ is: "conflicts", open, isHeadsDown });
    }
    const isPaused = stateToSay(store, safeMode) === "paused";
    if (this.#wasPaused !== undefined && this.#wasPaused !== isPaused)
      this.beatBy(world.clock.monoMs());
  }

  /** A line was taken in or signed: within its transaction. Historical lines change no pace. */
  take(line: HeldLine): void {
    const { self } = this.#core.place;
    if (!line.isLive || line.type === "heartbeat") return;
    if (line.isOurs && !REFUSES_NOTHING.has(line.verdict)) this.#bringForward();
    if (line.author === self) this.#takeOwn(line);
    if (line.type === "proposal") {
      const { authors } = this.#proposers(line.thread);
      const rivals = line.author === self ? authors : authors.filter((each) => each === self);
      for (const rival of rivals)
        if (rival !== line.author)
          this.#conflict(line.author === self ? rival : line.author, line.thread);
    }
    if (line.type === "claim")
      for (const { peer, thread } of this.#contested()) this.#conflict(peer, thread);
  }

  /** The agent, or its tool, says what it does. */
  setState(change: StateChange): void {
    const { store, world } = this.#core;
    const nowMs = Math.floor(world.clock.wallMs());
    const { headsDown } = change;
    this.#changeAll({ is: headsDown === true ? "heads_down" : "state_change" });
    const isDown = this.#isDown;
    store.write((into) => {
      const own = changeOwnState(readOwnState(store), change, nowMs);
      writeOwnState(into, store, { ...own, headsDown: own.headsDown && isDown });
    });
    // Who writes to us has to know that nobody is woken.
    if (Object.keys(change.notWoken ?? {}).length > 0) this.beatBy(world.clock.monoMs());
  }

  /** Within a transaction: the agent itself has sent or read something. */
  noteAct(into: StoreWriter): void {
    const { store, world } = this.#core;
    writeOwnState(into, store, { lastSeenMs: Math.floor(world.clock.wallMs()) });
  }

  /**
   * Signs a beat now: chained when it says something new. False: nothing may be signed, and nothing is wanted.
   *
   * @param isLast the daemon stops: the beat says `paused`, and that the next one comes at the pace of T3
   */
  beat(isLast = false): boolean {
    const { world, store, place, readiness, safeMode } = this.#core;
    const nowMs = Math.floor(world.clock.wallMs());
    const mayChain = readiness.is === "ready";
    const said = this.#lastSaid();
    const own = readOwnState(store);
    const state = isLast ? "paused" : stateToSay(store, safeMode);
    const words = this.#compose(nowMs, state === "busy", said.isBusy);
    // A key that may be in use elsewhere signs nothing but what asks for its own lines.
    if (!mayChain && words.wants.length === 0) {
      this.#restart(UNREADY_MS);
      return false;
    }
    this.#paces = this.#pacesAfterBeat(nowMs);
    const tier = this.#tier;
    const cadenceMs = place.tiers.cadencesMs[isLast ? "T3_long_idle" : tier];
    const isStart = this.#wasPaused === undefined;
    const wakeups = Math.max(own.wakeups, said.wakeups) + (isStart ? 1 : 0);
    const status = {
      ...{ wakeups, state, tier, nextMs: nowMs + cadenceMs },
      unread: store.mail.count({ unread: true }),
      lastAction: place.hidesLastAction === true ? undefined : (own.lastAction ?? undefined),
      agentLastSeenMs: own.lastSeenMs ?? undefined,
      notWoken: notWokenNow(own, this.#peers, nowMs),
    };
    const subject = state === "paused" ? "paused" : "alive";
    const body = beatBody(status, words);
    const draft: Draft = { to: ["*"], type: "heartbeat", subject, priority: "low", body };
    store.write((into) => {
      store.beats(place.self).noteSaid(words, nowMs);
      writeOwnState(into, store, { wakeups, headsDown: own.headsDown && this.#isDown });
      if (words.isChained) this.#core.say(into, draft);
      else this.#core.sayLoose(into, draft);
    });
    this.#wasPaused = state === "paused";
    this.#restart(cadenceMs);
    return true;
  }

  /** The wall clock was set back to then, ms of Unix time. */
  setBack(wallMs: number): void {
    const { store } = this.#core;
    const { sinceMs, lastSeenMs } = readOwnState(store);
    const atMost = (ms: number | null): number | null => ms && Math.min(ms, wallMs);
    store.write((into) => {
      writeOwnState(into, store, { sinceMs: atMost(sinceMs), lastSeenMs: atMost(lastSeenMs) });
    });
  }

  #restart(cadenceMs: number): void {
    const { clock, random } = this.#core.world;
    this.#byMs = Infinity;
    this.#timer = restartTimer(this.#timer, { nowMs: clock.monoMs(), cadenceMs, random: random() });
  }

  #compose(nowMs: number, isBusy: boolean, wasBusy: boolean): BeatWords {
    const core = this.#core;
    const { store, place, readiness } = core;
    const { self } = place;
    return composeBeat(
      {
        ...{ self, nowMs, isBusy, wasBusy, owesIncident: this.#owesIncident() },
        turn: store.chains.whole(self).seq + 1,
        mayChain: readiness.is === "ready",
        lackedMark: core.lackedMark,
        isReadToEnd: (author, sinceMs) => (core.knownMs(author) ?? -Infinity) > sinceMs,
      },
      store.beats(self),
    );
  }

  /** What our last chained beat says: it may have been written before our store was lost. */
  #lastSaid(): { readonly isBusy: boolean; readonly wakeups: number } {
    const { store, history, place } = this.#core;
    const tip = store.chains.tip(place.self);
    const body = tip === undefined ? undefined : history.lastBeats(tip, Infinity)[0]?.body;
    if (body === undefined) return { isBusy: false, wakeups: 0 };
    return {
      isBusy: field(body, "state") === "busy",
      wakeups: countField(body, "wakeup_count") ?? 0,
    };
  }

  #owesIncident(): boolean {
    const { store, place } = this.#core;
    return store.owed.incidents(place.self, "all", 1).length > 0;
  }

  /** Other members; none once our agent is no member: nobody asks for its beats. */
  get #peers(): readonly string[] {
    const { members, place } = this.#core;
    return members.has(place.self) ? [...members.keys()].filter((each) => each !== place.self) : [];
  }

  get #tier(): HeartbeatTier {
    const { store, place } = this.#core;
    if ((readParked(store)?.stop ?? null) !== null) return "T3_long_idle";
    return fastestTier(
      this.#peers.map((peer) => this.#pace(peer)),
      place.tiers,
    );
  }

  get #isDown(): boolean {
    return this.#peers.some((peer) => this.#pace(peer).tier === "T0_HEADS_DOWN");
  }

  #pace(peer: string): Pace {
    const known = this.#paces.get(peer);
    if (known !== undefined) return known;
    const { store, place } = this.#core;
    const { headsDown } = readOwnState(store);
    return headsDown ? changePace(NEW_PACE, { is: "heads_down" }, place.tiers) : NEW_PACE;
  }

  #change(peer: string, event: PaceEvent): void {
    if (!this.#peers.includes(peer)) return;
    this.#paces.set(peer, changePace(this.#pace(peer), event, this.#core.place.tiers));
  }

  #changeAll(event: PaceEvent): void {
    for (const peer of this.#peers) this.#change(peer, event);
  }

  #pacesAfterBeat(atMs: number): Map<string, Pace> {
    const { store, place } = this.#core;
    const unread = new Set(store.mail.unread().map(({ author }) => author));
    return new Map(
      this.#peers.map((peer) => [
        peer,
        changePace(
          this.#pace(peer),
          { is: "beat", atMs, hasUnread: unread.has(peer) },
          place.tiers,
        ),
      ]),
    );
  }

  #bringForward(): void {
    this.#timer = bringForward(this.#timer, this.#core.world.clock.monoMs());
  }

  #takeOwn(line: HeldLine): void {
    const read = this.#core.history.linked(line);
    if (read === undefined) return;
    const isAnswer = (["proposal", "request"] as const).some(
      (is) => line.type === "ack" && readAnswer(read, is) !== undefined,
    );
    const to = read.to ?? ["*"];
    for (const peer of this.#peers) {
      if (!to.includes("*") && !to.includes(peer)) continue;
      this.#change(peer, { is: "mail" });
      if (isAnswer || STATE_CHANGES.has(line.type)) this.#change(peer, { is: "state_change" });
    }
  }

  /** A conflict that goes on does not begin again. */
  #conflict(peer: string, thread: string): void {
    if (!this.#pace(peer).conflicts.includes(thread))
      this.#change(peer, { is: "conflict", thread });
  }

  /** Who has proposed something in a thread, and whether any of it is open. */
  #proposers(thread: string): { readonly authors: readonly string[]; readonly isOpen: boolean } {
    const parts = this.#core.store.asks.ofThread(thread, MOST_RIVALS);
    const proposals = parts.filter(({ ask }) => ask.is === "proposal");
    return {
      authors: [...new Set(proposals.map(({ ask }) => ask.place.author))],
      isOpen: proposals.some(({ state }) => state === "open" || state === "waits"),
    };
  }

  /** Claims of others that are contested with one of ours. */
  #contested(): readonly { readonly peer: string; readonly thread: string }[] {
    const { place, world } = this.#core;
    const facts = claimFacts(this.#core, world.clock.wallMs());
    const binding = bindingClaims(facts);
    return binding
      .filter(({ line }) => line.place.author === place.self)
      .flatMap((claim) => rivalsOf(claim, binding, facts))
      .filter(({ is }) => is === "contested")
      .map(({ claim: { line } }) => ({ peer: line.place.author, thread: line.thread }));
  }
}
