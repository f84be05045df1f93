import type { RecoveryReport } from "../storage/log-writer.ts";
import { tellChainEvent } from "./reporting.ts";
import type { Taking } from "./taking.ts";

/**
 * A fork is never silently passed over (spec 1.6): who died after the verdict was noted and before
 * the operator was told says it now. What was told is not told again.
 */
export function reportForks(taking: Taking): void {
  for (const { admission, log } of taking.memory.intakes.values()) {
    const { held } = admission;
    if (held?.cause !== "log_forked") continue;
    tellChainEvent(taking, log, { cause: "log_forked", detail: held.detail });
  }
}

/** Tells the operator what was found in our own logs when they were looked at. Spec 1.6, 4.1. */
export function reportRecovery(taking: Taking, report: RecoveryReport): void {
  for (const { log, offset, detail } of report.damaged) {
    taking.tell({
      key: `log_damaged:${log}:${offset}`,
      cause: "log_damaged",
      subject: `our own log ${log} is damaged`,
      detail: `from offset ${offset}: ${detail}; nothing is written to it until it is mended`,
      concernsWire: false,
    });
  }
  for (const { log, seq, id } of report.unknown) {
    taking.tell({
      key: `identity_in_use:${log}:${id}`,
      cause: "identity_in_use",
      subject: "our key is used elsewhere",
      detail: `${log}: line ${seq} carries our signature, and we did not write it`,
      concernsWire: true,
    });
  }
  for (const { log, offset, bytes } of report.cut) {
    taking.world.log.warn({ log, offset, bytes }, "a torn end of our own log was cut and restored");
  }
}
