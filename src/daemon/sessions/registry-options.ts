import type { Logger } from "../../agent/session/world.ts";
import type { SessionName, SessionProcess, WakeWay } from "../../api/tool-sessions.ts";
import type { MailView, Marks } from "../../api/views.ts";
import type { Wake } from "../wake.ts";
import type { WakeLimits } from "./wake-budget.ts";

/** What the registry asks of its agent. */
export interface SessionsAgent {
  readonly handle: string;
  peers(): readonly string[];
  /** What is unread beyond the marks. */
  mail(marks: Marks): Promise<MailView>;
  /** The agent is at work, or it is not. */
  setState(state: "busy" | "idle"): Promise<void>;
}

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
  isAlive(process: SessionProcess): boolean;
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
  readonly operator: SessionsOperator;
  readonly host: SessionsHost;
  readonly clock: SessionsClock;
  readonly log: Logger;
}
