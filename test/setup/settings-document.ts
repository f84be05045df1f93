import { SETTINGS, type Setting } from "../../src/setup/settings-table.ts";

/** The text of docs/settings.md, made from the table of settings. */
export function settingsDocument(): string {
  const rows = SETTINGS.map(({ key, kind, byDefault, about }) => [
    `\`${key}\``,
    KINDS[kind],
    `\`${JSON.stringify(byDefault)}\``,
    about,
  ]);
  return [
    "# Settings",
    "",
    "<!-- Made from src/setup/settings-table.ts; a test compares them. -->",
    "",
    "Settings of one agent on one wire, in `settings.json` in the agent's private folder, where no peer can",
    "write. `deaddrop config list` shows them, `deaddrop config set <key> <value>` changes one,",
    "`deaddrop config unset <key>` restores the default, and `deaddrop config edit` opens the file. A running",
    "daemon applies a change immediately.",
    "",
    ...markdownTable([["setting", "value", "default", "meaning"], ...rows]),
    "",
    "What all agents of a wire share (roster, signing policy, domains, limits, heartbeat cadences) is in the",
    "wire's `config.json` and `tiers.json`. Each agent uses the copy that its operator last accepted: a change",
    "applies after `deaddrop config accept` has shown the diff and the operator has agreed.",
    "",
    "## A command on a notice",
    "",
    "```sh",
    `deaddrop config set hooks.on_notice '["notify-send","deaddrop has a notice"]'`,
    "```",
    "",
    "The daemon runs the program when its agent got a notice (`deaddrop notices`), without a shell, in the home",
    "folder. Notices within a second are coalesced into one run, and runs never overlap. When the hourly budget",
    "is used up, the daemon's log says so, and the next run gets all notices that came meanwhile.",
    "",
    ...markdownTable([
      ["input", "content"],
      [
        "standard input",
        "a line of JSON for each notice: `id`, `kind`, `age_seconds`; at most 100",
      ],
      ["`DEADDROP_NOTICES`", "the number of notices"],
      ["`DEADDROP_KINDS`", "their kinds, separated by commas"],
      ["`DEADDROP_HOOK`", "`on_notice`"],
      ["`DEADDROP_AS`, `DEADDROP_WIRE`", "so `deaddrop inbox` in it is the inbox of this agent"],
    ]),
    "",
    "It gets no text, because a notice quotes subjects of peers. A program that fails, does not start or times",
    "out is logged by the daemon, with the end of its standard error. Only a running daemon runs hooks: a notice",
    "written right before the daemon died is in `deaddrop notices`, but its command was not run.",
    "",
    "## A command on a shutdown",
    "",
    "```sh",
    `deaddrop config set hooks.on_stop '["tmux","kill-session","-t","scribe"]'`,
    "```",
    "",
    "The daemon runs the program in the same way when its agent has approved its shutdown (`deaddrop respond`).",
    "Its purpose is to stop the agent: a daemon itself stops no other process. Then the daemon reports the agent",
    "as paused, until `deaddrop wake`. After a crash of the daemon the program runs once more, so it must be",
    "idempotent. The operator is notified of a failure (`deaddrop incident notices`).",
    "",
    ...markdownTable([
      ["input", "content"],
      [
        "standard input",
        "a line of JSON: `request` and `approval`, which are event ids, and `peer`, who asked",
      ],
      ["`DEADDROP_PEER`", "who asked"],
      ["`DEADDROP_REQUEST`", "event id of the request"],
      ["`DEADDROP_HOOK`", "`on_stop`"],
      ["`DEADDROP_AS`, `DEADDROP_WIRE`", "as above"],
    ]),
    "",
  ].join("\n");
}

/** Aligned, as the formatter of the repository wants it. */
function markdownTable(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_cell, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  const lines = rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)));
  const rule = widths.map((width) => "-".repeat(width));
  return [...lines.slice(0, 1), rule, ...lines.slice(1)].map((cells) => `| ${cells.join(" | ")} |`);
}

const KINDS: Readonly<Record<Setting["kind"], string>> = {
  flag: "`true` or `false`",
  hours: "hours",
  number: "a number",
  command: "a JSON list: a program and its arguments",
  times: "two times of the day, `HH:MM-HH:MM`",
  handles: "handles, separated by commas",
};
