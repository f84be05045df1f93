import fc from "fast-check";
import { expect, test } from "vitest";
import type { HookProcess } from "../../../src/agents/hooks/hook-daemon.ts";
import { hookCall } from "../../../src/agents/hooks/hook-identity.ts";
import { runToolHook } from "../../../src/agents/hooks/run-hook.ts";
import { outputOf, readEvent } from "../../../src/agents/hooks/tool-hooks.ts";
import { TOOLS } from "../../../src/api/tool-sessions.ts";

// Tools change, and what they write to their hooks with them: whatever comes, a hook ends well.

const tool = fc.constantFrom(...TOOLS);
const EVENTS = {
  resume: ["SessionStart"],
  start: ["SessionStart"],
  prompt: ["UserPromptSubmit", "BeforeAgent"],
  call: ["PostToolUse", "AfterTool"],
  turn_end: ["Stop", "AfterAgent"],
  end: ["SessionEnd"],
} as const;
const FIELDS = ["session_id", "hook_event_name", "agent_id", "stop_hook_active", "source"];
/** Fields of later versions. */
const added = fc.dictionary(
  fc.string().filter((name) => !FIELDS.includes(name)),
  fc.jsonValue(),
  { noNullPrototype: true },
);
const event = fc.record({
  session_id: fc.string({ minLength: 1, maxLength: 256 }),
  hook_event_name: fc.constantFrom(...Object.values(EVENTS).flat()),
  stop_hook_active: fc.boolean(),
  source: fc.constantFrom("startup", "resume", "clear", "compact"),
});

test("text and JSON of any kind are no event, and no error", () => {
  const value = fc.jsonValue();
  const almost = fc.record(
    { session_id: value, hook_event_name: value, stop_hook_active: value, agent_id: value },
    { requiredKeys: [] },
  );
  const json = fc.oneof(value, almost).map((each) => JSON.stringify(each));
  fc.assert(
    fc.property(tool, fc.oneof(fc.string({ unit: "binary" }), json), (name, input) => {
      expect(readEvent(name, input)).toBeUndefined();
    }),
  );
});

test("fields of later versions change nothing", () => {
  fc.assert(
    fc.property(tool, event, added, (name, known, more) => {
      const read = readEvent(name, JSON.stringify(known));
      expect(readEvent(name, JSON.stringify({ ...more, ...known }))).toEqual(read);
      expect(readEvent(name, JSON.stringify({ ...known, ...more }))).toEqual(read);
      if (read === undefined) return;
      expect(EVENTS[read.moment]).toContain(known.hook_event_name);
      if (read.moment === "start") expect(known.source).toBe("startup");
      if (read.moment === "resume") expect(known.source).not.toBe("startup");
      expect(read).toMatchObject({
        ...{ session: known.session_id, name: known.hook_event_name },
        isContinued: known.stop_hook_active,
      });
    }),
  );
});

test("what a subagent does is passed over, whatever its id", () => {
  fc.assert(
    fc.property(tool, event, fc.jsonValue(), (name, known, agent_id) => {
      expect(readEvent(name, JSON.stringify({ ...known, agent_id }))).toBeUndefined();
    }),
  );
});

test("what is printed is one JSON value that holds the text as it is, or nothing at all", () => {
  fc.assert(
    fc.property(tool, event, fc.string(), fc.boolean(), (name, known, say, goOn) => {
      const read = readEvent(name, JSON.stringify(known));
      if (read === undefined) return;
      const text = outputOf(name, read, { say, goOn });
      expect(outputOf(name, read, { say: null, goOn })).toBe("");
      if (read.moment === "end" || (read.moment === "turn_end" && !goOn)) {
        // The plugin of ours prints it beside the run's result.
        const isShown =
          read.moment === "turn_end" && ["opencode", "kilo", "pi", "cline"].includes(name);
        expect(text).toBe(isShown ? JSON.stringify({ systemMessage: say }) : "");
        return;
      }
      const decision = name === "gemini" ? "deny" : "block";
      const context = { additionalContext: say };
      const named = {
        hookSpecificOutput: { hookEventName: known.hook_event_name, ...context },
      };
      // One of the tools leaves all of it aside when it holds anything else.
      expect(JSON.parse(text)).toEqual(
        read.moment === "turn_end" && name !== "claude"
          ? { decision, reason: say }
          : name === "copilot"
            ? context
            : named,
      );
    }),
  );
});

test("arguments name whom it is for, in any order, or it is for nobody", async () => {
  const at = { tool: "gemini", handle: "forge", wireDir: "/w" };
  const wire = ["--wire", "/w"];
  const as = ["--as", "forge"];
  const call = (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
    hookCall(args, { env: { HOME: "/nowhere", ...env }, cwd: "/" });
  expect(await call(["gemini", ...as, ...wire])).toEqual({ ...at, isWaiter: false });
  expect(await call(["gemini", "--wait", ...wire, ...as])).toEqual({ ...at, isWaiter: true });
  for (const args of [[], ["gemini"], ["gemini", ...as], ["gemini", ...wire], [...as, ...wire]]) {
    expect(await call(args)).toBeUndefined();
  }
  for (const name of ["cursor", "Claude", "toString", ""]) {
    expect(await call([name, ...as, ...wire])).toBeUndefined();
  }
  // A session of another agent.
  expect(await call(["gemini", ...as, ...wire], { DEADDROP_AS: "scribe" })).toBeUndefined();
  expect(await call(["gemini", ...as, ...wire], { DEADDROP_AS: "forge" })).toMatchObject(at);
});

test("a hook ends with 0 and without a word, whatever it is given and however it fails", async () => {
  const word = fc.oneof(
    fc.constantFrom(...TOOLS, "--as", "--wire", "--wait", "forge"),
    fc.string(),
  );
  const input = fc.oneof(
    fc.constant(undefined),
    fc.string(),
    fc.jsonValue().map((each) => JSON.stringify(each)),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(word, { maxLength: 7 }),
      input,
      fc.boolean(),
      async (args, text, fails) => {
        const printed: string[] = [];
        const say = (words: string): Promise<void> => Promise.resolve(void printed.push(words));
        const io: HookProcess = {
          ...{ env: { HOME: "/nowhere" }, print: say, complain: say },
          takesItsTime: () => undefined,
          atLimit: () => undefined,
          input: () => (fails ? Promise.reject(new Error("EIO")) : Promise.resolve(text)),
        };
        expect(await runToolHook(args, io)).toBe(0);
        expect(printed).toEqual([]);
      },
    ),
  );
});
