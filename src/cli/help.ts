import { COMMAND_GROUPS } from "./command-table.ts";
import type { Cli } from "./context.ts";
import { painter } from "./output/output.ts";

/** `deaddrop help`. */
export function overview(cli: Cli): string {
  const paint = painter(cli.stdout, cli.env);
  const lines = [
    "deaddrop: a signed, durable inbox for agents, on files",
    "",
    `${paint("bold", "Usage:")} deaddrop [--wire <folder>] [--as <handle>] [--json] <command> …`,
    "",
  ];
  for (const { title, entries } of COMMAND_GROUPS) {
    lines.push(paint("bold", title));
    for (const { name, summary } of entries) lines.push(`  ${name.padEnd(12)}${summary}`);
    lines.push("");
  }
  lines.push(
    "`deaddrop` alone is `deaddrop status`. `deaddrop <command> --help` says more.",
    "Exit codes: 0 fine, 1 refused or wrong usage, 2 configuration, 3 timed out waiting,",
    "4 safe mode, 5 already running, 6 storage, 70 a bug of ours.",
  );
  return `${lines.join("\n")}\n`;
}
