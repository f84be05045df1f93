import { join } from "node:path";
import type { Session } from "../../session/session.ts";
import { isOwn } from "../../session/session.ts";
import type { LogIntake, Memory } from "../../state/agent-state.ts";
import { observe } from "../../state/log-status.ts";

/** How long an outbox is left alone whose closed logs have not come to their end. */
const CLOSING_LOOK_MS = 10_000;

/**
 * The closed logs that have to be read to their last line before this log may be read: those that an
 * outbox goes on with. What is said in it is about what was said there. Spec 1.6.
 */
export function awaitedBefore(memory: Pick<Memory, "intakes">, { log }: LogIntake): string[] {
  const { continues = [] } = log;
  return continues.filter((name) => memory.intakes.get(name)?.admission.closing?.by === undefined);
}

/** Whether a log is not read now, because its closed logs are not read to their end; notes it so. */
export function isBehindClosing(
  session: Pick<Session, "world" | "place" | "memory">,
  intake: LogIntake,
): boolean {
  const awaited = awaitedBefore(session.memory, intake);
  const { clock, disk } = session.world;
  const monoMs = clock.monoMs();
  if (awaited.length === 0) {
    if (isWaiting(intake)) observe(intake, { saw: "stop", forMs: 0 }, monoMs);
    return false;
  }
  const { size = 0 } = disk.stat(join(session.place.wire.folder, intake.log.path)) ?? {};
  if (size === 0 || isOwn(session, intake)) {
    // Nothing of it counts yet: its author goes on in the closed logs.
    observe(intake, { saw: "lines", isAll: true }, monoMs);
    return true;
  }
  const detail = `${intake.log.name} goes on with ${awaited.join(", ")}, not read to the end yet`;
  const why = "closing" as const;
  observe(intake, { saw: "limit", why, detail, forMs: CLOSING_LOOK_MS, waitedMs: 0 }, monoMs);
  return true;
}

/** The outboxes that have waited for closed logs, and need not any more. */
export function opensNow(memory: Pick<Memory, "intakes">): string[] {
  return [...memory.intakes.values()]
    .filter((intake) => isWaiting(intake) && awaitedBefore(memory, intake).length === 0)
    .map(({ log }) => log.name);
}

function isWaiting({ status }: LogIntake): boolean {
  return status.kind === "waiting" && status.why === "closing";
}
