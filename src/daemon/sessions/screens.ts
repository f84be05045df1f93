import type { Tool } from "../../api/tool-sessions.ts";

/** A screen with its colours, as `tmux capture-pane -e` prints it. */
interface Screen {
  readonly rows: readonly string[];
  readonly plain: string;
}

const ESCAPE = "\\x1b";
/** What sets a colour. */
const SGR = `${ESCAPE}\\[[0-9;]*m`;
const COLOURS = new RegExp(SGR, "gu");

/**
 * How each tool shows that keys may be typed: it is idle, its prompt is empty, and no question of its
 * own is open. Seen in Claude Code 2.1.197, Codex 0.169.0, Gemini CLI 0.61.0 and Copilot CLI 1.0.102; a
 * screen that is not known for sure is not typed on. Spec 8.3.
 */
const READY: { readonly [T in Tool]?: (screen: Screen) => boolean } = {
  claude: ({ rows, plain }) =>
    !/esc to interrupt|❯ 1\. /u.test(plain) &&
    rows.some((row) => /^\s*❯[\u00a0 ]\s*$/u.test(row.replaceAll(COLOURS, ""))),
  codex: ({ rows, plain }) =>
    !/esc to interrupt|enter to submit/u.test(plain) &&
    rows.some((row) => /^›\s+/u.test(row.replaceAll(COLOURS, "")) && isDim(row)),
  copilot: ({ rows, plain }) =>
    !/ interrupt\b/u.test(plain) &&
    rows.some((row) => /^\s*❯\s*$/u.test(row.replaceAll(COLOURS, ""))),
  gemini: ({ plain }) =>
    !/esc to cancel|● 1\. /u.test(plain) &&
    /^[│\s]*[>*]\s{1,3}Type your message or @path/mu.test(plain),
};

/** @param captured of `tmux capture-pane -p -e` */
export function isReadyForKeys(tool: Tool, captured: string): boolean {
  const rows = captured.split("\n");
  return READY[tool]?.({ rows, plain: captured.replaceAll(COLOURS, "") }) === true;
}

/** What follows the prompt sign is dim: a hint of the tool's, and no draft of the person's. */
function isDim(row: string): boolean {
  const behind = row.slice(row.indexOf("›") + 1);
  const words = new RegExp(`^(?:${SGR}|\\s)*`, "u").exec(behind)?.[0] ?? "";
  return new RegExp(`${ESCAPE}\\[(?:[0-9;]*;)?2m`, "u").test(words);
}
