import { spawn } from "node:child_process";
import { EXIT_CODES } from "../api/errors.ts";

/**
 * Tells the service manager about the state of the daemon. Node cannot open Unix datagram sockets,
 * so each message goes through `systemd-notify` (a child, so the unit has NotifyAccess=all). It
 * stays until the manager has read the message: of a process that has ended, the manager cannot
 * tell to which unit it belonged, and drops the message (docs/decisions/011). We do not wait for
 * it. Without NOTIFY_SOCKET every call does nothing. Spec 4.2, 8.6.
 */
export interface ServiceManager {
  /** The daemon has started up (spec 3.9); `status` is one line for `systemctl status`. */
  ready(status: string): void;
  /** To be called every `watchdogEveryMs`, and only after a round of the loop. */
  alive(): void;
  stopping(): void;
  /**
   * Half of the time that the manager waits for a sign of life; undefined when it does not watch
   * us.
   */
  readonly watchdogEveryMs: number | undefined;
}

/** Starts a program without waiting for it; `failed` is called when it could not be started. */
export type Launch = (
  command: string,
  args: readonly string[],
  failed: (error: Error) => void,
) => void;

/** `trouble` is called at most once: without the service manager the daemon works all the same. */
export function makeServiceManager(
  env: NodeJS.ProcessEnv,
  pid: number,
  trouble: (error: Error) => void,
  launch: Launch = launchDetached,
): ServiceManager {
  let told = false;
  const isThere = (env["NOTIFY_SOCKET"] ?? "") !== "";
  const notify = (...words: readonly string[]): void => {
    if (!isThere) return;
    launch("systemd-notify", words, (error) => {
      if (!told) trouble(error);
      told = true;
    });
  };
  return {
    ready: (status) => notify("READY=1", `STATUS=${status.replaceAll(/\p{Cc}+/gu, " ")}`),
    alive: () => notify("WATCHDOG=1"),
    stopping: () => notify("STOPPING=1"),
    watchdogEveryMs: isThere ? watchdogEveryMs(env, pid) : undefined,
  };
}

function watchdogEveryMs(env: NodeJS.ProcessEnv, pid: number): number | undefined {
  const watched = env["WATCHDOG_PID"];
  if (watched !== undefined && watched !== String(pid)) return undefined;
  const patienceMicros = Number(env["WATCHDOG_USEC"]);
  if (!Number.isSafeInteger(patienceMicros) || patienceMicros <= 0) return undefined;
  return Math.max(1, Math.floor(patienceMicros / 2_000));
}

function launchDetached(
  command: string,
  args: readonly string[],
  failed: (error: Error) => void,
): void {
  const child = spawn(command, args, { stdio: "ignore" });
  child.on("error", failed);
  child.unref();
}

/** A restart corrects none of these; systemd/deaddrop@.service lists the same codes. */
const PERMANENT: ReadonlySet<number> = new Set([
  EXIT_CODES.usage,
  EXIT_CODES.config,
  EXIT_CODES.safe_mode,
  EXIT_CODES.already_running,
]);

/**
 * The code to leave with. launchd restarts on any failure and cannot be told which ones are
 * permanent, so under it (the plist sets DEADDROP_SUPERVISOR) those end as success. Spec 3.9.
 */
export function supervisedExitCode(code: number, env: NodeJS.ProcessEnv): number {
  return env["DEADDROP_SUPERVISOR"] === "launchd" && PERMANENT.has(code) ? 0 : code;
}
