import { basename } from "node:path";
import type { RecoveryReport } from "../../../storage/own-log/log-writer.ts";
import { DAMAGED_HINT } from "../../../storage/own-log/recovery-report.ts";
import { hourlyKey } from "../../../protocol/notices.ts";
import { identityIncident } from "./foreign-signature.ts";
import { chainIncident, unreadableIncident } from "./chain-incidents.ts";
import { evidenceOf } from "./evidence.ts";
import { intakeOf } from "../../state/agent-state.ts";
import { observe } from "../../state/log-status.ts";
import type { Session } from "../../session/session.ts";

/**
 * Every fork and every rewritten log is told (spec 1.6): if the limit of notices was used up in its
 * hour, it is told at a later start. What was told is not told again.
 */
export function reportHolds(
  session: Pick<Session, "world" | "place" | "memory" | "recorder">,
): void {
  for (const { admission, log } of session.memory.intakes.values()) {
    const { held } = admission;
    if (held === undefined || log.owner === session.place.handle) continue;
    if (held.cause !== "log_forked" && held.cause !== "log_rewritten") continue;
    const path = evidenceOf(session, log.name).at(-1);
    const evidence = path === undefined ? "" : `evidence: ${basename(path)}`;
    session.recorder.tell(chainIncident(log, { cause: held.cause, detail: held.detail }, evidence));
  }
}

/** Tells the operator what a recovery found in our own logs. Spec 1.6, 4.1. */
export function reportRecovery(
  session: Pick<Session, "world" | "memory" | "recorder">,
  report: RecoveryReport,
): void {
  for (const { log, offset, detail } of report.damaged) {
    session.recorder.tell({
      key: `log_damaged:${log}:${offset}`,
      cause: "log_damaged",
      subject: `our own log ${log} is damaged`,
      detail: `from offset ${offset}: ${detail}; nothing is written to it until it is repaired: ${DAMAGED_HINT}`,
      concernsWire: false,
    });
  }
  for (const { log, lines } of report.again) {
    session.recorder.tell({
      key: hourlyKey(`log_restored:${log}`, session.world.clock.wallMs()),
      cause: "log_restored",
      subject: `our own log ${log} was cut or replaced, and is whole again`,
      detail: `${lines === 1 ? "a line of ours was" : `${lines} lines of ours were`} missing in it, and came back from our private copy as written; find out who has put an older copy of the wire there`,
      concernsWire: false,
    });
  }
  for (const { log, problem } of report.obstructed) {
    // Also when it can be opened again: the lines that are there are read before anything follows them.
    const intake = intakeOf(session.memory, log);
    observe(intake, { saw: "obstruction", problem, forMs: 0 }, session.world.clock.monoMs());
    session.recorder.tell(unreadableIncident(session, log, problem.message));
  }
  const [first] = report.unknown;
  if (first !== undefined && session.memory.inUse === undefined) {
    const { log, seq, id } = first;
    const detail = `${log}: line ${seq} (${id}) carries our signature, and we did not write it`;
    session.recorder.tell(identityIncident(log, id, detail));
  }
  for (const { log, offset, bytes } of report.cut) {
    session.world.log.warn(
      { log, offset, bytes },
      "a torn end of our own log was cut and restored",
    );
  }
}
