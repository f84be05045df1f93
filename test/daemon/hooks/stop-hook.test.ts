import { expect, test } from "vitest";
import { DEFAULT_SETTINGS } from "../../../src/agent/config/settings.ts";
import { silentLogger } from "../../../src/agent/session/world.ts";
import type { HookEnd, HookHost, HookRun } from "../../../src/daemon/hooks/run-hook.ts";
import { makeStopHook } from "../../../src/daemon/hooks/stop-hook.ts";

const OF = { by: "a".repeat(64), request: "b".repeat(64), peer: "lead" };

function scene(onStop: readonly string[] = ["end-it"]) {
  const runs: HookRun[] = [];
  const ends: ((end: HookEnd | Promise<never>) => void)[] = [];
  const warned: string[] = [];
  let looks = 0;
  const ending = new AbortController();
  const host: HookHost = {
    settings: () => ({ ...DEFAULT_SETTINGS, "hooks.on_stop": onStop }),
    who: () => ({ DEADDROP_AS: "mate" }),
    run: (run) => {
      runs.push(run);
      return new Promise((resolve) => ends.push(resolve));
    },
    signal: ending.signal,
    log: { ...silentLogger, warn: (_facts, message) => warned.push(message) },
  };
  const hook = makeStopHook(host, () => (looks += 1));
  const end = async (how: HookEnd | Promise<never>): Promise<void> => {
    ends.shift()?.(how);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { hook, ending, runs, end, warned, looks: () => looks };
}

test("it runs once for an approval, is asked until it has ended, and says who asked", async () => {
  const { hook, runs, end, looks } = scene();
  expect(hook.run(OF)).toBeUndefined();
  expect(hook.run(OF)).toBeUndefined();
  expect(runs).toHaveLength(1);
  expect(runs[0]).toMatchObject({
    command: ["end-it"],
    input: `${JSON.stringify({ request: OF.request, peer: "lead", approval: OF.by })}\n`,
    facts: {
      ...{ DEADDROP_AS: "mate", DEADDROP_HOOK: "on_stop", DEADDROP_PEER: "lead" },
      DEADDROP_REQUEST: OF.request,
    },
    timeoutMs: 60_000,
  });
  await end({ how: "done", detail: "exit code 0", said: "" });
  expect(looks()).toBe(1);
  expect(hook.run(OF)).toEqual({ outcome: "done", detail: "exit code 0" });
  // Another approval is another shutdown.
  expect(hook.run({ ...OF, by: "c".repeat(64) })).toBeUndefined();
  expect(runs).toHaveLength(2);
});

test("one that fails, or does not start, is said to have failed", async () => {
  const { hook, end, warned } = scene();
  hook.run(OF);
  await end({ how: "timed out", detail: "SIGKILL", said: "" });
  expect(hook.run(OF)).toEqual({ outcome: "failed", detail: "timed out: SIGKILL" });
  hook.run({ ...OF, by: "d" });
  await end(Promise.reject(new Error("spawn end-it ENOENT")));
  expect(hook.run({ ...OF, by: "d" })).toEqual({
    outcome: "failed",
    detail: "not started: spawn end-it ENOENT",
  });
  expect(warned).toEqual(["the stop hook did not work", "the stop hook did not work"]);
});

test("where no command is set there is nothing to wait for", () => {
  const { hook, runs } = scene([]);
  expect(hook.run(OF)).toEqual({ outcome: "none", detail: "no command is set" });
  expect(runs).toEqual([]);
});

test("a daemon that ends asks a command that runs to end", () => {
  const { hook, ending, runs } = scene();
  hook.run(OF);
  ending.abort();
  expect(runs[0]?.signal.aborted).toBe(true);
});
