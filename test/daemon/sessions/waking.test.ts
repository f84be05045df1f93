import { describe, expect, test } from "vitest";
import { silentLogger } from "../../../src/agent/session/world.ts";
import type { HookEvent, Moment, WakeAnswer } from "../../../src/api/tool-sessions.ts";
import type { MailView, Marks } from "../../../src/api/views.ts";
import { ToolSessions } from "../../../src/daemon/sessions/tool-sessions.ts";

// What becomes of waking when something else happens meanwhile: the session or the daemon ends, the
// operator wants quiet, or what was said is never shown. The clock is the test's.

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const BEGUN = Date.parse("2026-11-23T12:00:00Z");
const PANE = { by: "tmux", server: "/tmp/s", pane: "%1" } as const;

type MailLine = MailView["fresh"]["lines"][number];
type Letter = Pick<MailLine, "urgent" | "quiet"> & { readonly from: string };

class Stage {
  nowMs = 0;
  quiet = false;
  told = 0;
  overdue = 0;
  readonly states: string[] = [];
  readonly reached: string[] = [];
  readonly ended = new Set<number>();
  readonly timers = new Map<() => void, number>();
  /** Held back while it is there. */
  reaching: Promise<boolean> | undefined;
  unread: MailLine[] = [];
  private lines = 0;

  readonly sessions = new ToolSessions({
    agent: {
      handle: "forge",
      peers: () => ["scribe", "mason"],
      mail: (marks) => Promise.resolve(this.mail(marks)),
      setState: (state) => Promise.resolve(void this.states.push(state)),
    },
    spent: { load: () => [], save: () => undefined },
    rounds: { turns: () => [], told: () => undefined },
    operator: {
      limits: () => ({ "wake.per_peer": 6, "wake.per_thread": 3, "wake.per_hour": 20 }),
      isQuiet: () => this.quiet,
      overBudget: () => void (this.told += 1),
    },
    host: {
      hasDesktop: false,
      isThreadShown: () => true,
      isAlive: ({ pid }) => !this.ended.has(pid),
      reach: (_way, { session }) => {
        this.reached.push(session);
        return this.reaching ?? Promise.resolve(true);
      },
    },
    clock: {
      monoMs: () => this.nowMs,
      wallMs: () => BEGUN + this.nowMs,
      wake: (inMs, run) => {
        this.timers.set(run, this.nowMs + inMs);
        return () => void this.timers.delete(run);
      },
    },
    log: silentLogger,
  });

  private mail(marks: Marks): MailView {
    const lineOf = ({ event_id }: MailLine): number => Number(event_id.slice(2));
    const lines = this.unread.filter((each) => lineOf(each) > (marks["log"] ?? 0));
    const urgent = (all: readonly MailLine[]): number => all.filter((each) => each.urgent).length;
    return {
      ...{ unread: this.unread.length, notices: 0, owed: this.overdue, overdue: this.overdue },
      ...{ urgent: urgent(this.unread), from: [{ handle: "scribe", count: this.unread.length }] },
      fresh: { count: lines.length, urgent: urgent(lines), lines },
      marks: { log: this.lines },
    };
  }

  receive(letter: Partial<Letter> = {}): void {
    const id = `id${(this.lines += 1)}`;
    const received_at = new Date(BEGUN + this.nowMs).toISOString();
    const usual = { from: "scribe", urgent: true, quiet: false };
    this.unread.push({ event_id: id, thread: id, received_at, ...usual, ...letter });
    this.sessions.rounded();
  }

  /** Time passes, and the daemon makes a round. */
  async pass(ms: number): Promise<void> {
    this.ring(ms);
    this.sessions.rounded();
    await this.settled();
  }

  /** Time passes with no round: only what the registry itself has asked for is done. */
  async rest(ms: number): Promise<void> {
    this.ring(ms);
    await this.settled();
  }

  private ring(ms: number): void {
    this.nowMs += ms;
    for (const [run, atMs] of this.timers) {
      if (atMs > this.nowMs) continue;
      this.timers.delete(run);
      run();
    }
  }

  settled(): Promise<void> {
    return new Promise((resolve) => setImmediate(resolve));
  }

  event(moment: Moment, session = "s", pid = 7, more: Partial<HookEvent> = {}) {
    const process = { pid, started: "1" };
    const name = { tool: "claude", session, isContinued: false, wake: undefined } as const;
    return this.sessions.event({ isInteractive: true, ...name, process, moment, ...more });
  }

  wait(session = "s", pid = 7): WakeAnswer[] {
    const answers: WakeAnswer[] = [];
    const name = { tool: "claude", session, process: { pid, started: "1" } } as const;
    const { signal } = new AbortController();
    this.sessions.awaitWake(name, signal).then(
      (answer) => answers.push(answer),
      () => undefined,
    );
    return answers;
  }
}

describe("what was said and not shown", () => {
  test("a waiter that was killed with its answer leaves the mail to be named, and to wake again", async () => {
    const stage = new Stage();
    const killed = stage.wait();
    stage.receive();
    await stage.pass(0);
    expect(killed).toMatchObject([{ why: "mail" }]);
    expect((await stage.event("call")).say).toContain("id1 from scribe");
    await stage.event("turn_end");
    const next = stage.wait();
    await stage.pass(0);
    expect(next).toMatchObject([{ why: "mail", marks: { log: 1 } }]);
    // Once it is confirmed nobody says it again.
    stage.sessions.named({ tool: "claude", session: "s" }, { log: 1 });
    const last = stage.wait();
    await stage.pass(MINUTE);
    expect(last).toEqual([]);
    expect((await stage.event("call")).say).toBeNull();
  });

  test("a waiter that starts beside the hook that tells of the mail wakes for it only if it was not shown", async () => {
    for (const isShown of [true, false]) {
      const stage = new Stage();
      stage.receive();
      const answers = stage.wait();
      const { marks } = await stage.event("start");
      await stage.pass(1_000);
      expect(answers).toEqual([]);
      if (isShown) stage.sessions.named({ tool: "claude", session: "s" }, marks);
      await stage.rest(1_500);
      expect(answers).toHaveLength(isShown ? 0 : 1);
    }
  });

  test("mail that comes while a hook tells of other mail wakes as soon as that was shown", async () => {
    const stage = new Stage();
    stage.receive();
    const answers = stage.wait();
    const { marks } = await stage.event("start");
    stage.receive();
    await stage.settled();
    expect(answers).toEqual([]);
    stage.sessions.named({ tool: "claude", session: "s" }, marks);
    await stage.settled();
    expect(answers).toMatchObject([{ why: "mail", marks: { log: 2 } }]);
  });

  test("a session that goes on hears of unread mail with its next prompt or call, and is not woken for it", async () => {
    for (const next of ["prompt", "call"] as const) {
      const stage = new Stage();
      stage.receive();
      expect(await stage.event("resume")).toMatchObject({ say: null });
      const answers = stage.wait();
      await stage.pass(MINUTE);
      expect(answers).toEqual([]);
      // A hook that was killed has shown nothing.
      expect((await stage.event(next)).say).toContain("forge has 1 unread message");
      const { say, marks } = await stage.event(next);
      expect(say).toContain("forge has 1 unread message");
      stage.sessions.named({ tool: "claude", session: "s" }, marks);
      expect((await stage.event(next)).say).toBeNull();
    }
  });

  test("nobody is woken while the daemon looks what a hook is to be told", async () => {
    for (const moment of ["start", "resume"] as const) {
      const stage = new Stage();
      stage.receive();
      const answered = stage.event(moment, "s", 7, { wake: PANE });
      stage.sessions.rounded();
      const { marks } = await answered;
      if (moment === "start") stage.sessions.named({ tool: "claude", session: "s" }, marks);
      await stage.pass(MINUTE);
      expect(stage.reached).toEqual([]);
    }
  });

  test("what comes after a session has gone on wakes it", async () => {
    const stage = new Stage();
    stage.receive();
    await stage.event("resume");
    const answers = stage.wait();
    stage.receive();
    await stage.pass(0);
    expect(answers).toMatchObject([{ why: "mail", marks: { log: 2 } }]);
  });

  test("what the daemon itself has typed counts as shown", async () => {
    const stage = new Stage();
    await stage.event("turn_end", "s", 7, { wake: PANE });
    stage.receive();
    await stage.pass(0);
    expect(stage.reached).toEqual(["s"]);
    expect((await stage.event("prompt")).say).toBeNull();
  });

  test("a session that is being reached is not reached a second time meanwhile", async () => {
    const stage = new Stage();
    let reach = (_reached: boolean): void => undefined;
    stage.reaching = new Promise((resolve) => (reach = resolve));
    await stage.event("turn_end", "s", 7, { wake: PANE });
    stage.receive();
    await stage.pass(0);
    stage.receive();
    await stage.pass(MINUTE);
    expect(stage.reached).toEqual(["s"]);
    // It was not ready: the next try tells of both.
    reach(false);
    stage.reaching = Promise.resolve(true);
    await stage.pass(0);
    await stage.pass(MINUTE);
    expect(stage.reached).toEqual(["s", "s"]);
    await stage.pass(MINUTE);
    expect(stage.reached).toHaveLength(2);
    expect((await stage.event("prompt")).say).toBeNull();
  });

  test("one that is not ready is tried again soon, and then ever later", async () => {
    const stage = new Stage();
    stage.reaching = Promise.resolve(false);
    await stage.event("turn_end", "s", 7, { wake: PANE });
    stage.receive();
    await stage.settled();
    const tries = [2, 4, 8, 10, 10];
    for (const [done, seconds] of tries.entries()) {
      await stage.rest(seconds * 1_000 - 1);
      expect(stage.reached).toHaveLength(done + 1);
      await stage.rest(1);
      expect(stage.reached).toHaveLength(done + 2);
    }
    stage.reaching = Promise.resolve(true);
    await stage.rest(10_000);
    expect(stage.reached).toHaveLength(tries.length + 2);
    stage.reaching = Promise.resolve(false);
    stage.receive();
    await stage.settled();
    await stage.rest(2_000);
    expect(stage.reached).toHaveLength(tries.length + 4);
  });

  test("mail that comes while a session is reached for another message wakes it too", async () => {
    const stage = new Stage();
    let reach = (_reached: boolean): void => undefined;
    stage.reaching = new Promise((resolve) => (reach = resolve));
    await stage.event("turn_end", "s", 7, { wake: PANE });
    stage.receive();
    await stage.settled();
    stage.receive();
    reach(true);
    await stage.settled();
    expect(stage.reached).toEqual(["s", "s"]);
  });

  test("mail that came while the last call ran wakes at the end of the turn", async () => {
    const stage = new Stage();
    await stage.event("prompt", "s", 7, { wake: PANE });
    stage.receive({ urgent: false });
    await stage.rest(30_000);
    expect(stage.reached).toEqual([]);
    expect((await stage.event("turn_end", "s", 7, { wake: PANE })).goOn).toBe(false);
    await stage.rest(500);
    expect(stage.reached).toEqual(["s"]);
  });

  test("confirmation of a session that has ended changes nothing", async () => {
    const stage = new Stage();
    stage.sessions.named({ tool: "claude", session: "gone" }, { log: 9 });
    expect(stage.sessions.list()).toEqual([]);
    stage.receive();
    expect((await stage.event("start", "gone")).say).toContain("id1 from scribe");
  });
});

describe("the end of a session", () => {
  test("its own event ends it: its waiter goes, the agent is idle, and nobody is woken", async () => {
    const stage = new Stage();
    await stage.event("prompt");
    const answers = stage.wait();
    expect(await stage.event("end")).toEqual({ say: null, goOn: false, marks: {} });
    await stage.pass(0);
    expect(answers).toEqual([{ why: "ended" }]);
    expect(stage.states).toEqual(["busy", "idle"]);
    stage.receive();
    await stage.pass(MINUTE);
    expect([stage.sessions.list(), stage.reached]).toEqual([[], []]);
  });

  test("so does the end of its process, while it was busy", async () => {
    const stage = new Stage();
    await stage.event("prompt");
    const answers = stage.wait();
    await stage.pass(0);
    stage.ended.add(7);
    stage.receive();
    await stage.pass(0);
    expect(answers).toEqual([{ why: "ended" }]);
    expect(stage.states).toEqual(["busy", "idle"]);
    expect(stage.sessions.list()).toEqual([]);
  });

  test("the second of two sessions is woken when the first has ended", async () => {
    const stage = new Stage();
    stage.wait("first", 1);
    const second = stage.wait("second", 2);
    await stage.pass(0);
    stage.ended.add(1);
    stage.receive();
    await stage.pass(0);
    expect(second).toMatchObject([{ why: "mail" }]);
  });

  test("one without a terminal before it does not keep a session from being woken", async () => {
    const stage = new Stage();
    await stage.event("call", "without a terminal", 1);
    const answers = stage.wait("in a terminal", 2);
    stage.receive();
    await stage.pass(0);
    expect(answers).toMatchObject([{ why: "mail" }]);
  });
});

describe("a daemon that has started again", () => {
  test("learns of a session from its waiter, and takes the agent for idle", async () => {
    const stage = new Stage();
    const answers = stage.wait();
    expect(stage.sessions.list()).toMatchObject([{ session: "s", state: "idle", wake: "waiter" }]);
    stage.receive();
    await stage.pass(0);
    expect(answers).toMatchObject([{ why: "mail" }]);
  });

  test("that stops answers no waiter, also when mail was about to wake", async () => {
    const stage = new Stage();
    const answers = stage.wait();
    stage.receive({ urgent: false });
    await stage.pass(1_000);
    stage.sessions.stop();
    expect(stage.timers.size).toBe(0);
    expect(answers).toEqual([]);
  });
});

describe("the operator", () => {
  test("has quiet: nobody is woken or asked to go on, and agents at work are told all the same", async () => {
    const stage = new Stage();
    stage.quiet = true;
    const answers = stage.wait();
    stage.receive();
    await stage.pass(MINUTE);
    expect(answers).toEqual([]);
    expect((await stage.event("call")).say).toContain("id1 from scribe");
    expect(await stage.event("turn_end")).toMatchObject({ goOn: false, say: null });
    stage.quiet = false;
    await stage.pass(0);
    expect(answers).toMatchObject([{ why: "mail" }]);
  });

  test("is told once when the ends of turns have used up the budget, and once more an hour later", async () => {
    const stage = new Stage();
    const wentOn = async (times: number): Promise<number> => {
      let count = 0;
      for (let at = 0; at < times; at += 1) {
        stage.receive();
        count += (await stage.event("turn_end")).goOn ? 1 : 0;
      }
      return count;
    };
    expect([await wentOn(10), stage.told]).toEqual([6, 1]);
    stage.nowMs += HOUR;
    expect([await wentOn(10), stage.told]).toEqual([6, 2]);
  });

  test("hears of a budget that wakes and ends of turns share", async () => {
    const stage = new Stage();
    for (let at = 0; at < 4; at += 1) {
      const answers = stage.wait();
      stage.receive();
      await stage.pass(0);
      expect(answers).toMatchObject([{ why: "mail" }]);
    }
    for (const goOn of [true, true, false]) {
      stage.receive();
      expect(await stage.event("turn_end")).toMatchObject({ goOn });
    }
    expect(stage.told).toBe(1);
    // Another peer has a share of its own.
    stage.receive({ from: "mason" });
    expect(await stage.event("turn_end")).toMatchObject({ goOn: true });
  });
});

test("the agent is told busy and idle when that changes, and not for each event", async () => {
  const stage = new Stage();
  for (const moment of ["start", "prompt", "call", "call"] as const) await stage.event(moment);
  await stage.event("prompt", "other", 8);
  await stage.event("turn_end");
  // The other session is at work still.
  expect(stage.states).toEqual(["idle", "busy"]);
  await stage.event("turn_end", "other", 8);
  expect(stage.states).toEqual(["idle", "busy", "idle"]);
});

test("who is asked to go on is busy again", async () => {
  const stage = new Stage();
  await stage.event("prompt");
  stage.overdue = 1;
  expect(await stage.event("turn_end")).toMatchObject({ goOn: true });
  expect(stage.sessions.list()).toMatchObject([{ state: "busy" }]);
  expect(stage.states.at(-1)).toBe("busy");
});

test("no more than 64 sessions are kept: the oldest makes room", async () => {
  const stage = new Stage();
  for (let at = 1; at <= 70; at += 1) await stage.event("start", `s${at}`, at);
  const names = stage.sessions.list().map(({ session }) => session);
  expect([names.length, names[0], names.at(-1)]).toEqual([64, "s7", "s70"]);
});
