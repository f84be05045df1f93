import type { Marks } from "../agent/answers/mail.ts";

/** Tools that agents run in, as `hook` and `integrate` name them. Spec 8.3. */
export const TOOLS = [
  "claude",
  "codex",
  "gemini",
  "opencode",
  "copilot",
  "qwen",
  "kilo",
  "pi",
  "cline",
] as const;
export type Tool = (typeof TOOLS)[number];

/**
 * Where in the work of a session a tool runs its hook: the session begins, or a session of before goes
 * on, the person has written, a tool call has ended, the turn ends, the session ends.
 */
export const MOMENTS = ["start", "resume", "prompt", "call", "turn_end", "end"] as const;
export type Moment = (typeof MOMENTS)[number];

/** One session of a tool. */
export interface SessionName {
  readonly tool: Tool;
  /** As the tool names it. */
  readonly session: string;
}

/** The process whose end ends the session. */
export interface SessionProcess {
  readonly pid: number;
  /** Its PID namespace, and when it was started, as the system tells both; a pid is given out again. */
  readonly started: string;
}

/** A terminal within tmux: its server's socket, and the pane as tmux names it. */
export interface Pane {
  readonly server: string;
  readonly pane: string;
}

/** Ways to reach an idle session that the daemon goes by itself. */
export type WakeWay =
  | {
      readonly by: "codex";
      readonly program: string;
      readonly home?: string | undefined;
      /** The newest thread on any screen of that Codex when this was named: a younger one hides ours. */
      readonly newest?: string | undefined;
      /** When it was named: the start of the hook's process, as in `SessionProcess.started`. */
      readonly namedAt: string;
      /** The session is in one of their terminals: it is seen to be open while all of them run. */
      readonly terminals: readonly SessionProcess[];
      /** Where keys can be typed, which is quicker. */
      readonly keys?: Pane | undefined;
    }
  | ({ readonly by: "tmux" } & Pane)
  /** The socket on which Qwen Code takes messages, and what admits the programs that the session has started. */
  | { readonly by: "qwen"; readonly socket: string; readonly token: string }
  /** The session is not reached: its person is told, on the desktop. */
  | { readonly by: "desktop" };

/** What a hook tells the daemon. */
export interface HookEvent extends SessionName {
  readonly moment: Moment;
  /** At the end of a turn: a hook has had it go on already. */
  readonly isContinued: boolean;
  /** A person sees the session; else what its agent says last is a program's result. */
  readonly isInteractive: boolean;
  readonly process?: SessionProcess | undefined;
  readonly wake?: WakeWay | undefined;
}

/** What the hook shows the model. No word of a peer is in it. Spec 8.2. */
export interface HookAnswer {
  /** Null: there is nothing to say. */
  readonly say: string | null;
  /** At the end of a turn: the agent is asked to go on, and `say` tells why. */
  readonly goOn: boolean;
  /** To be confirmed once it was shown. */
  readonly marks: Marks;
}

/** Why a waiter ends: there is mail; or another one waits for the session now, or it has ended. */
export type WakeAnswer =
  | { readonly why: "mail"; readonly say: string; readonly marks: Marks }
  | { readonly why: "replaced" | "ended" };

/** The wakes for a peer's mail are used up until then: ISO-8601, UTC. Spec 8.3. */
export interface NotWokenView {
  peer: string;
  until: string;
  /** The same for urgent mail; absent: that still wakes. */
  urgent_until?: string;
}

/** A session as `status` shows it. */
export interface ToolSessionView {
  tool: Tool;
  session: string;
  state: "busy" | "idle";
  /** Since when, and when it was last heard of: ISO-8601, UTC. */
  since: string;
  last_event: string;
  /** How it would be woken; null: not at all. */
  wake: "waiter" | WakeWay["by"] | null;
  /** Another session of the agent is woken in its place. */
  is_second: boolean;
  /** Absent when there are wakes left for everybody's mail. */
  wakes_used_up?: readonly NotWokenView[];
}
