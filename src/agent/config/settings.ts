import { DeaddropError } from "../../api/errors.ts";
import { isHandle } from "../../wire/handle.ts";
import { closest } from "../../wire/suggest.ts";

/** What may be the value of a setting. */
interface Kind<T> {
  /** As messages and docs/settings.md name it. */
  readonly type: string;
  readonly is: (value: unknown) => value is T;
}

export interface Setting extends Kind<unknown> {
  readonly default: unknown;
  readonly unit?: string;
  /** "operator": `deaddrop config` asks for the operator's consent, because it runs a program or switches a check off. */
  readonly changedBy: "agent" | "operator";
  readonly about: string;
}

const MAX_ARGUMENTS = 64;
const MAX_ARGUMENT_LENGTH = 4_096;

const FLAG: Kind<boolean> = {
  type: "true or false",
  is: (value) => typeof value === "boolean",
};
const HANDLES: Kind<readonly string[]> = {
  type: "a list of handles, such as forge,scribe",
  is: (value): value is string[] =>
    Array.isArray(value) && value.every((each) => typeof each === "string" && isHandle(each)),
};
/** A program and its arguments; none: nothing is run. */
const COMMAND: Kind<readonly string[]> = {
  type: 'a JSON list of a program and its arguments, such as ["notify-send","mail"]',
  is: (value): value is string[] =>
    Array.isArray(value) &&
    value.length <= MAX_ARGUMENTS &&
    value.every(isArgument) &&
    value[0] !== "",
};
const TIMES: Kind<string> = {
  type: 'two times of the day, such as 22:00-07:00, or ""',
  is: (value): value is string =>
    typeof value === "string" &&
    /^(?:(?:[01]\d|2[0-3]):[0-5]\d-(?:[01]\d|2[0-3]):[0-5]\d)?$/.test(value),
};

function isArgument(value: unknown): boolean {
  return typeof value === "string" && value.length <= MAX_ARGUMENT_LENGTH && !value.includes("\0");
}

function number(least: number, most: number, isInRange = Number.isFinite): Kind<number> {
  return {
    type: `a ${isInRange === Number.isInteger ? "whole " : ""}number from ${least} to ${most}`,
    is: (value): value is number =>
      typeof value === "number" && isInRange(value) && value >= least && value <= most,
  };
}

const count = (least: number, most: number): Kind<number> => number(least, most, Number.isInteger);
const WAKES = { ...count(0, 3_600), unit: "wakes an hour", changedBy: "agent" } as const;

/**
 * All settings of one agent on one wire: keys of `settings.json` in its private folder. The parser,
 * `deaddrop config` and docs/settings.md follow from it. Spec 8.6.
 */
export const SETTINGS = {
  "heartbeat.show_last_action": {
    ...{ ...FLAG, default: true, changedBy: "agent" },
    about: "Heartbeats include the agent's last action (`deaddrop status set`).",
  },
  "keys.grace_hours": {
    ...{ ...number(0, 24 * 365), default: 24, unit: "hours", changedBy: "agent" },
    about:
      "How long after a key rotation (`deaddrop key rotate`) peers are asked to retire the old key.",
  },
  peers: {
    ...{ ...HANDLES, default: [], changedBy: "agent" },
    about:
      "The peers, on a wire whose configuration has no roster. `deaddrop join --peer` sets it.",
  },
  "hooks.on_notice": {
    ...{ ...COMMAND, default: [], changedBy: "operator" },
    about: "Run when the agent gets a notice (docs/settings.md, A command on a notice).",
  },
  "hooks.on_stop": {
    ...{ ...COMMAND, default: [], changedBy: "operator" },
    about:
      "Run when the agent has approved its shutdown, to stop the agent (docs/settings.md, A command on a shutdown).",
  },
  "hooks.timeout_seconds": {
    ...{ ...number(1, 24 * 3_600), default: 60, unit: "seconds", changedBy: "agent" },
    about: "A hook that takes longer is killed with its process group.",
  },
  "hooks.runs_per_hour": {
    ...{ ...count(1, 3_600), default: 20, unit: "runs an hour", changedBy: "agent" },
    about: "How many hook runs may start within an hour. Later notices wait for the next run.",
  },
  "wake.per_hour": {
    ...{ ...WAKES, default: 24 },
    about:
      "How often sessions of coding tools are woken for mail, or asked to continue at the end of a turn (docs/agents.md). 0: never. Each peer has a reserved share, and a quarter is reserved for urgent mail and overdue answers.",
  },
  "wake.per_peer": {
    ...{ ...WAKES, default: 16 },
    about: "The same for the messages of one peer; a quarter is reserved for urgent ones.",
  },
  "wake.per_thread": {
    ...{ ...WAKES, default: 12 },
    about: "The same for the messages of one thread, except urgent ones.",
  },
  "wake.quiet": {
    ...{ ...TIMES, default: "", unit: "local time", changedBy: "agent" },
    about:
      "Quiet hours: nobody is woken or asked to continue. Mail is still announced while the agent works.",
  },
  "guard.strict": {
    ...{ ...FLAG, default: false, changedBy: "operator" },
    about:
      "Block a commit or a push when the guard (`deaddrop guard`) cannot decide. Otherwise it says why and allows it.",
  },
  "archive.at_year_end": {
    ...{ ...FLAG, default: true, changedBy: "agent" },
    about:
      "When a year is over (UTC), the daemon moves its agent's carriers and the shared files of that year into `archive/`. Otherwise, `deaddrop transport archive` does it.",
  },
  "audit.nightly": {
    ...{ ...FLAG, default: true, changedBy: "operator" },
    about:
      "The daemon audits the wire nightly (03:41 UTC) in a separate process. Findings raise one incident for the operator.",
  },
} satisfies Record<string, Setting>;

export type SettingName = keyof typeof SETTINGS;
type ValueOf<S> = S extends Kind<infer T> ? T : never;
/** What an operator chooses for one agent. */
export type AgentSettings = { readonly [N in SettingName]: ValueOf<(typeof SETTINGS)[N]> };

const NAMES = Object.keys(SETTINGS) as SettingName[];

/** @throws DeaddropError "usage", which lists the settings */
export function settingNamed(name: string): SettingName {
  const found = NAMES.find((each) => each === name);
  if (found !== undefined) return found;
  const better = closest(name, NAMES);
  throw new DeaddropError("usage", `there is no setting "${name}"`, {
    instead: better === undefined ? undefined : { given: name, meant: [better] },
    hint: `there are ${NAMES.join(", ")}; limits and other policy of the whole wire are in its config.json`,
  });
}

/** The value that a person typed: JSON, or a text as it stands. @throws DeaddropError "usage" */
export function parseSetting(name: SettingName, text: string): unknown {
  const { type, is }: Setting = SETTINGS[name];
  const value = parseTyped(text);
  const given = name === "peers" && !Array.isArray(value) ? text.split(/\s*,\s*/) : value;
  if (is(given)) return given;
  throw new DeaddropError("usage", `${name}: ${JSON.stringify(text)} is not ${type}`);
}

function parseTyped(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The settings in the JSON of `settings.json`, with defaults filled in. @throws DeaddropError "config" */
export function readAgentSettings(file: unknown, path: string): AgentSettings {
  const fields = asFields(file, path);
  const read = NAMES.map((name) => {
    const { type, is, default: byDefault }: Setting = SETTINGS[name];
    const value = fields[name] === undefined ? byDefault : fields[name];
    if (is(value)) return [name, value];
    throw invalid(path, `${name} must be ${type}`);
  });
  return Object.fromEntries(read) as AgentSettings;
}

/** @internal */
export const DEFAULT_SETTINGS = readAgentSettings({}, "");

/** The same, and refuses unknown names, which `settings.json` of a newer version may have. @throws DeaddropError */
export function checkSettings(file: unknown, path: string): AgentSettings {
  Object.keys(asFields(file, path)).forEach(settingNamed);
  return readAgentSettings(file, path);
}

/** The file with what differs between `before` and `after` changed; undefined restores a default. */
export function mergeSettings(
  file: unknown,
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const names = Object.keys({ ...before, ...after });
  const changed = names.filter((name) => !isSame(before[name], after[name]));
  return { ...(file as object), ...Object.fromEntries(changed.map((name) => [name, after[name]])) };
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function asFields(file: unknown = {}, path: string): Readonly<Record<string, unknown>> {
  if (typeof file === "object" && file !== null && !Array.isArray(file))
    return file as Record<string, unknown>;
  throw invalid(path, "is not a JSON object");
}

function invalid(path: string, problem: string): DeaddropError {
  return new DeaddropError("config", `${path}: ${problem}`, {
    hint: `correct ${path}; docs/settings.md lists what may be there`,
  });
}
