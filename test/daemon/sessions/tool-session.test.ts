import { describe, expect, test } from "vitest";
import type { HookEvent, Moment } from "../../../src/api/tool-sessions.ts";
import {
  afterEvent,
  afterNaming,
  isBusy,
  isReminded,
  isSameProcess,
  isWakeable,
  mayWake,
  newSession,
  sessionView,
  wayTo,
  type ToolSession,
} from "../../../src/daemon/sessions/tool-session.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const PANE = { by: "tmux", server: "/tmp/s", pane: "%1" } as const;

function eventOf(moment: Moment, more: Partial<HookEvent> = {}): HookEvent {
  const name = { tool: "gemini", session: "s", isContinued: false, isInteractive: true } as const;
  return { ...name, moment, process: undefined, wake: undefined, ...more };
}

/** A session after these moments, a minute between each. */
function after(...moments: readonly Moment[]): ToolSession {
  const first = newSession(eventOf("start"), 0);
  return moments.reduce(
    (session, moment, at) => afterEvent(session, eventOf(moment), at * MINUTE),
    first,
  );
}

describe("busy", () => {
  test.each<[readonly Moment[], boolean]>([
    [["start"], false],
    [["start", "prompt"], true],
    [["prompt", "call"], true],
    [["call"], true],
    [["prompt", "turn_end"], false],
    [["prompt", "turn_end", "prompt"], true],
    [["prompt", "end"], false],
    // The tool has compacted its history, say: the turn goes on.
    [["prompt", "start"], true],
  ])("after %j: %s", (moments, expected) => {
    expect(isBusy(after(...moments), moments.length * MINUTE)).toBe(expected);
  });

  test("no longer than an hour without an event", () => {
    const session = after("prompt");
    expect(isBusy(session, HOUR - 1)).toBe(true);
    expect(isBusy(session, HOUR)).toBe(false);
    const later = afterEvent(session, eventOf("call"), HOUR - 1);
    expect(isBusy(later, 2 * HOUR - 2)).toBe(true);
    expect(isBusy(later, 2 * HOUR - 1)).toBe(false);
  });

  test("one at work is woken only when it has been silent for two minutes", () => {
    const busy = after("prompt");
    expect(mayWake(busy, 2 * MINUTE)).toBe(false);
    expect(mayWake(busy, 2 * MINUTE + 1)).toBe(true);
    expect(mayWake(after("turn_end"), 0)).toBe(true);
  });
});

describe("what it was told", () => {
  test("marks only go up, log by log", () => {
    const first = afterNaming(after("call"), { a: 3, b: 1 }, 5);
    const second = afterNaming(first, { a: 2, c: 4 }, 9);
    expect(second.named).toEqual({ a: 3, b: 1, c: 4 });
    expect(second.namedMs).toBe(9);
    // An event of the session takes nothing of it back.
    expect(afterEvent(second, eventOf("start"), 10).named).toEqual(second.named);
  });

  test("it is told again when it goes on, or with a prompt after half an hour", () => {
    const told = (moment: Moment): ToolSession => afterNaming(after(moment), {}, 0);
    expect(isReminded(told("start"), 0)).toBe(true);
    expect(isReminded(told("prompt"), 30 * MINUTE)).toBe(false);
    expect(isReminded(told("prompt"), 30 * MINUTE + 1)).toBe(true);
    for (const moment of ["call", "turn_end", "end"] as const) {
      expect(isReminded(told(moment), 24 * HOUR)).toBe(false);
    }
    // One that was never told anything is reminded at once.
    expect(isReminded(after("prompt"), 0)).toBe(true);
  });
});

test("it can be woken by a waiter, or by a way that one of its events has named", () => {
  const plain = after("start");
  expect(isWakeable(plain)).toBe(false);
  expect(isWakeable({ ...plain, hasWaited: true })).toBe(true);
  const named = afterEvent(plain, eventOf("call", { wake: PANE }), 1);
  // A later event that names none takes nothing back, and neither for the process.
  const later = afterEvent(named, eventOf("call"), 2);
  expect([isWakeable(named), later.event.wake]).toEqual([true, PANE]);
  const process = { pid: 7, started: "1" };
  const owned = afterEvent(later, eventOf("call", { process }), 3);
  expect(afterEvent(owned, eventOf("call"), 4).event.process).toEqual(process);
});

test("a process is the same one when it was started at the same time too", () => {
  const at = { pid: 7, started: "1" };
  expect(isSameProcess(at, { ...at })).toBe(true);
  expect(isSameProcess(at, { pid: 7, started: "2" })).toBe(false);
  expect(isSameProcess(at, { pid: 8, started: "1" })).toBe(false);
  expect(isSameProcess(undefined, undefined)).toBe(false);
});

test("its view says since when, its state and how it would be woken", () => {
  const wallMs = Date.parse("2026-11-23T12:00:00Z");
  const session = after("start", "prompt");
  const now = { nowMs: 5 * MINUTE, wallMs };
  const alone = { way: null, isSecond: false, usedUp: [] } as const;
  expect(sessionView(session, now, alone)).toEqual({
    ...{ tool: "gemini", session: "s", state: "busy", wake: null, is_second: false },
    ...{ since: "2026-11-23T11:55:00.000Z", last_event: "2026-11-23T11:56:00.000Z" },
  });
  const pane = afterEvent(session, eventOf("turn_end", { wake: PANE }), 2 * MINUTE);
  expect(sessionView(pane, now, { ...alone, way: "tmux", isSecond: true })).toMatchObject({
    ...{ state: "idle", wake: "tmux", is_second: true },
  });
  expect(sessionView(pane, now, { ...alone, way: "waiter" })).toMatchObject({ wake: "waiter" });
});

test("is woken by its waiter, by its own way, or a person is told", () => {
  const none = { hasWaiter: false, hasDesktop: false };
  const plain = after("start");
  const pane = afterEvent(plain, eventOf("turn_end", { wake: PANE }), MINUTE);
  expect(wayTo(plain, none)).toBeUndefined();
  expect(wayTo(plain, { ...none, hasDesktop: true })).toEqual({ by: "desktop" });
  expect(wayTo(pane, { ...none, hasDesktop: true })).toEqual(PANE);
  expect(wayTo(pane, { hasWaiter: true, hasDesktop: true })).toEqual({ by: "waiter" });
  // Its waiter comes back after the turn.
  expect(wayTo({ ...plain, hasWaited: true }, { ...none, hasDesktop: true })).toBeUndefined();
});
