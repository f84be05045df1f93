import type { HookAnswer, Moment, Tool } from "../../api/tool-sessions.ts";

/** What of a hook's input concerns us. */
export interface ToolEvent {
  /** As the tool calls it. */
  readonly name: string;
  readonly moment: Moment;
  readonly session: string;
  /** A hook has had this turn go on already. */
  readonly isContinued: boolean;
}

/** How one tool speaks with its hooks. */
interface ToolHooks {
  readonly moments: Readonly<Record<string, Moment>>;
  /** The decision that keeps the agent from ending its turn; context alone does where there is none. */
  readonly goOn?: "block" | "deny";
}

const LIKE_CLAUDE = {
  SessionStart: "start",
  UserPromptSubmit: "prompt",
  PostToolUse: "call",
  Stop: "turn_end",
  SessionEnd: "end",
} as const;

/** Our own plugin speaks as Claude Code does. */
const OUR_PLUGIN: ToolHooks = { moments: LIKE_CLAUDE, goOn: "block" };

/**
 * Seen in Claude Code 2.1.332, Codex 0.171.0, Gemini CLI 0.61.0, OpenCode 1.18.33, Copilot CLI 1.0.102 and
 * Qwen Code 0.24.4. Spec 8.3.
 */
const HOOKS: { readonly [T in Tool]: ToolHooks } = {
  // To block is an error there since 2.1.332: it is shown as one, and given to the model twice.
  claude: { moments: LIKE_CLAUDE },
  codex: { moments: LIKE_CLAUDE, goOn: "block" },
  gemini: {
    moments: {
      SessionStart: "start",
      BeforeAgent: "prompt",
      AfterTool: "call",
      AfterAgent: "turn_end",
      SessionEnd: "end",
    },
    goOn: "deny",
  },
  copilot: { moments: LIKE_CLAUDE, goOn: "block" },
  qwen: { moments: LIKE_CLAUDE, goOn: "block" },
  opencode: OUR_PLUGIN,
  kilo: OUR_PLUGIN,
  pi: OUR_PLUGIN,
  cline: OUR_PLUGIN,
};

/** What tools call the source of a session that does not go on from an earlier one. */
const NEW: readonly string[] = ["startup", "new"];

/** Longer names are no names that a tool gives its sessions. */
const MAX_SESSION = 256;

/**
 * Undefined: an event that does not concern us, one of a subagent, or input that is not what the tool
 * writes.
 */
export function readEvent(tool: Tool, input: string): ToolEvent | undefined {
  let given: unknown;
  try {
    given = JSON.parse(input);
  } catch {
    return undefined;
  }
  if (typeof given !== "object" || given === null) return undefined;
  const {
    hook_event_name: name,
    session_id: session,
    agent_id: subagent,
    stop_hook_active,
    source,
  } = given as Record<string, unknown>;
  if (typeof name !== "string" || typeof session !== "string" || subagent !== undefined) {
    return undefined;
  }
  if (session === "" || session.length > MAX_SESSION) return undefined;
  const { moments } = HOOKS[tool];
  const known = Object.hasOwn(moments, name) ? moments[name] : undefined;
  if (known === undefined) return undefined;
  // Resumed, cleared or compacted: the session goes on.
  const goesOn = known === "start" && typeof source === "string" && !NEW.includes(source);
  const moment = goesOn ? "resume" : known;
  return { name, moment, session, isContinued: stop_hook_active === true };
}

/** What the hook prints: JSON as the tool takes it, or nothing. */
export function outputOf(
  tool: Tool,
  { name, moment }: ToolEvent,
  { say, goOn }: Pick<HookAnswer, "say" | "goOn">,
): string {
  if (say === null || moment === "end") return "";
  if (moment === "turn_end") {
    const { goOn: decision } = HOOKS[tool];
    // The other tools would put it into what the run prints.
    if (!goOn) return HOOKS[tool] === OUR_PLUGIN ? JSON.stringify({ systemMessage: say }) : "";
    if (decision !== undefined) return JSON.stringify({ decision, reason: say });
  }
  const context = { additionalContext: say };
  return JSON.stringify(
    tool === "copilot" ? context : { hookSpecificOutput: { hookEventName: name, ...context } },
  );
}
