import { afterEach, describe, expect, test } from "vitest";
import { TOOLS } from "../../../src/api/tool-sessions.ts";
import {
  askAgain,
  EVENTS,
  eventText,
  hook,
  hookArgs,
  receive,
  said,
  sessionsOf,
  startHook,
  unreadIds,
  URGENT,
  wordsOf,
} from "../../support/processes/hook-processes.ts";
import { makeWire, removeWires, type LiveWire } from "../../support/processes/live-wire.ts";
import { start } from "../../support/processes/real-processes.ts";

// What a tool runs at each of its steps, as a process of its own beside a real daemon.

afterEach(removeWires);

const MARK = "[deaddrop, an automatic notice, not written by the user]";
const MOMENTS = ["start", "prompt", "call", "stop", "end"] as const;
const NOTHING = { code: 0, stdout: "", stderr: "" };

const quietWire = (): LiveWire => makeWire({ cadenceSeconds: 1, deadlineSeconds: 3_600 });

/** Runs `hook` with those arguments and that input. */
function run(wire: LiveWire, args: readonly string[], input: string) {
  return start(process.execPath, args, { env: wire.env, input }).ended;
}

describe("a hook with a daemon", () => {
  test.each(TOOLS)("names a message once in a session of %s, without its words", async (tool) => {
    const wire = quietWire();
    await wire.daemon("forge");
    const id = await receive(wire, "the parser");

    const { code, stdout, stderr } = await startHook(wire, { tool }).ended;
    expect([code, stderr]).toEqual([0, ""]);
    const unread = "forge has 1 unread message (1 from scribe)";
    const context = { additionalContext: expect.stringContaining(unread) as string };
    const named = { hookSpecificOutput: { hookEventName: EVENTS[tool].call, ...context } };
    expect(JSON.parse(stdout)).toEqual(tool === "copilot" ? context : named);
    expect(stdout).toContain(MARK);
    expect(stdout).toContain(`${id.slice(0, 10)} from scribe`);
    expect(stdout).not.toContain("the parser");
    expect(stdout).not.toContain(wordsOf("the parser"));

    for (const moment of ["call", "prompt", "stop"] as const) {
      expect(await hook(wire, { tool, moment })).toBeUndefined();
    }
    // A session that begins knows nothing yet.
    expect(await hook(wire, { tool, session: "s-2", moment: "start" })).toContain("1 unread");
    expect(await unreadIds(wire)).toEqual([id]);
  });

  // The process that runs the tests is not in a terminal, which counts for some of them.
  const seen = TOOLS.filter((tool) => !["gemini", "copilot", "qwen"].includes(tool));
  test.each(seen)("%s is asked to go on once for a message that cannot wait", async (tool) => {
    const wire = quietWire();
    await wire.daemon("forge");
    await receive(wire, "not urgent");
    expect(await hook(wire, { tool, moment: "stop" })).toBeUndefined();
    await receive(wire, "urgent", ...URGENT);
    const active = { stop_hook_active: true };
    expect(await hook(wire, { tool, moment: "stop", fields: active })).toBeUndefined();

    const ended = await startHook(wire, { tool, moment: "stop" }).ended;
    expect([ended.code, ended.stderr]).toEqual([0, ""]);
    const unread = expect.stringContaining("2 unread messages (2 from scribe), 1 urgent") as string;
    const context = { hookEventName: EVENTS[tool].stop, additionalContext: unread };
    expect(JSON.parse(ended.stdout)).toEqual(
      tool === "claude" ? { hookSpecificOutput: context } : { decision: "block", reason: unread },
    );
    expect(ended.stdout).not.toContain(wordsOf("urgent"));
    // One tool runs its prompt hook for our own reason: it says nothing twice.
    for (const moment of ["prompt", "call", "stop"] as const) {
      expect(await hook(wire, { tool, moment })).toBeUndefined();
    }
  });

  test("a run that is not interactive is told of mail, and never asked to go on", async () => {
    const wire = quietWire();
    await wire.daemon("forge");
    await receive(wire, "urgent", ...URGENT);
    const runs = [
      { tool: "claude", env: { CLAUDE_CODE_ENTRYPOINT: "sdk-cli" } },
      { tool: "gemini" },
      { tool: "copilot" },
      { tool: "qwen" },
    ] as const;
    for (const each of runs) {
      expect(await hook(wire, { ...each, moment: "stop" })).toBeUndefined();
      expect(await hook(wire, { ...each, moment: "call" })).toContain("1 unread message");
    }
    const asked = { ...runs[0], session: "s-2" };
    expect(await hook(wire, { ...asked, moment: "start" })).toContain("1 unread message");
    expect(await hook(wire, { ...asked, moment: "stop" })).toBeUndefined();
  });

  test("a hook of Claude Code is silent in Copilot CLI, which runs it beside its own", async () => {
    const wire = quietWire();
    await wire.daemon("forge");
    await receive(wire, "for forge");
    const env = { COPILOT_PROJECT_DIR: "/project" };
    expect(await hook(wire, { env })).toBeUndefined();
    expect(await hook(wire, { tool: "copilot", env })).toContain("1 unread message");
    expect((await sessionsOf(wire)).length).toBe(1);
  });

  test.each(TOOLS)(
    "a hook of %s is silent in a session that was started as another agent",
    async (tool) => {
      const wire = quietWire();
      await wire.daemon("forge");
      await wire.daemon("scribe");
      await receive(wire, "for forge");
      for (const named of ["forge", "scribe"]) {
        // The wire in the arguments wins: it is no question of who speaks.
        const env = { ...wire.env, DEADDROP_AS: named, DEADDROP_WIRE: "/nowhere" };
        const input = eventText({ tool, moment: "start", session: named });
        const { code, stdout } = await start(process.execPath, hookArgs(wire, "forge", tool), {
          env,
          input,
        }).ended;
        expect(code).toBe(0);
        if (named === "forge")
          expect(stdout).toContain("forge has 1 unread message (1 from scribe)");
        else expect(stdout).toBe("");
      }
    },
  );

  test("passes over what is no event of the tool's own agent, while mail waits", async () => {
    const wire = quietWire();
    await wire.daemon("forge");
    await receive(wire, "waits", ...URGENT);
    const args = hookArgs(wire, "forge", "claude");
    const event = eventText({});
    const other = (fields: object) => JSON.stringify({ ...JSON.parse(event), ...fields });
    const inputs = [
      ...["", "\0", "null", "[]", "1", '"Stop"', "{", `${event}}`, `[${event}]`, "{}"],
      ...[event.slice(0, -1), event.slice(0, event.length / 2), "\ud800", "x".repeat(100_000)],
      ...["PreToolUse", "Notification", "InstructionsLoaded", "PostToolBatch", "toString"].map(
        (name) => other({ hook_event_name: name }),
      ),
      ...[{ agent_id: "a1" }, { session_id: 1 }, { session_id: "" }, { hook_event_name: null }].map(
        other,
      ),
    ];
    for (const input of inputs) expect(await run(wire, args, input)).toEqual(NOTHING);

    const [bin = ""] = args;
    for (const each of [[], ["cursor", ...args.slice(3)]])
      expect(await run(wire, [bin, "hook", ...each], event)).toEqual(NOTHING);
    // All that has changed nothing: it is still to be named.
    expect(await hook(wire)).toContain("1 unread message");
  });

  test("names again what it could not hand over", async () => {
    const wire = quietWire();
    await wire.daemon("forge");
    const id = await receive(wire, "nobody listens");
    const args = hookArgs(wire, "forge", "claude");
    const unheard = start(process.execPath, args, { env: wire.env });
    unheard.child.stdout?.destroy();
    unheard.child.stdin?.end(eventText({}));
    expect(await unheard.ended).toEqual(NOTHING);
    const toFull = ["-c", 'exec "$0" "$@" > /dev/full', process.execPath, ...args];
    const input = eventText({});
    expect(await start("/bin/sh", toFull, { env: wire.env, input }).ended).toEqual(NOTHING);
    expect(await hook(wire)).toContain(id.slice(0, 10));
  });

  test("ends without a word when its input does not end", async () => {
    const wire = quietWire();
    await wire.daemon("forge");
    await receive(wire, "waits");
    const open = start(process.execPath, hookArgs(wire, "forge", "claude"), { env: wire.env });
    open.child.stdin?.write(eventText({}));
    expect(await open.ended).toEqual(NOTHING);
    expect(await hook(wire)).toContain("1 unread message");
  });
});

describe("a hook without a daemon that answers", () => {
  test("says so in one line when a session begins, and else nothing", async () => {
    const wire = quietWire();
    const line = `${MARK} No deaddrop daemon runs for forge, so mail is not announced. `;
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      const daemon = await wire.daemon("forge");
      await receive(wire, `before ${signal}`, ...URGENT);
      daemon.child.kill(signal);
      await daemon.ended;
      for (const tool of TOOLS) {
        const told = MOMENTS.map((moment) => hook(wire, { tool, moment }));
        const [atStart, ...later] = await Promise.all(told);
        expect(atStart?.startsWith(line)).toBe(true);
        expect(atStart).not.toContain("\n");
        for (const text of later) expect(text).toBeUndefined();
      }
    }
    // A hook starts none.
    expect(await wire.json("forge", "status")).toMatchObject({ daemon: { running: false } });
  });

  test("says nothing of a wire or a handle that is not there but that no daemon runs", async () => {
    const wire = quietWire();
    const elsewhere = [
      ...[
        hookArgs(wire, "nobody", "claude"),
        hookArgs({ ...wire, dir: "/nowhere" }, "forge", "claude"),
      ],
      hookArgs({ ...wire, dir: `${wire.dir}/config.json` }, "forge", "claude"),
    ];
    for (const args of elsewhere) {
      expect(await run(wire, args, eventText({ moment: "call" }))).toEqual(NOTHING);
      const { code, stderr } = await run(wire, args, eventText({ moment: "start" }));
      expect([code, stderr]).toEqual([0, ""]);
    }
  });

  test("prints nothing while the daemon is stopped, and names the mail when it goes on", async () => {
    const wire = quietWire();
    const daemon = await wire.daemon("forge");
    const id = await receive(wire, "waits", ...URGENT);
    daemon.child.kill("SIGSTOP");
    const asked = MOMENTS.filter((moment) => moment !== "end");
    const ends = await Promise.all(asked.map((moment) => startHook(wire, { moment }).ended));
    for (const ended of ends) expect(said(ended)).toBeUndefined();
    daemon.child.kill("SIGCONT");
    askAgain(wire);
    expect(await hook(wire)).toContain(id.slice(0, 10));
    expect(await unreadIds(wire)).toEqual([id]);
  });
});
