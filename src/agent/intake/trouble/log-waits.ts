import type { LogWaitView, WaitReason } from "../../../api/holds.ts";
import type { AutomaticIncident } from "../../../protocol/effects.ts";
import type { LogIntake, Memory } from "../../state/agent-state.ts";
import type { World } from "../../session/world.ts";

/** How long a log is left alone whose next line waits: for us, or for what may change any moment. */
export const LOOK_AGAIN_MS = { held: 60_000, late: 60_000, ahead: 10_000, order: 1_000 } as const;

/** A log that waits. */
export interface LogWait {
  readonly because: WaitReason;
  readonly detail: string;
  /** On the monotonic clock. */
  readonly sinceMs: number;
  /** What the file looked like: it is not looked through again while it looks the same. */
  readonly look?: string;
}

/** Spec 1.6: so long after its lines were first missed, or out of order, the operator is told. */
const TOLD_AFTER_MS = 10 * 60_000;
/** How long an author has to restore its log, before what waits for it goes on. */
const WAIT_FOR_AUTHOR_MS = 60 * 60_000;

/** It is not ours to end: the file has to become again what it was, or what it will be. */
const AUTHORS: ReadonlySet<WaitReason> = new Set(["behind", "reordered", "order"]);

/** The log waits from now on, or still. What its file shows may change while it waits for it. */
export function waitOf(intake: LogIntake, now: Omit<LogWait, "sinceMs">, monoMs: number): LogWait {
  const { wait } = intake;
  const isSame =
    wait !== undefined &&
    (wait.because === now.because || (AUTHORS.has(wait.because) && AUTHORS.has(now.because)));
  return { ...now, sinceMs: isSame ? wait.sinceMs : monoMs };
}

/** Whether an author has left its log as it is for so long that no deadline waits for it. */
export function isLeft(sinceMs: number, monoMs: number): boolean {
  return monoMs - sinceMs >= WAIT_FOR_AUTHOR_MS;
}

/** Whether the operator has to know of it, and may end it: sync programs need some seconds. */
export function isLong({ because, sinceMs }: LogWait, monoMs: number): boolean {
  return AUTHORS.has(because) && monoMs - sinceMs >= TOLD_AFTER_MS;
}

/** What the operator is told of a log that does not become again what it was. */
export function waitIncident({ log }: LogIntake, wait: LogWait): AutomaticIncident {
  const { name, owner } = log;
  const isBehind = wait.because === "behind";
  const cause = isBehind ? "log_behind" : "log_reordered";
  return {
    key: `${cause}:${name}:${wait.sinceMs}`,
    cause,
    peer: owner,
    subject: isBehind
      ? `${name} lacks lines that it had`
      : `the lines of ${name} are in another order`,
    detail: `${wait.detail}; nothing new is taken from it until then, or until you decide: deaddrop peer show ${owner}`,
    concernsWire: true,
  };
}

/** The logs that wait, of one author or of all; those of a limit that has just been reached, too. */
export function waitViews(
  { intakes }: Memory,
  { clock }: Pick<World, "clock">,
  owner: string,
): LogWaitView[] {
  const beganMs = clock.wallMs() - clock.monoMs();
  return [...intakes.values()].flatMap(({ log, wait }) =>
    wait === undefined || log.owner !== owner || wait.detail === ""
      ? []
      : [
          {
            log: log.name,
            because: wait.because,
            detail: wait.detail,
            since: new Date(beganMs + wait.sinceMs).toISOString(),
          },
        ],
  );
}
