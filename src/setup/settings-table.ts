import { DEFAULT_SETTINGS, readAgentSettings } from "../agent/config/settings.ts";
import { DeaddropError } from "../api/errors.ts";
import { isHandle } from "../wire/handle.ts";

/** One thing that an operator can choose for one agent on one wire. */
export interface Setting {
  readonly key: string;
  readonly kind: "flag" | "handles" | "hours" | "number" | "command" | "times";
  readonly byDefault: unknown;
  readonly about: string;
}

/** Everything that settings.json may hold; a test compares it with docs/settings.md. Spec 8.6. */
export const SETTINGS: readonly Setting[] = [
  {
    key: "heartbeat.show_last_action",
    kind: "flag",
    byDefault: DEFAULT_SETTINGS.showLastAction,
    about: "Heartbeats include the agent's last action (`deaddrop status set`).",
  },
  {
    key: "keys.grace_hours",
    kind: "hours",
    byDefault: DEFAULT_SETTINGS.keyGraceHours,
    about:
      "How long after a key rotation (`deaddrop key rotate`) peers are asked to retire the old key.",
  },
  {
    key: "peers",
    kind: "handles",
    byDefault: DEFAULT_SETTINGS.peers,
    about:
      "The peers, on a wire whose configuration has no roster. `deaddrop join --peer` sets it.",
  },
  {
    key: "hooks.on_notice",
    kind: "command",
    byDefault: DEFAULT_SETTINGS.hooks.onNotice,
    about: "Run when the agent gets a notice (docs/settings.md, A command on a notice).",
  },
  {
    key: "hooks.on_stop",
    kind: "command",
    byDefault: DEFAULT_SETTINGS.hooks.onStop,
    about:
      "Run when the agent has approved its shutdown, to stop the agent (docs/settings.md, A command on a shutdown).",
  },
  {
    key: "hooks.timeout_seconds",
    kind: "number",
    byDefault: DEFAULT_SETTINGS.hooks.timeoutSeconds,
    about: "A hook that takes longer is killed with its process group.",
  },
  {
    key: "hooks.runs_per_hour",
    kind: "number",
    byDefault: DEFAULT_SETTINGS.hooks.runsPerHour,
    about: "How many hook runs may start within an hour. Later notices wait for the next run.",
  },
  {
    key: "wake.per_hour",
    kind: "number",
    byDefault: DEFAULT_SETTINGS.wake.inAll,
    about:
      "How often per hour sessions of coding tools are woken for mail, or asked to continue at the end of a turn (docs/agents.md). 0: never. Each peer has a reserved share, and a quarter is reserved for urgent mail and overdue answers.",
  },
  {
    key: "wake.per_peer",
    kind: "number",
    byDefault: DEFAULT_SETTINGS.wake.perPeer,
    about: "The same for the messages of one peer; a quarter is reserved for urgent ones.",
  },
  {
    key: "wake.per_thread",
    kind: "number",
    byDefault: DEFAULT_SETTINGS.wake.perThread,
    about: "The same for the messages of one thread, except urgent ones.",
  },
  {
    key: "wake.quiet",
    kind: "times",
    byDefault: DEFAULT_SETTINGS.wake.quiet,
    about:
      "Quiet hours in local time, such as `22:00-07:00`: nobody is woken or asked to continue. Mail is still announced while the agent works.",
  },
  {
    key: "guard.strict",
    kind: "flag",
    byDefault: DEFAULT_SETTINGS.guardStrict,
    about:
      "Block a commit or a push when the guard (`deaddrop guard`) cannot decide. Otherwise it says why and allows it.",
  },
  {
    key: "archive.at_year_end",
    kind: "flag",
    byDefault: DEFAULT_SETTINGS.archiveAtYearEnd,
    about:
      "When a year is over (UTC), the daemon moves its agent's carriers and the shared files of that year into `archive/`. Otherwise, `deaddrop archive` does it.",
  },
  {
    key: "audit.nightly",
    kind: "flag",
    byDefault: DEFAULT_SETTINGS.nightlyAudit,
    about:
      "The daemon audits the wire nightly (03:41 UTC) in a separate process. Findings raise one incident for the operator.",
  },
];

/** The setting of that name. Throws a usage error that lists them. */
export function settingNamed(key: string): Setting {
  const setting = SETTINGS.find((each) => each.key === key);
  if (setting !== undefined) return setting;
  throw new DeaddropError("usage", `there is no setting "${key}"`, {
    hint: `there are ${SETTINGS.map((each) => each.key).join(", ")}`,
  });
}

/** What a person typed, as the value of a setting. */
export function settingValue({ key, kind }: Setting, text: string): unknown {
  if (kind === "flag") {
    if (text === "true" || text === "false") return text === "true";
    throw new DeaddropError("usage", `${key}: "${text}" is neither true nor false`);
  }
  if (kind === "hours" || kind === "number") {
    if (/^\d{1,5}(\.\d{1,4})?$/.test(text)) return Number(text);
    const what = kind === "hours" ? "number of hours" : "number";
    throw new DeaddropError("usage", `${key}: "${text}" is no ${what}`);
  }
  if (kind === "command") return commandOf(key, text);
  // `readAgentSettings` says what they look like.
  if (kind === "times") return text;
  const handles = text.split(",").map((each) => each.trim());
  const wrong = handles.find((each) => !isHandle(each));
  if (wrong === undefined) return handles;
  throw new DeaddropError("usage", `${key}: "${wrong}" is not a handle`, {
    hint: "give handles with commas between them: forge,scribe",
  });
}

/** A list in JSON, since no shell takes it apart. `readAgentSettings` says what may be in it. */
function commandOf(key: string, text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    if (Array.isArray(value)) return value;
  } catch {
    // The error below says it.
  }
  throw new DeaddropError("usage", `${key}: "${text}" is no list in JSON`, {
    hint: `give the program and its arguments: '["notify-send","a notice from deaddrop"]'`,
  });
}

/** The whole file, with one setting changed; undefined puts the default back. */
export function withSetting(file: unknown, key: string, value: unknown): Record<string, unknown> {
  const next = { ...asObject(file) };
  if (value === undefined) delete next[key];
  else next[key] = value;
  return next;
}

/** The settings of a file, with what differs between two others of them changed. */
export function changedOnto(file: unknown, before: unknown, after: unknown): object {
  const [from, to] = [asObject(before), asObject(after)];
  const keys = [...new Set([...Object.keys(from), ...Object.keys(to)])];
  const changed = keys.filter((key) => JSON.stringify(from[key]) !== JSON.stringify(to[key]));
  return changed.reduce((next, key) => withSetting(next, key, to[key]), asObject(file));
}

/** Throws what no daemon would start with, and settings that do not exist. */
export function checkSettings(file: unknown, path: string): void {
  readAgentSettings(file, path);
  for (const key of Object.keys(asObject(file))) settingNamed(key);
}

function asObject(file: unknown): Record<string, unknown> {
  return (file ?? {}) as Record<string, unknown>;
}
