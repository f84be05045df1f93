import { isHandle } from "../../wire/handle.ts";
import { DeaddropError } from "../../api/errors.ts";

/** What an operator chooses for one agent; `settings.json` in its private folder. */
export interface AgentSettings {
  /** Replace the roster on wires that declare none. Spec 1.1. */
  readonly peers: readonly string[];
  /** Whether beats tell what the agent last did. Spec 3.1. */
  readonly showLastAction: boolean;
  /** How long a key is believed after its agent stops signing with it, in hours. Spec 2.5. */
  readonly keyGraceHours: number;
  readonly hooks: HookSettings;
  readonly wake: WakeSettings;
  /** A guard of git that cannot decide blocks. Spec 3.6. */
  readonly guardStrict: boolean;
  /** The daemon archives a year when it is over. Spec 1.10. */
  readonly archiveAtYearEnd: boolean;
  /** The daemon audits the wire each night. Spec 4.2. */
  readonly nightlyAudit: boolean;
}

/** What is run by itself. Spec 8.3. */
export interface HookSettings {
  /** The program and its arguments, run on a notice; none: nothing is run. */
  readonly onNotice: readonly string[];
  /** The same, when the agent has approved its shutdown: it ends the agent. Spec 3.8. */
  readonly onStop: readonly string[];
  /** How long a run may take. */
  readonly timeoutSeconds: number;
  /** How many runs may begin within an hour. */
  readonly runsPerHour: number;
}

/** How often sessions of tools are woken, or asked to go on, within an hour. Spec 8.3. */
export interface WakeSettings {
  readonly perPeer: number;
  readonly perThread: number;
  readonly inAll: number;
  /** Between these times of the day nobody is woken, as `22:00-07:00` in local time; "": never so. */
  readonly quiet: string;
}

const MAX_GRACE_HOURS = 24 * 365;
const MAX_TIMEOUT_SECONDS = 24 * 3_600;
const MAX_RUNS_PER_HOUR = 3_600;
const MAX_WAKES_PER_HOUR = 3_600;
const QUIET = /^(?:(?:[01]\d|2[0-3]):[0-5]\d-(?:[01]\d|2[0-3]):[0-5]\d)?$/;
const MAX_ARGUMENTS = 64;
const MAX_ARGUMENT_LENGTH = 4_096;

export const DEFAULT_SETTINGS: AgentSettings = {
  peers: [],
  showLastAction: true,
  keyGraceHours: 24,
  hooks: { onNotice: [], onStop: [], timeoutSeconds: 60, runsPerHour: 20 },
  wake: { perPeer: 16, perThread: 12, inAll: 24, quiet: "" },
  guardStrict: false,
  archiveAtYearEnd: true,
  nightlyAudit: true,
};

/** Reads `settings.json`; throws what is wrong with it, by key. `value` is its JSON, if any. */
export function readAgentSettings(value: unknown, path: string): AgentSettings {
  if (value === undefined) return DEFAULT_SETTINGS;
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw invalid(path, "is not a JSON object");
  }
  const fields = value as Record<string, unknown>;
  const flag = (key: string, fallback: boolean): boolean => {
    const given = fields[key];
    if (given === undefined) return fallback;
    if (typeof given !== "boolean") throw invalid(path, `${key} must be true or false`);
    return given;
  };
  const count = (key: string, fallback: number, least: number, most: number): number => {
    const given = fields[key] ?? fallback;
    if (typeof given === "number" && given >= least && given <= most) return given;
    throw invalid(path, `${key} must be a number from ${least} to ${most}`);
  };
  const { hooks, wake } = DEFAULT_SETTINGS;
  const wakes = (key: string, fallback: number): number =>
    Math.floor(count(key, fallback, 0, MAX_WAKES_PER_HOUR));
  const quiet = fields["wake.quiet"] ?? wake.quiet;
  if (typeof quiet !== "string" || !QUIET.test(quiet)) {
    throw invalid(path, 'wake.quiet must be two times of the day, as in "22:00-07:00"');
  }
  const peers = fields["peers"] ?? [];
  if (!Array.isArray(peers) || !peers.every((peer) => typeof peer === "string" && isHandle(peer))) {
    throw invalid(path, "peers must be a list of handles");
  }
  return {
    peers: peers as string[],
    showLastAction: flag("heartbeat.show_last_action", DEFAULT_SETTINGS.showLastAction),
    keyGraceHours: count("keys.grace_hours", DEFAULT_SETTINGS.keyGraceHours, 0, MAX_GRACE_HOURS),
    hooks: {
      onNotice: commandOf(fields["hooks.on_notice"] ?? hooks.onNotice, "hooks.on_notice", path),
      onStop: commandOf(fields["hooks.on_stop"] ?? hooks.onStop, "hooks.on_stop", path),
      timeoutSeconds: count("hooks.timeout_seconds", hooks.timeoutSeconds, 1, MAX_TIMEOUT_SECONDS),
      runsPerHour: Math.floor(
        count("hooks.runs_per_hour", hooks.runsPerHour, 1, MAX_RUNS_PER_HOUR),
      ),
    },
    wake: {
      perPeer: wakes("wake.per_peer", wake.perPeer),
      perThread: wakes("wake.per_thread", wake.perThread),
      inAll: wakes("wake.per_hour", wake.inAll),
      quiet,
    },
    guardStrict: flag("guard.strict", DEFAULT_SETTINGS.guardStrict),
    archiveAtYearEnd: flag("archive.at_year_end", DEFAULT_SETTINGS.archiveAtYearEnd),
    nightlyAudit: flag("audit.nightly", DEFAULT_SETTINGS.nightlyAudit),
  };
}

function commandOf(value: unknown, key: string, path: string): readonly string[] {
  const isArgument = (each: unknown): boolean =>
    typeof each === "string" && each.length <= MAX_ARGUMENT_LENGTH && !each.includes("\0");
  if (
    Array.isArray(value) &&
    value.length <= MAX_ARGUMENTS &&
    value.every(isArgument) &&
    value[0] !== ""
  ) {
    return value as string[];
  }
  throw invalid(path, `${key} must be a list of a program and its arguments`);
}

function invalid(path: string, problem: string): DeaddropError {
  return new DeaddropError("config", `${path}: ${problem}`, {
    hint: "see `deaddrop config list` for what can be set",
  });
}
