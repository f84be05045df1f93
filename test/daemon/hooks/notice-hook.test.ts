import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { DEFAULT_SETTINGS, type AgentSettings } from "../../../src/agent/config/settings.ts";
import { silentLogger } from "../../../src/agent/session/world.ts";
import { makeNoticeHook } from "../../../src/daemon/hooks/notice-hook.ts";
import type { HookEnd, HookHost, HookRun } from "../../../src/daemon/hooks/run-hook.ts";
import type { Notice } from "../../../src/store/notices.ts";

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
const DONE: HookEnd = { how: "done", detail: "exit code 0", said: "" };

beforeEach(() => {
  vi.useFakeTimers({ now: Date.parse("2026-06-01T09:00:00Z") });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A hook whose runs end when the test says so, and what it has logged. */
function makeScene(given: Partial<AgentSettings> = {}) {
  let settings: AgentSettings = { ...DEFAULT_SETTINGS, "hooks.on_notice": ["tell"], ...given };
  const runs: HookRun[] = [];
  const ends: ((end: HookEnd | Promise<HookEnd>) => void)[] = [];
  const warned: string[] = [];
  const ending = new AbortController();
  const host: HookHost = {
    settings: () => settings,
    who: () => ({ DEADDROP_AS: "forge" }),
    run: (run) => {
      runs.push(run);
      return new Promise((resolve) => ends.push(resolve));
    },
    signal: ending.signal,
    log: { ...silentLogger, warn: (_facts, message) => warned.push(message) },
  };
  const clock = { monoMs: () => performance.now(), wallMs: () => Date.now() };
  const heard = makeNoticeHook(host, clock);
  let made = 0;
  return {
    ending,
    runs,
    warned,
    set: (next: Partial<AgentSettings>) => (settings = { ...settings, ...next }),
    notices(count: number, kind: Notice["kind"] = "rejected") {
      for (let each = 0; each < count; each += 1) {
        made += 1;
        const at = new Date().toISOString();
        heard({ at, id: `n-${made}`, kind, about: "x", text: 'forge said "hello"' });
      }
    },
    async pass(ms: number) {
      await vi.advanceTimersByTimeAsync(ms);
    },
    async end(end: HookEnd | Promise<HookEnd> = DONE) {
      ends.shift()?.(end);
      await vi.advanceTimersByTimeAsync(0);
    },
    counts: () => runs.map(({ facts }) => Number(facts["DEADDROP_NOTICES"])),
  };
}

describe("the hook on a notice", () => {
  it("runs nothing where nothing is set, and keeps nothing for later", async () => {
    const scene = makeScene({ "hooks.on_notice": [] });
    scene.notices(5);
    await scene.pass(HOUR);
    scene.set({ "hooks.on_notice": ["tell"] });
    scene.notices(1);
    await scene.pass(HOUR);
    expect(scene.counts()).toEqual([1]);
  });

  it("tells a burst at once: ids, kinds, ages, and no text", async () => {
    const scene = makeScene();
    scene.notices(2);
    scene.notices(1, "peer_held");
    await scene.pass(2 * SECOND);
    expect(scene.runs).toMatchObject([
      {
        command: ["tell"],
        timeoutMs: 60 * SECOND,
        facts: {
          DEADDROP_AS: "forge",
          DEADDROP_HOOK: "on_notice",
          DEADDROP_NOTICES: "3",
          DEADDROP_KINDS: "rejected,peer_held",
        },
        input:
          '{"id":"n-1","kind":"rejected","age_seconds":1}\n' +
          '{"id":"n-2","kind":"rejected","age_seconds":1}\n' +
          '{"id":"n-3","kind":"peer_held","age_seconds":1}\n',
      },
    ]);
    expect(JSON.stringify(scene.runs)).not.toContain("hello");
  });

  it("runs one at a time, and the next one tells what came meanwhile", async () => {
    const scene = makeScene();
    scene.notices(1);
    await scene.pass(2 * SECOND);
    scene.notices(4);
    await scene.pass(HOUR);
    expect(scene.counts()).toEqual([1]);
    await scene.end();
    await scene.pass(2 * SECOND);
    expect(scene.counts()).toEqual([1, 4]);
    await scene.end();
    await scene.pass(HOUR);
    expect(scene.counts()).toEqual([1, 4]);
  });

  it("names a hundred and counts the rest", async () => {
    const scene = makeScene();
    scene.notices(250);
    await scene.pass(2 * SECOND);
    expect(scene.counts()).toEqual([250]);
    expect(scene.runs[0]?.input.trimEnd().split("\n")).toHaveLength(100);
  });

  it("waits when the runs of the hour are used up, says so once, and leaves nothing out", async () => {
    const scene = makeScene({ "hooks.runs_per_hour": 3 });
    for (let each = 0; each < 10; each += 1) {
      scene.notices(1);
      await scene.pass(2 * SECOND);
      await scene.end();
    }
    expect(scene.counts()).toEqual([1, 1, 1]);
    expect(scene.warned).toEqual([expect.stringContaining("used up its runs of this hour")]);
    await scene.pass(HOUR);
    expect(scene.counts()).toEqual([1, 1, 1, 7]);
  });

  it("goes on after a run that did not work, and says what it was", async () => {
    const scene = makeScene();
    scene.notices(1);
    await scene.pass(2 * SECOND);
    await scene.end({ how: "failed", detail: "exit code 1", said: "no display" });
    scene.notices(1);
    await scene.pass(2 * SECOND);
    expect(scene.counts()).toEqual([1, 1]);
    await scene.end(Promise.reject(new Error("E2BIG")));
    scene.notices(1);
    await scene.pass(2 * SECOND);
    expect(scene.counts()).toEqual([1, 1, 1]);
    expect(scene.warned).toEqual(["the hook did not work", "the hook did not work"]);
  });

  it("begins nothing once the daemon ends, and ends what runs", async () => {
    const scene = makeScene();
    scene.notices(1);
    await scene.pass(2 * SECOND);
    scene.notices(1);
    scene.ending.abort();
    expect(scene.runs[0]?.signal.aborted).toBe(true);
    await scene.end({ how: "stopped", detail: "SIGTERM", said: "" });
    await scene.pass(HOUR);
    expect(scene.counts()).toEqual([1]);
  });

  it("lets so many begin within any hour", async () => {
    const scene = makeScene({ "hooks.runs_per_hour": 4 });
    const begun: number[] = [];
    for (let minute = 0; minute < 10 * 60; minute += 1) {
      scene.notices(1);
      await scene.pass(60 * SECOND);
      if (scene.runs.length > begun.length) begun.push(Date.now());
      await scene.end();
    }
    const within = begun.map((at) => begun.filter((b) => b >= at && b < at + HOUR).length);
    expect(Math.max(...within)).toBe(4);
    expect(begun.length).toBeGreaterThan(30);
  });
});
