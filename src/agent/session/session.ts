import type { AdmissionContext } from "../../admission/context.ts";
import type { Env } from "../../protocol/env.ts";
import type { AgentConfig } from "../config/agent-config.ts";
import type { Ahead } from "../intake/read-ahead.ts";
import type { LogIntake, Memory } from "../state/agent-state.ts";
import type { Recorder } from "./recorder.ts";
import type { Files, World } from "./world.ts";

/**
 * An agent at work: its own files, open while it holds its identity's lock, and the memory that
 * follows from them. Functions ask for the parts that they use: `Pick<Session, "world" | "place">`.
 */
export interface Session {
  readonly world: World;
  readonly place: AgentConfig;
  readonly memory: Memory;
  /** What the protocol asks of the rest of the agent. */
  readonly env: Env;
  /** By what lines are judged. Spec 2.4. */
  readonly ctx: AdmissionContext;
  readonly files: Files;
  /** The one way in which something that happened becomes durable and is folded. */
  readonly recorder: Recorder;
  /** What has been read of some log before its turn. */
  readonly ahead: Ahead;
}

/** Whether the log is one of ours. */
export function isOwn({ place }: Pick<Session, "place">, { log }: Pick<LogIntake, "log">): boolean {
  return log.owner === place.handle;
}
