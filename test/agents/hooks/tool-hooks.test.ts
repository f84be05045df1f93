import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { outputOf, readEvent } from "../../../src/agents/hooks/tool-hooks.ts";
import type { Moment, Tool } from "../../../src/api/tool-sessions.ts";

// What each tool wrote to its hooks, as recorded with the tool (test/data/tools).

const DATA = join(import.meta.dirname, "..", "..", "data", "tools");
const RECORDED = [
  ["claude", "claude-2.1.197"],
  ["codex", "codex-0.169.0"],
  ["gemini", "gemini-0.61.0"],
  ["copilot", "copilot-1.0.102"],
  ["qwen", "qwen-0.24.4"],
] as const;

/** The events that concern us; all others are passed over. */
const MOMENTS: Readonly<Record<string, Moment>> = {
  SessionStart: "start",
  UserPromptSubmit: "prompt",
  BeforeAgent: "prompt",
  PostToolUse: "call",
  AfterTool: "call",
  Stop: "turn_end",
  AfterAgent: "turn_end",
  SessionEnd: "end",
};

interface Recorded {
  readonly stdout: {
    readonly hookSpecificOutput?: { readonly additionalContext: string };
    readonly additionalContext?: string;
    readonly reason?: string;
  };
}

function inputs(folder: string): string[] {
  return readdirSync(join(DATA, folder)).filter((name) => !name.endsWith(".out.json"));
}

describe.each(RECORDED)("%s", (tool, folder) => {
  test.each(inputs(folder))("%s is read as what it is, or passed over", (name) => {
    const event = readEvent(tool, readFileSync(join(DATA, folder, name), "utf8"));
    const [base = ""] = name.split(".");
    const moment = MOMENTS[base];
    if (moment === undefined) expect(event).toBeUndefined();
    else {
      const session = expect.stringMatching(/^0{8}-0000-4000-8000-0{11}\d$/) as string;
      const isContinued = name.includes(".active") || name.includes(".after-asyncRewake");
      expect(event).toMatchObject({ name: base, moment, session });
      if (moment === "turn_end") expect(event?.isContinued).toBe(isContinued);
    }
  });

  const answered = inputs(folder).filter((name) => {
    const [base = "", ...rest] = name.split(".");
    return MOMENTS[base] !== undefined && MOMENTS[base] !== "end" && rest.length === 1;
  });

  test.each(answered)("what is printed for %s is what was recorded to reach the model", (name) => {
    const event = readEvent(tool, readFileSync(join(DATA, folder, name), "utf8"));
    if (event === undefined) throw new Error(`${name} was not read`);
    const path = join(DATA, folder, name.replace(".json", ".out.json"));
    const { stdout } = JSON.parse(readFileSync(path, "utf8")) as Recorded;
    const { additionalContext = stdout.reason ?? "" } = stdout.hookSpecificOutput ?? stdout;
    const say = additionalContext;
    expect(say).toContain("DEADDROP");
    expect(JSON.parse(outputOf(tool, event, { say, goOn: true }))).toEqual(stdout);
    expect(outputOf(tool, event, { say: null, goOn: false })).toBe("");
  });

  test("input that is cut off anywhere, or is something else, says nothing", () => {
    const texts = inputs(folder).map((name) => readFileSync(join(DATA, folder, name), "utf8"));
    for (const text of texts) {
      for (let end = 0; end < text.trimEnd().length; end += 7) {
        expect(readEvent(tool, text.slice(0, end))).toBeUndefined();
      }
    }
    const others = ["null", "[]", "1", '"Stop"', "{}", '{"hook_event_name":"Stop"}'];
    const wrong = ['"session_id":1', '"session_id":""', `"session_id":"${"x".repeat(300)}"`];
    for (const text of [...others, ...wrong.map((id) => `{"hook_event_name":"Stop",${id}}`)]) {
      expect(readEvent(tool, text)).toBeUndefined();
    }
  });
});

test.each<[Tool, string]>([
  ["claude", "toString"],
  ["claude", "PostToolUseV2"],
  ["gemini", "Stop"],
])("%s: an event of another name (%s) is passed over", (tool, name) => {
  expect(
    readEvent(tool, JSON.stringify({ hook_event_name: name, session_id: "s" })),
  ).toBeUndefined();
});

test("fields that a later version adds change nothing, and those of a subagent are not ours", () => {
  const event = {
    hook_event_name: "Stop",
    session_id: "s",
    stop_hook_active: "yes",
    added: { a: 1 },
  };
  expect(readEvent("claude", JSON.stringify(event))).toEqual({
    name: "Stop",
    moment: "turn_end",
    session: "s",
    isContinued: false,
  });
  expect(readEvent("claude", JSON.stringify({ ...event, agent_id: "a1" }))).toBeUndefined();
});

test("the end of a turn goes on only when it is asked to", () => {
  const event = { name: "Stop", moment: "turn_end", session: "s", isContinued: false } as const;
  for (const tool of ["claude", "codex", "gemini"] as const) {
    expect(outputOf(tool, event, { say: "x", goOn: false })).toBe("");
  }
  // Our plugin prints it at the end of a run.
  expect(outputOf("opencode", event, { say: "x", goOn: false })).toBe('{"systemMessage":"x"}');
  expect(outputOf("gemini", event, { say: "x", goOn: true })).toBe(
    '{"decision":"deny","reason":"x"}',
  );
  // A decision to block is shown as an error there, and given to the model twice.
  expect(outputOf("claude", event, { say: "x", goOn: true })).toBe(
    '{"hookSpecificOutput":{"hookEventName":"Stop","additionalContext":"x"}}',
  );
});
