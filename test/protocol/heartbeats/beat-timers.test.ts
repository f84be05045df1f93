import { describe, expect, test } from "vitest";
import { noUnread } from "../../../src/protocol/receipts/unread-lines.ts";
import {
  beatDueMs,
  beatWritten,
  newBeatTimers,
  nextBeatDueMs,
  planBeats,
  tierOfLog,
  type BeatTimer,
  type BeatTimers,
} from "../../../src/protocol/heartbeats/beat-timers.ts";
import { emptyHeartbeats, paceOf } from "../../../src/protocol/heartbeats/heartbeats.ts";
import { newPace } from "../../../src/protocol/heartbeats/pace.ts";
import {
  emptyReceipts,
  type ReceiptsState,
} from "../../../src/protocol/receipts/receipts-state.ts";
import type { HeartbeatTier } from "../../../src/protocol/env.ts";
import { makeLayout } from "../../../src/wire/layout.ts";
import { moment } from "../../support/scripts/scripted-agent.ts";
import { minutes, scriptEnv, seconds } from "../../support/scripts/wire-script.ts";

const ENV = scriptEnv(makeLayout("pairwise", ["ada", "bob", "eve"]), "ada");
const AT = 1_000_000;

const timer = (change: Partial<BeatTimer> = {}): BeatTimer => ({
  lastMs: AT,
  promisedMs: seconds(90),
  factor: 1,
  earlyMs: undefined,
  ...change,
});

const timersOf = (logs: Record<string, BeatTimer>, early: number[] = []): BeatTimers => ({
  logs: new Map(Object.entries(logs)),
  early,
});

/** The peers of whom something new came that no beat of ours has covered. */
function newsFrom(...peers: string[]): ReceiptsState {
  const receipts = emptyReceipts();
  for (const peer of peers) {
    const refused = { ranges: [], lastTaken: 0 };
    const taken = { refused, unread: noUnread(), more: undefined, readFloor: 0, news: 1 };
    receipts.taken.set(`${peer}_to_ada`, taken);
  }
  return receipts;
}

function paced(tiers: Record<string, HeartbeatTier>) {
  const state = emptyHeartbeats();
  for (const [peer, tier] of Object.entries(tiers)) paceOf(state, peer).tier = tier;
  return state;
}

describe("the tier of a log", () => {
  const env = scriptEnv(makeLayout("outbox", ["ada", "bob", "eve", "sam"]), "ada");

  test.each<[HeartbeatTier, ...HeartbeatTier[]]>([
    ["T1_active", "T1_active", "T2_idle", "T3_long_idle"],
    ["T1_active", "T3_long_idle", "T2_idle", "T1_active"],
    ["T2_idle", "T3_long_idle", "T2_idle", "T3_long_idle"],
    ["T0_HEADS_DOWN", "T2_idle", "T0_HEADS_DOWN", "T1_active"],
  ])("is the fastest of its readers': %s", (expected, bob, eve, sam) => {
    const tiers: Record<string, HeartbeatTier | undefined> = { bob, eve, sam };
    const pace = (peer: string) => ({ ...newPace(), tier: tiers[peer] ?? "T1_active" });
    expect(tierOfLog("ada", env, pace)).toBe(expected);
  });

  test("is, of two that are as fast, the first reader's", () => {
    const cadences = { ...env.policy.cadences, T2_idle: env.policy.cadences.T1_active };
    const pace = (peer: string) => ({
      ...newPace(),
      tier: peer === "bob" ? ("T2_idle" as const) : ("T1_active" as const),
    });
    expect(tierOfLog("ada", { ...env, policy: { ...env.policy, cadences } }, pace)).toBe("T2_idle");
  });

  test("is T1 where nobody reads", () => {
    expect(tierOfLog("nowhere", env, newPace)).toBe("T1_active");
  });
});

describe("after a beat", () => {
  const written = (before: BeatTimers, nowMs: number, jitter = 0.5) =>
    beatWritten(before, "ada_to_bob", paced({ bob: "T2_idle" }), ENV, moment(nowMs), jitter);

  test.each([
    [0, 0.95],
    [0.5, 1],
    [0.75, 1.025],
  ])("the next is promised by the tier, and jittered: %d", (jitter, factor) => {
    const eve = timer();
    const { logs, early } = written(timersOf({ ada_to_eve: eve }), AT, jitter);
    expect(logs.get("ada_to_eve")).toBe(eve);
    expect(logs.get("ada_to_bob")).toEqual({
      lastMs: AT,
      promisedMs: seconds(270),
      factor: expect.closeTo(factor, 10) as number,
      earlyMs: undefined,
    });
    expect(early).toEqual([]);
  });

  test("one that was brought forward is remembered as such", () => {
    const before = timersOf({ ada_to_bob: timer({ earlyMs: AT + 1 }) });
    expect(written(before, AT + seconds(10)).early).toEqual([AT + seconds(10)]);
    expect(written(before, AT + seconds(90) - 1).early).toEqual([AT + seconds(90) - 1]);
  });

  test("but not when it was due by then anyway, nor when nothing brought it forward", () => {
    const planned = timersOf({ ada_to_bob: timer({ earlyMs: AT + 1 }) });
    expect(written(planned, AT + seconds(90)).early).toEqual([]);
    expect(written(planned, AT + seconds(91)).early).toEqual([]);
    expect(written(timersOf({ ada_to_bob: timer() }), AT + seconds(10)).early).toEqual([]);
    expect(written(newBeatTimers(), AT).early).toEqual([]);
    const slow = timersOf({ ada_to_bob: timer({ earlyMs: AT + 1, factor: 1.05 }) });
    expect(written(slow, AT + seconds(91)).early).toEqual([AT + seconds(91)]);
  });

  test("what was brought forward is forgotten after a minute", () => {
    const nowMs = AT + minutes(1);
    const early = [AT - 1, AT, AT + 1, AT + 2];
    expect(written(timersOf({}, early), nowMs).early).toEqual([AT + 1, AT + 2]);
  });
});

describe("news", () => {
  const earlyOf = (timers: BeatTimers, receipts: ReceiptsState, nowMs = AT) =>
    Object.fromEntries(
      [...planBeats(timers, receipts, ENV, moment(nowMs)).logs].map(([log, { earlyMs }]) => [
        log,
        earlyMs,
      ]),
    );

  test("bring the next beat forward to a second from now, in the log that answers alone", () => {
    const timers = timersOf({ ada_to_bob: timer(), ada_to_eve: timer() });
    expect(earlyOf(timers, newsFrom())).toEqual({ ada_to_bob: undefined, ada_to_eve: undefined });
    expect(earlyOf(timers, newsFrom("bob"))).toEqual({
      ada_to_bob: AT + 1_000,
      ada_to_eve: undefined,
    });
  });

  test("do not move a beat that is planned already", () => {
    const timers = timersOf({ ada_to_bob: timer({ earlyMs: AT + 5 }) });
    expect(earlyOf(timers, newsFrom("bob"))).toEqual({ ada_to_bob: AT + 5 });
  });

  test("bring no more than six forward within a minute, in whatever order they came", () => {
    const timers = timersOf({ ada_to_bob: timer() }, []);
    const six = [30, 10, 60, 20, 50, 40].map((at) => AT + seconds(at) - minutes(1));
    const bob = newsFrom("bob");
    expect(earlyOf({ ...timers, early: six.slice(1) }, bob)).toEqual({ ada_to_bob: AT + 1_000 });
    expect(earlyOf({ ...timers, early: six }, bob)).toEqual({ ada_to_bob: AT + seconds(10) });
    const seven = [...six, AT + seconds(55) - minutes(1)];
    expect(earlyOf({ ...timers, early: seven }, bob)).toEqual({ ada_to_bob: AT + seconds(20) });
    const past = [AT - minutes(1), ...six.slice(2)];
    expect(earlyOf({ ...timers, early: past }, bob)).toEqual({ ada_to_bob: AT + 1_000 });
  });

  test("count the beats that are planned in other logs", () => {
    const early = [1, 2, 3, 4, 5].map((at) => AT - minutes(1) + seconds(at + 10));
    const planned = timersOf(
      { ada_to_eve: timer({ earlyMs: AT + 7 }), ada_to_bob: timer() },
      early,
    );
    expect(earlyOf(planned, newsFrom("bob"))["ada_to_bob"]).toBe(AT + seconds(11));
    const both = timersOf({ ada_to_bob: timer(), ada_to_eve: timer() }, early);
    expect(earlyOf(both, newsFrom("bob", "eve"))).toEqual({
      ada_to_bob: AT + 1_000,
      ada_to_eve: AT + seconds(11),
    });
  });
});

describe("a beat is due", () => {
  const due = (change: Partial<BeatTimer>, tier: HeartbeatTier = "T2_idle") =>
    beatDueMs(timersOf({ ada_to_bob: timer(change) }), "ada_to_bob", paced({ bob: tier }), ENV);

  test("at once before the first", () => {
    expect(newBeatTimers()).toEqual({ logs: new Map(), early: [] });
    expect(beatDueMs(newBeatTimers(), "ada_to_bob", emptyHeartbeats(), ENV)).toBe(-Infinity);
  });

  test.each<[string, Partial<BeatTimer>, HeartbeatTier, number]>([
    ["when it was promised", {}, "T2_idle", 90],
    ["sooner when the tier is faster now", { promisedMs: seconds(270) }, "T1_active", 90],
    ["with its jitter", { factor: 1.05 }, "T2_idle", 94.5],
    ["when it was brought forward", { earlyMs: AT + seconds(7) }, "T2_idle", 7],
    ["never later than promised", { earlyMs: AT + seconds(97), factor: 0.95 }, "T2_idle", 85.5],
    ["nor later than jittered", { earlyMs: AT + seconds(97), factor: 1.05 }, "T2_idle", 94.5],
  ])("%s", (_name, change, tier, expected) => {
    expect(due(change, tier) - AT).toBeCloseTo(seconds(expected), 5);
  });

  test("the next of all is that of an open log", () => {
    const timers = timersOf({
      ada_to_bob: timer(),
      ada_to_eve: timer({ lastMs: AT + seconds(5) }),
    });
    const next = (isOpen?: (log: string) => boolean) =>
      nextBeatDueMs(timers, emptyHeartbeats(), ENV, isOpen);
    expect(next()).toBe(AT + seconds(90));
    expect(next((log) => log === "ada_to_eve")).toBe(AT + seconds(95));
    expect(next(() => false)).toBe(Infinity);
  });
});
