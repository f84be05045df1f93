import type { Logger } from "../../agent/session/world.ts";
import type { RoundRegistry } from "../../api/rounds.ts";
import type {
  HookAnswer,
  HookEvent,
  SessionName,
  SessionProcess,
  ToolSessionView,
  WakeAnswer,
  WakeWay,
} from "../../api/tool-sessions.ts";
import type { MailView, Marks } from "../../api/views.ts";
import type { NotWoken } from "../../protocol/beats/beat.ts";
import type { Wake } from "../wake.ts";
import type { SpentWakes, WakeLimits } from "./wake-budget.ts";

/** What the registry asks of its agent. */
export interface SessionsAgent {
  readonly handle: string;
  peers(): readonly string[];
  /** What is unread beyond the marks. */
  mail(marks: Marks): Promise<MailView>;
  /** The agent is at work, or it is not; and for whose mail it is not woken. */
  setState(state: "busy" | "idle", notWoken: Readonly<Record<string, NotWoken>>): Promise<void>;
}

/** The agent's turns in collaboration rounds that it was not told of. Spec 6.3. */
export type SessionsRounds = Pick<RoundRegistry, "turns" | "told">;

/** What its operator has set, and hears. */
export interface SessionsOperator {
  limits(): WakeLimits;
  /** Nobody is to be woken now. */
  isQuiet(): boolean;
  /** The budget is used up. */
  overBudget(): void;
}

/** What it does to processes. */
export interface SessionsHost {
  /** Undefined: it cannot be told from here, so its session ends by what its hooks say. */
  readonly isAlive: (process: SessionProcess) => boolean | undefined;
  /** A screen still shows the thread of Codex that it showed when the way was named. */
  readonly isThreadShown: (way: WakeWay & { readonly by: "codex" }) => boolean;
  /** A person can be told on a desktop. */
  readonly hasDesktop: boolean;
  /** Goes one of the ways; false when the session could not be reached, or is at work. */
  reach(way: WakeWay, session: SessionName, text: string): Promise<boolean>;
}

export interface SessionsClock {
  monoMs(): number;
  wallMs(): number;
  readonly wake: Wake;
}

export interface ToolSessionsOptions {
  readonly agent: SessionsAgent;
  readonly rounds: SessionsRounds;
  readonly operator: SessionsOperator;
  readonly spent: SpentWakes;
  readonly host: SessionsHost;
  readonly clock: SessionsClock;
  readonly log: Logger;
}

/** The sessions of tools that our agent runs in: what they are told, and when they are woken. */
export interface ToolSessions {
  /** A hook of a tool was run. */
  event(event: HookEvent): Promise<HookAnswer>;
  /** What was answered has been shown. */
  named(session: SessionName, marks: Marks): void;
  /** Answers when the session is to be woken. `gone`: who waits has ended. */
  awaitWake(
    session: SessionName & { readonly process: SessionProcess | undefined },
    gone: AbortSignal,
  ): Promise<WakeAnswer>;
  list(): ToolSessionView[];
  /** There may be mail, or a turn in a round. */
  rounded(): void;
  stop(): void;
}
