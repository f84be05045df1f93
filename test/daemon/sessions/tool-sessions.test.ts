import { describe, expect, test } from "vitest";
import type { HookEvent, WakeAnswer, WakeWay } from "../../../src/api/tool-sessions.ts";
import type { Turn } from "../../../src/api/rounds.ts";
import type { MailView, Marks } from "../../../src/api/views.ts";
import type { MailLine } from "../../../src/agent/answers/mail.ts";
import type { NotWoken } from "../../../src/protocol/beats/beat.ts";
import type { SpentWake } from "../../../src/daemon/sessions/wake-budget.ts";
import { ToolSessions } from "../../../src/daemon/sessions/tool-sessions.ts";
import { DEFAULT_SETTINGS } from "../../../src/agent/config/settings.ts";
import { silentLogger } from "../../../src/agent/session/world.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

interface Letter {
  readonly line: number;
  readonly urgent?: boolean;
  readonly quiet?: boolean;
  readonly from?: string;
  readonly thread?: string;
}

/** A registry whose agent, clock and machine are the test's. Nothing waits for real time. */
function stage(kept: { spent: readonly SpentWake[] } = { spent: [] }) {
  const begunMs = Date.parse("2026-11-23T12:00:00Z");
  const world = {
    nowMs: 0,
    turns: [] as Turn[],
    unread: [] as (Letter & { readonly at: number })[],
    overdue: 0,
    states: [] as string[],
    notWoken: {} as Readonly<Record<string, NotWoken>>,
    alive: new Set<number>(),
    quiet: false,
    lines: 0,
    peers: ["scribe", "mason"],
    limits: { "wake.per_peer": 6, "wake.per_thread": 3, "wake.per_hour": 20 },
    overBudget: 0,
    reached: [] as { way: WakeWay; text: string }[],
    isReachable: true,
    hasDesktop: false,
    isThreadShown: true,
    timers: [] as { atMs: number; run: () => void }[],
  };
  const view = (marks: Marks): MailView => {
    const fresh = world.unread.filter(({ line }) => line > (marks["scribe"] ?? 0));
    return {
      ...{ unread: world.unread.length, notices: 0, owed: world.overdue, overdue: world.overdue },
      urgent: world.unread.filter(({ urgent }) => urgent).length,
      from: [{ handle: "scribe", count: world.unread.length }],
      fresh: {
        count: fresh.length,
        urgent: fresh.filter(({ urgent }) => urgent).length,
        lines: fresh.map(({ line, urgent, quiet, from, thread, at }): MailLine => {
          return {
            ...{ event_id: `id${line}`, from: from ?? "scribe", thread: thread ?? `t${line}` },
            received_at: new Date(begunMs + at).toISOString(),
            ...{ urgent: urgent === true, quiet: quiet === true },
          };
        }),
      },
      marks: { scribe: world.unread.at(-1)?.line ?? 0 },
    };
  };
  const sessions = new ToolSessions({
    agent: {
      handle: "forge",
      peers: () => world.peers,
      mail: (marks) => Promise.resolve(view(marks)),
      setState: (state, notWoken) => {
        if (state !== world.states.at(-1)) world.states.push(state);
        world.notWoken = notWoken;
        return Promise.resolve();
      },
    },
    spent: { load: () => kept.spent, save: (spent) => void (kept.spent = spent) },
    rounds: {
      turns: () => world.turns,
      told: (marks) => {
        world.turns = world.turns.filter(({ key, seq }) => marks[key] !== seq);
      },
    },
    operator: {
      limits: () => world.limits,
      isQuiet: () => world.quiet,
      overBudget: () => void (world.overBudget += 1),
    },
    host: {
      isAlive: ({ pid }) => world.alive.has(pid),
      isThreadShown: () => world.isThreadShown,
      get hasDesktop() {
        return world.hasDesktop;
      },
      reach: (way, _session, text) => {
        if (world.isReachable) world.reached.push({ way, text });
        return Promise.resolve(world.isReachable);
      },
    },
    clock: {
      monoMs: () => world.nowMs,
      wallMs: () => begunMs + world.nowMs,
      wake: (inMs, run) => {
        const timer = { atMs: world.nowMs + inMs, run };
        world.timers.push(timer);
        return () => void world.timers.splice(world.timers.indexOf(timer), 1);
      },
    },
    log: silentLogger,
  });
  const settled = () => new Promise<void>((resolve) => setImmediate(resolve));
  return {
    world,
    sessions,
    receive(letter: Letter): void {
      world.unread.push({ ...letter, at: world.nowMs });
      sessions.rounded();
    },
    async pass(ms: number): Promise<void> {
      world.nowMs += ms;
      for (const timer of world.timers.filter(({ atMs }) => atMs <= world.nowMs)) {
        world.timers.splice(world.timers.indexOf(timer), 1);
        timer.run();
      }
      await settled();
    },
    settled,
    event(moment: HookEvent["moment"], of: Partial<HookEvent> = {}) {
      const { pid } = of.process ?? { pid: 7 };
      world.alive.add(pid);
      const process = { pid, started: "1" };
      const event = { tool: "claude", session: "s", isContinued: false, wake: undefined } as const;
      return sessions.event({ isInteractive: true, ...event, process, moment, ...of });
    },
    wait(session = "s", pid = 7) {
      world.alive.add(pid);
      const gone = new AbortController();
      const answers: WakeAnswer[] = [];
      const named = { tool: "claude", session, process: { pid, started: "1" } } as const;
      sessions.awaitWake(named, gone.signal).then(
        (answer) => answers.push(answer),
        () => undefined,
      );
      return { gone, answers };
    },
  };
}

const NAME = { tool: "claude", session: "s" } as const;

describe("at work", () => {
  test("what was shown is not said again; what was not confirmed is", async () => {
    const { receive, event, sessions } = stage();
    receive({ line: 1 });
    const first = await event("call");
    expect(first.say).toContain("id1 from scribe");
    expect((await event("call")).say).toContain("id1 from scribe");
    sessions.named(NAME, first.marks);
    expect((await event("call")).say).toBeNull();
    receive({ line: 2 });
    const second = await event("call");
    expect(second.say).toContain("id2 from scribe");
    expect(second.say).not.toContain("id1");
  });

  test("what is still unread is said again with a prompt, after a while", async () => {
    const { receive, event, sessions, pass } = stage();
    receive({ line: 1 });
    sessions.named(NAME, (await event("prompt")).marks);
    expect((await event("prompt")).say).toBeNull();
    await pass(31 * MINUTE);
    expect((await event("call")).say).toBeNull();
    expect((await event("prompt")).say).toContain("1 unread message");
  });

  test("the agent is busy from its prompt to the end of its turn, or for an hour", async () => {
    const { world, event, sessions, pass, settled } = stage();
    await event("prompt");
    await event("call");
    await event("turn_end");
    await event("prompt");
    await pass(HOUR);
    sessions.rounded();
    await settled();
    expect(world.states).toEqual(["busy", "idle", "busy", "idle"]);
  });
});

describe("at the end of a turn", () => {
  test("the agent is asked to go on once for a message that cannot wait", async () => {
    const { receive, event } = stage();
    receive({ line: 1, urgent: true });
    const end = await event("turn_end");
    expect(end).toMatchObject({ goOn: true });
    expect(end.say).toContain("1 unread message");
    expect(await event("turn_end")).toMatchObject({ goOn: false, say: null });
    receive({ line: 2, urgent: true });
    expect(await event("turn_end", { isContinued: true })).toMatchObject({ goOn: false });
    expect(await event("turn_end")).toMatchObject({ goOn: true });
  });

  test("also for an answer that is overdue, and for nothing else", async () => {
    const { world, receive, event } = stage();
    receive({ line: 1 });
    receive({ line: 2, urgent: true, quiet: true });
    expect(await event("turn_end")).toMatchObject({ goOn: false });
    world.overdue = 1;
    expect(await event("turn_end")).toMatchObject({ goOn: true });
    expect(await event("turn_end")).toMatchObject({ goOn: false });
  });
});

describe("a session that nothing wakes", () => {
  test("its person is told on the desktop, once for a message, and the session hears of it", async () => {
    const { world, receive, event, settled, sessions } = stage();
    world.hasDesktop = true;
    await event("turn_end");
    expect(sessions.list()).toMatchObject([{ wake: "desktop" }]);
    receive({ line: 1, urgent: true });
    await settled();
    expect(world.reached).toMatchObject([{ way: { by: "desktop" } }]);
    expect(world.reached[0]?.text).toContain("1 unread message");
    sessions.rounded();
    await settled();
    expect(world.reached).toHaveLength(1);
    expect((await event("prompt")).say).toContain("id1 from scribe");
  });

  test("a desktop that shows nothing is not tried again for the same message", async () => {
    const { world, receive, event, settled, pass } = stage();
    Object.assign(world, { hasDesktop: true, isReachable: false });
    await event("turn_end");
    receive({ line: 1, urgent: true });
    await settled();
    world.isReachable = true;
    await pass(5 * MINUTE);
    expect(world.reached).toEqual([]);
    receive({ line: 2, urgent: true });
    await settled();
    expect(world.reached).toHaveLength(1);
  });

  test("without a desktop nothing is done", async () => {
    const { world, receive, event, settled, sessions } = stage();
    await event("turn_end");
    receive({ line: 1, urgent: true });
    await settled();
    expect([world.reached, sessions.list()[0]?.wake]).toEqual([[], null]);
  });
});

describe("a turn in a round", () => {
  const turn = { key: "round ann /r", seq: 2, folder: "/my rounds/r", participant: "ann" };

  test("an idle session is woken for it at once, and it is told when that was shown", async () => {
    const { world, sessions, event, wait, settled } = stage();
    await event("turn_end");
    const { answers } = wait();
    world.turns = [turn];
    sessions.rounded();
    await settled();
    expect(answers).toMatchObject([{ why: "mail", marks: { [turn.key]: 2 } }]);
    const command = "deaddrop collab next --folder '/my rounds/r' --participant ann";
    expect(answers[0]).toMatchObject({ say: expect.stringContaining(command) as string });
    expect(world.turns).toEqual([turn]);
    sessions.named(NAME, { [turn.key]: 2 });
    expect(world.turns).toEqual([]);
  });

  test("a session at work is told with its next call, and again until that was shown", async () => {
    const { world, sessions, event } = stage();
    await event("prompt");
    world.turns = [turn];
    expect((await event("call")).say).toContain("It is your turn");
    const again = await event("call");
    expect(again.say).toContain("It is your turn");
    sessions.named(NAME, again.marks);
    expect((await event("call")).say).toBeNull();
  });

  test("one that has passed meanwhile wakes nobody", async () => {
    const { world, sessions, event, wait, settled } = stage();
    world.turns = [turn];
    await event("turn_end");
    world.turns = [];
    const { answers } = wait();
    sessions.rounded();
    await settled();
    expect(answers).toEqual([]);
  });

  test("with mail it is one wake; and a turn beyond the budget keeps no mail from waking", async () => {
    const { world, sessions, event, wait, receive, settled, pass } = stage();
    await event("turn_end");
    for (let at = 0; at < 3; at += 1) {
      const { answers } = wait();
      world.turns = [{ ...turn, seq: at + 2 }];
      sessions.rounded();
      await settled();
      expect(answers).toHaveLength(1);
      sessions.named(NAME, { [turn.key]: at + 2 });
      await pass(MINUTE);
      await event("turn_end");
    }
    const { answers } = wait();
    world.turns = [{ ...turn, seq: 9 }];
    sessions.rounded();
    await settled();
    expect(answers).toEqual([]);
    receive({ line: 1, urgent: true });
    await settled();
    expect(answers).toHaveLength(1);
    expect(answers[0]).toMatchObject({
      say: expect.stringContaining("1 unread message") as string,
    });
  });

  test("on the desktop it is told once", async () => {
    const { world, sessions, event, settled } = stage();
    world.hasDesktop = true;
    await event("turn_end");
    world.turns = [turn];
    for (let at = 0; at < 3; at += 1) {
      sessions.rounded();
      await settled();
    }
    expect(world.reached).toHaveLength(1);
    expect((await event("prompt")).say).toContain("It is your turn");
  });
});

describe("idle", () => {
  test("an urgent message wakes at once, others together and a little later", async () => {
    const { receive, event, wait, pass, settled } = stage();
    await event("turn_end");
    const { answers } = wait();
    receive({ line: 1 });
    receive({ line: 2 });
    await settled();
    expect(answers).toEqual([]);
    await pass(5_000);
    expect(answers).toMatchObject([{ why: "mail", marks: { scribe: 2 } }]);
    const next = wait();
    receive({ line: 3, urgent: true });
    await settled();
    expect(next.answers).toMatchObject([{ why: "mail" }]);
  });

  test("automatic incidents, messages that were shown or read, and quiet times wake nobody", async () => {
    const { world, receive, event, wait, pass, sessions } = stage();
    receive({ line: 1, urgent: true });
    sessions.named(NAME, (await event("call")).marks);
    await event("turn_end", { isContinued: true });
    const { answers } = wait();
    receive({ line: 2, urgent: true, quiet: true });
    await pass(MINUTE);
    world.quiet = true;
    receive({ line: 3, urgent: true });
    await pass(MINUTE);
    world.unread = [];
    world.quiet = false;
    sessions.rounded();
    await pass(MINUTE);
    expect(answers).toEqual([]);
  });

  test("a session at work is not woken, unless no event has come for a while", async () => {
    const { receive, event, wait, pass, sessions, settled } = stage();
    const { answers } = wait();
    await event("prompt");
    receive({ line: 1, urgent: true });
    await settled();
    expect(answers).toEqual([]);
    await pass(3 * MINUTE);
    sessions.rounded();
    await settled();
    expect(answers).toMatchObject([{ why: "mail" }]);
  });

  test("who was woken for a message is not asked to go on for it", async () => {
    const { receive, event, wait, settled } = stage();
    wait();
    receive({ line: 1, urgent: true });
    await settled();
    expect(await event("turn_end")).toMatchObject({ goOn: false });
  });

  test("a way of the daemon's own is gone, and tried again when it is closed", async () => {
    const { world, receive, event, pass, settled } = stage();
    const wake = { by: "tmux", server: "/tmp/s", pane: "%1" } as const;
    await event("turn_end", { tool: "gemini", wake });
    world.isReachable = false;
    receive({ line: 1, urgent: true });
    await settled();
    expect(world.reached).toEqual([]);
    world.isReachable = true;
    await pass(MINUTE);
    expect(world.reached).toMatchObject([{ way: wake }]);
    await pass(MINUTE);
    expect(world.reached).toHaveLength(1);
  });
});

test("a run that is not interactive is never kept from ending; what it leaves unread is said", async () => {
  const { world, receive, event } = stage();
  world.overdue = 1;
  const run = { isInteractive: false } as const;
  expect(await event("turn_end", run)).toMatchObject({ say: null, goOn: false });
  receive({ line: 1, urgent: true });
  expect((await event("start", run)).say).toContain("1 unread message");
  expect((await event("call", run)).say).toContain("1 unread message");
  const { say, goOn, marks } = await event("turn_end", run);
  expect(goOn).toBe(false);
  expect(say).toContain("1 unread message");
  expect(marks).toEqual({});
});

describe("a session that may be in one of several terminals", () => {
  const terminals = [1, 2].map((pid) => ({ pid, started: "1" }));
  const codex = { tool: "codex", process: undefined } as const;
  const wake = {
    by: "codex",
    program: "codex",
    home: undefined,
    newest: undefined,
    namedAt: "1 5",
    terminals,
    keys: undefined,
  } as const;

  test("is woken while all of them are open", async () => {
    const { world, receive, event, settled } = stage();
    world.alive.add(1).add(2);
    await event("turn_end", { ...codex, wake });
    receive({ line: 1, urgent: true });
    await settled();
    expect(world.reached).toMatchObject([{ way: wake }]);
  });

  test("is not when one has gone, until its person writes again; another session is in its place", async () => {
    const { world, sessions, receive, event, pass, settled } = stage();
    world.alive.add(1).add(2);
    await event("turn_end", { ...codex, wake });
    const pane = { by: "tmux", server: "/tmp/s", pane: "%1" } as const;
    await event("turn_end", { tool: "gemini", session: "other", wake: pane });
    world.alive.delete(2);
    receive({ line: 1, urgent: true });
    await settled();
    expect(world.reached).toMatchObject([{ way: pane }]);
    expect(sessions.list().map(({ wake: by }) => by)).toEqual([null, "tmux"]);

    const open = { ...wake, terminals: terminals.slice(0, 1) };
    await event("prompt", { ...codex, wake: open });
    await event("turn_end", { ...codex, isContinued: true });
    receive({ line: 2, urgent: true });
    await pass(MINUTE);
    expect(world.reached).toMatchObject([{ way: pane }, { way: open }]);
  });
});

describe("a session of Codex that has left the screen", () => {
  const terminals = [{ pid: 1, started: "1" }];
  const codex = { tool: "codex", process: undefined } as const;
  const wake: Extract<WakeWay, { by: "codex" }> = {
    by: "codex",
    ...{ program: "codex", home: undefined, newest: undefined, namedAt: "1 5" },
    ...{ terminals, keys: undefined },
  };
  const waysOf = ({ sessions }: ReturnType<typeof stage>) =>
    sessions.list().map(({ session, wake: by }) => [session, by]);

  test("is not woken after /new, until its person writes: then the new one is", async () => {
    const at = stage();
    at.world.alive.add(1);
    await at.event("prompt", { ...codex, session: "old", wake });
    await at.event("turn_end", { ...codex, session: "old" });
    at.world.isThreadShown = false;
    at.receive({ line: 1, urgent: true });
    await at.pass(MINUTE);
    expect(at.world.reached).toEqual([]);
    expect(waysOf(at)).toEqual([["old", null]]);

    at.world.isThreadShown = true;
    await at.event("prompt", { ...codex, session: "new", wake });
    await at.event("turn_end", { ...codex, session: "new", isContinued: true });
    await at.pass(MINUTE);
    at.receive({ line: 2, urgent: true });
    await at.pass(MINUTE);
    expect(waysOf(at)).toEqual([
      ["old", null],
      ["new", "codex"],
    ]);
    expect(at.world.reached.map(({ way }) => way)).toContainEqual(wake);
  });

  test("is not woken once its person writes in another one of the same terminal", async () => {
    const at = stage();
    at.world.alive.add(1).add(2);
    const both = [...terminals, { pid: 2, started: "1" }];
    await at.event("prompt", { ...codex, session: "a", wake });
    await at.event("prompt", { ...codex, session: "b", wake: { ...wake, terminals: both } });
    expect(waysOf(at)).toEqual([
      ["a", null],
      ["b", "codex"],
    ]);
    await at.event("prompt", { ...codex, session: "a", wake });
    expect(waysOf(at)).toEqual([
      ["a", "codex"],
      ["b", null],
    ]);
  });

  test("may be typed on all the same: keys go to what is on the screen", async () => {
    const at = stage();
    at.world.alive.add(1);
    at.world.isThreadShown = false;
    const keys = { server: "/tmp/s", pane: "%1" };
    await at.event("prompt", { ...codex, wake: { ...wake, keys } });
    expect(waysOf(at)).toEqual([["s", "codex"]]);
  });
});

describe("waiters and sessions", () => {
  test("a later waiter takes the place of the one before", async () => {
    const { wait, receive, settled } = stage();
    const first = wait();
    const second = wait();
    receive({ line: 1, urgent: true });
    await settled();
    expect(first.answers).toEqual([{ why: "replaced" }]);
    expect(second.answers).toMatchObject([{ why: "mail" }]);
  });

  test("a waiter that has gone is forgotten; one of an ended session is told so", async () => {
    const { world, wait, sessions, settled } = stage();
    const left = wait();
    left.gone.abort();
    await settled();
    expect(sessions.list()).toMatchObject([{ wake: null }]);
    const other = wait("other", 8);
    world.alive.delete(8);
    expect(sessions.list()).toHaveLength(1);
    await settled();
    expect(other.answers).toEqual([{ why: "ended" }]);
  });

  test("the registry's end answers no waiter: it is to come again", async () => {
    const { wait, sessions, settled } = stage();
    const { answers } = wait();
    sessions.stop();
    await settled();
    expect(answers).toEqual([]);
  });

  test("of two sessions the first is woken, and both are told", async () => {
    const { wait, event, receive, settled, sessions } = stage();
    const first = wait("first", 1);
    const second = wait("second", 2);
    const of = (session: string, pid: number) => ({ session, process: { pid, started: "1" } });
    const told = [await event("start", of("first", 1)), await event("start", of("second", 2))];
    for (const { say } of told) expect(say).toContain("Another session of this same agent");
    expect((await event("start", of("first", 1))).say).toBeNull();
    await event("turn_end", of("first", 1));
    receive({ line: 1, urgent: true });
    await settled();
    expect(first.answers).toMatchObject([{ why: "mail" }]);
    expect(second.answers).toEqual([]);
    expect(sessions.list().map(({ is_second }) => is_second)).toEqual([false, true]);
  });

  test("a new session of one process takes the place of the one before", async () => {
    const { event, sessions } = stage();
    await event("start", { session: "before" });
    await event("start", { session: "after" });
    expect(sessions.list().map(({ session }) => session)).toEqual(["after"]);
  });
});

describe("the budget", () => {
  /** So many messages one after the other: how many of them wake. */
  async function wakesOf(
    { world, receive, wait, pass }: ReturnType<typeof stage>,
    letters: readonly Omit<Letter, "line">[],
  ): Promise<number> {
    let woken = 0;
    for (const letter of letters) {
      const { answers } = wait();
      world.unread = [];
      receive({ line: (world.lines += 1), ...letter });
      await pass(6_000);
      await pass(6_000);
      woken += answers.filter(({ why }) => why === "mail").length;
    }
    return woken;
  }
  const times = (count: number, letter: Omit<Letter, "line"> = {}) =>
    Array.from({ length: count }, () => letter);

  test("has a reserve for urgent mail; what is used up is said, and outlives the daemon", async () => {
    const kept = { spent: [] };
    const before = stage(kept);
    // A quarter of six is kept, rounded down.
    expect(await wakesOf(before, times(8))).toBe(5);
    const until = new Date(Date.parse("2026-11-23T13:00:06.000Z")).toISOString();
    expect(before.sessions.list()).toMatchObject([{ wakes_used_up: [{ peer: "scribe", until }] }]);
    expect(before.world.notWoken).toEqual({ scribe: { untilMs: Date.parse(until) } });

    const after = stage(kept);
    after.world.nowMs = before.world.nowMs;
    after.world.lines = before.world.lines;
    expect(await wakesOf(after, times(3))).toBe(0);
    expect(await wakesOf(after, times(3, { urgent: true }))).toBe(1);
    const [used] = after.sessions.list()[0]?.wakes_used_up ?? [];
    const later = "2026-11-23T13:00:18.000Z";
    expect(used).toEqual({ peer: "scribe", until: later, urgent_until: until });
    after.world.nowMs = HOUR + 18_000;
    expect(after.sessions.list()[0]?.wakes_used_up).toBeUndefined();
    expect(await wakesOf(after, times(1))).toBe(1);
  });

  test("lasts for ten rounds in a thread, as it is by default; urgent mail has no limit there", async () => {
    const limits = DEFAULT_SETTINGS;
    for (const peers of [1, 2, 4]) {
      const at = stage();
      at.world.limits = limits;
      at.world.peers = ["scribe", "mason", "baker", "smith"].slice(0, peers);
      expect(await wakesOf(at, times(10, { thread: "t" }))).toBe(10);
      expect(await wakesOf(at, times(3, { thread: "t", urgent: true }))).toBe(3);
    }
  });

  test("has a reserve for overdue answers", async () => {
    const at = stage();
    at.world.limits = { "wake.per_peer": 8, "wake.per_thread": 8, "wake.per_hour": 8 };
    expect(await wakesOf(at, times(8))).toBe(5);
    at.world.unread = [];
    at.world.overdue = 1;
    expect(await at.event("turn_end")).toMatchObject({ goOn: true });
  });
});

test("two agents that answer each other stop at the budget, and the operator is told once", async () => {
  const { world, receive, wait, pass } = stage();
  let woken = 0;
  for (let line = 1; line <= 40; line += 1) {
    const { answers } = wait();
    world.unread = [];
    receive({ line, urgent: true });
    await pass(MINUTE / 2);
    woken += answers.filter(({ why }) => why === "mail").length;
  }
  expect(woken).toBe(6);
  expect(world.overBudget).toBe(1);
  // An hour later it may be woken again.
  await pass(HOUR);
  const { answers } = wait();
  receive({ line: 99, urgent: true });
  await pass(0);
  expect(answers).toMatchObject([{ why: "mail" }]);
});
