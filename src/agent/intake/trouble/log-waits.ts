import type { LogWaitView } from "../../../api/holds.ts";
import type { AutomaticIncident } from "../../../protocol/effects.ts";
import type { LogIntake, Memory } from "../../state/agent-state.ts";
import {
  isLong,
  observe,
  shownWait,
  type Behind,
  type Observation,
} from "../../state/log-status.ts";
import type { World } from "../../session/world.ts";
import type { Session } from "../../session/session.ts";
import { SECOND_MS } from "../../../wire/durations.ts";

/** How long a log is not read whose lines are out of order: a sync program may be writing it. */
export const ORDER_CHECK_MS = SECOND_MS;

/** The log waits for what it held to be there again; the operator is told when that takes long. */
export function noteDisorder(
  { world, recorder }: Pick<Session, "world" | "recorder">,
  intake: LogIntake,
  seen: Observation & { saw: "disorder" | "no change" },
): void {
  const monoMs = world.clock.monoMs();
  const status = observe(intake, seen, monoMs);
  if (isLong(status, monoMs)) recorder.tell(waitIncident(intake.log, status));
}

/** What the operator is told of a log that stays different from what it was. Spec 1.6. */
function waitIncident(
  { name, owner }: LogIntake["log"],
  { why, detail, sinceMs }: Behind,
): AutomaticIncident {
  const isBehind = why === "behind";
  const cause = isBehind ? "log_behind" : "log_reordered";
  return {
    key: `${cause}:${name}:${sinceMs}`,
    cause,
    peer: owner,
    subject: isBehind
      ? `${name} lacks lines that it had`
      : `the lines of ${name} are in another order`,
    detail: `${detail}; nothing new is taken from it until then, or until you decide: deaddrop peer show ${owner}`,
    concernsWire: true,
  };
}

/** The logs of an author that wait, and why. */
export function waitViews(
  { intakes }: Pick<Memory, "intakes">,
  { clock }: Pick<World, "clock">,
  owner: string,
): LogWaitView[] {
  const monoMs = clock.monoMs();
  const beganMs = clock.wallMs() - monoMs;
  return [...intakes.values()].flatMap(({ log, status }) => {
    const wait = log.owner === owner ? shownWait(status, monoMs) : undefined;
    if (wait === undefined) return [];
    const { why: because, detail, sinceMs } = wait;
    return [{ log: log.name, because, detail, since: new Date(beganMs + sinceMs).toISOString() }];
  });
}
