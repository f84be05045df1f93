import type { AutomaticIncident } from "../../../protocol/effects.ts";
import type { HeldEvent } from "../../../protocol/events.ts";
import { takeLocal } from "./log-holds.ts";
import type { JudgedLine } from "../judged-line.ts";
import type { LogIntake } from "../../state/agent-state.ts";
import type { Session } from "../../session/session.ts";

/**
 * A line that carries our signature and that we did not write, or one that forks our log, means
 * that our key is used elsewhere: we stop sending until the operator decides, also after a restart.
 * Spec 1.6.
 */
export function watchIdentity(
  session: Pick<Session, "world" | "memory" | "files" | "recorder">,
  intake: LogIntake,
  { message, reason }: JudgedLine,
): void {
  const { memory } = session;
  const { name } = intake.log;
  if (memory.inUse !== undefined) return;
  if (message?.seq === undefined || message.version === "v2.0") return;
  // A copy of a line of this log, or of one that we wrote for another wire: every reader can make it.
  if (reason === "replayed" || reason === "wrong_wire") return;
  if (reason !== "log_forked" && session.files.own.wroteOurselves(name, message.seq, message.id))
    return;
  const detail = `${name}: line ${message.seq} (${message.id}) carries our signature, and we did not write it`;
  holdOwn(session, name, message.id, detail);
}

/** Nothing is sent any more until the operator decides. `what` names the matter. */
export function holdOwn(
  { world, memory, recorder }: Pick<Session, "world" | "memory" | "recorder">,
  log: string,
  what: string,
  detail: string,
): void {
  if (memory.inUse !== undefined) return;
  const event: HeldEvent = {
    kind: "held",
    at: world.clock.wallMs(),
    log,
    cause: "identity_in_use",
    detail,
  };
  recorder.noteAndTell([{ k: "local", event }], [identityIncident(log, what, detail)]);
  takeLocal(memory, event);
  recorder.fold(event);
}

export function identityIncident(log: string, id: string, detail: string): AutomaticIncident {
  return {
    key: `identity_in_use:${log}:${id}`,
    cause: "identity_in_use",
    subject: "our key is used elsewhere",
    detail: `${detail}; nothing more is sent until you decide: stop the other copy, then: deaddrop reclaim`,
    concernsWire: true,
  };
}
