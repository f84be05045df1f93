import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DeaddropError } from "../../src/api/errors.ts";
import { OPERATIONS } from "../../src/api/operations.ts";
import { MOMENTS, TOOLS } from "../../src/api/tool-sessions.ts";

// What hooks and waiters send over the socket.

const NAME = { tool: "claude", session: "s-1" };
const PROCESS = { pid: 7, started: "123" };
const EVENT = { ...NAME, moment: "call", isContinued: false, isInteractive: true };
const CODEX = { by: "codex", program: "codex", namedAt: "1 5", terminals: [PROCESS] };
const { parse: parseHookEvent } = OPERATIONS.hook;
const { parse: parseNamed } = OPERATIONS.named;
const { parse: parseAwait } = OPERATIONS.await_wake;
const PARSERS = [parseHookEvent, parseNamed, parseAwait];

describe("is read as it was sent", () => {
  test("an event of every tool and moment, with a process and a way to wake, or without", () => {
    const pane = { server: "/tmp/tmux/default", pane: "%1" };
    const codex = { by: "codex", program: "/usr/bin/codex", newest: undefined, namedAt: "1 5" };
    const ways = [
      undefined,
      { by: "tmux", ...pane },
      { by: "qwen", socket: "/run/7.sock", token: "0a" },
      { ...codex, home: "/home/user/.codex", newest: "01a2", terminals: [PROCESS], keys: pane },
      { ...codex, home: undefined, terminals: [], keys: undefined },
      {
        ...codex,
        home: undefined,
        terminals: [PROCESS, { pid: 8, started: "9" }],
        keys: undefined,
      },
    ];
    for (const tool of TOOLS) {
      for (const moment of MOMENTS) {
        for (const wake of ways) {
          for (const process of [undefined, PROCESS]) {
            const at = { moment, isContinued: true, isInteractive: false };
            const event = { tool, session: "s", ...at, process, wake };
            expect(parseHookEvent(JSON.parse(JSON.stringify(event)))).toEqual(event);
          }
        }
      }
    }
  });

  test("what was shown, and what waits", () => {
    const marks = { scribe_to_forge: 3, other: 0 };
    expect(parseNamed({ ...NAME, marks })).toEqual({ ...NAME, marks });
    expect(parseNamed({ ...NAME, marks: {} })).toEqual({ ...NAME, marks: {} });
    expect(parseAwait({ ...NAME, process: PROCESS })).toEqual({ ...NAME, process: PROCESS });
    expect(parseAwait(NAME)).toEqual({ ...NAME, process: undefined });
  });
});

describe("is refused", () => {
  test.each([
    ["no tool", { tool: undefined }],
    ["a tool that is not known", { tool: "cursor" }],
    ["no session", { session: undefined }],
    ["a session that is no text", { session: 1 }],
    ["a moment that is not known", { moment: "toString" }],
    ["no word on whether the turn was continued", { isContinued: undefined }],
    ["no word on whether a person sees it", { isInteractive: undefined }],
    ["a process without its start", { process: { pid: 7 } }],
    ["a process that is a number", { process: 7 }],
    ["a process id that no process has", { process: { pid: 0, started: "1" } }],
    ["a process id that is a fraction", { process: { pid: 1.5, started: "1" } }],
    ["a way to wake that is not known", { wake: { by: "keys" } }],
    ["a pane without its server", { wake: { by: "tmux", pane: "%1" } }],
    ["a socket without what admits us", { wake: { by: "qwen", socket: "/run/7.sock" } }],
    ["a way without its program", { wake: { ...CODEX, program: undefined } }],
    ["a home that is no text", { wake: { ...CODEX, home: 1 } }],
    ["a way without its terminals", { wake: { ...CODEX, terminals: undefined } }],
    ["a terminal that is no process", { wake: { ...CODEX, terminals: [{ pid: 7 }] } }],
    ["keys without a pane", { wake: { ...CODEX, keys: { server: "/tmp/tmux" } } }],
    ["a way that is null", { wake: null }],
  ])("%s", (_what, change) => {
    expect(() => parseHookEvent({ ...EVENT, ...change })).toThrow(DeaddropError);
  });

  test.each([undefined, null, 3, ["a"], { log: -1 }, { log: 1.5 }, { log: "1" }, { log: null }])(
    "as what was shown: %j",
    (marks) => {
      expect(() => parseNamed({ ...NAME, marks })).toThrow(DeaddropError);
    },
  );

  test("any other JSON, by an error of ours and no other", () => {
    const value = fc.jsonValue();
    const almost = fc.record(
      {
        ...{ tool: value, session: value, moment: value, isContinued: value, process: value },
        ...{ wake: value, marks: value },
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.oneof(value, almost), (given) => {
        for (const parse of PARSERS) expect(() => parse(given)).toThrow(DeaddropError);
      }),
    );
  });
});
