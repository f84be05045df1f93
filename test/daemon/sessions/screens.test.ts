import { expect, test } from "vitest";
import { isReadyForKeys } from "../../../src/daemon/sessions/screens.ts";

const NBSP = "\u00a0";
const DIM = "\x1b[1m›\x1b[0m \x1b[2mAsk Codex to do anything\x1b[0m";

test.each([
  ["claude", `● done\n❯${NBSP}\x1b[7m \x1b[0m\n  ? for shortcuts`],
  ["codex", `• done\n${DIM}\n  gpt`],
  ["gemini", " >   Type your message or @path/to/file\n"],
  ["gemini", "│ *   Type your message or @path/to/file │"],
  [
    "copilot",
    " /project [⎇ main]\n────\n❯\n────\n \x1b[1m/\x1b[0m commands · \x1b[1m?\x1b[0m help",
  ],
] as const)("%s that is idle with an empty prompt may be typed on", (tool, screen) => {
  expect(isReadyForKeys(tool, screen)).toBe(true);
});

test.each([
  ["claude", "a draft", `❯${NBSP}a draft of mine`],
  ["claude", "a turn", `✻ Thinking… (esc to interrupt)\n❯${NBSP}`],
  ["claude", "a question", "Do you want to proceed?\n❯ 1. Yes\n  2. No"],
  ["codex", "a draft", "\x1b[1m›\x1b[0m a draft of mine"],
  ["codex", "a turn", `• Working (esc to interrupt)\n${DIM}`],
  ["codex", "a question", `Allow the deaddrop MCP server? enter to submit\n${DIM}`],
  ["gemini", "a draft", " >   a draft of mine"],
  ["gemini", "a turn", "⠏ (esc to cancel, 3s)\n >   Type your message or @path/to/file"],
  ["gemini", "a question", "● 1. Allow once\n >   Type your message or @path/to/file"],
  ["copilot", "a draft", "────\n❯ a draft of mine\n────\n Interactive · @ files"],
  ["copilot", "a turn", "────\n❯\n────\n ◉ Working · 82 B esc esc interrupt"],
  ["copilot", "a question", "Do you want to run this command?\n│ ❯ 1. Yes │"],
  ["opencode", "any screen", "Ask anything"],
] as const)("%s with %s is not typed on", (tool, _what, screen) => {
  expect(isReadyForKeys(tool, screen)).toBe(false);
});
