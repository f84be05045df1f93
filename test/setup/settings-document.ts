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
    "What an operator chooses for one agent on one wire. The values are in `settings.json` in the",
    "agent's private folder, where no peer can write. `deaddrop config list` shows them,",
    "`deaddrop config set <key> <value>` changes one, `deaddrop config edit` opens the file, and a",
    "running daemon takes the change at once. `deaddrop config unset <key>` puts the default back.",
    "",
    ...markdownTable([["setting", "value", "default", "meaning"], ...rows]),
    "",
    "What all agents of a wire share (roster, signing policy, domains, limits, heartbeat cadences)",
    "is in the wire's `config.json` and `tiers.json` instead. Each agent holds on to the copy",
    "that its operator last accepted: a change there applies after `deaddrop config accept` has",
    "shown the difference and the operator has agreed.",
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
  handles: "handles, with commas between them",
};
