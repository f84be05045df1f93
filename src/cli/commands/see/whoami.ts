import { Command } from "commander";
import type { WhoamiView } from "../../../api/views.ts";
import { withClient, type Cli, type GlobalFlags } from "../../context.ts";
import { example } from "../../output/example.ts";
import { emit, table, type Paint } from "../../output/output.ts";

/** `deaddrop whoami`. */
export function command(cli: Cli): Command {
  return new Command("whoami")
    .description("Says who you are, on which wire, and whether your daemon runs.")
    .addHelpText("after", example("deaddrop whoami --json"))
    .action((flags: GlobalFlags) => run(cli, flags));
}

export async function run(cli: Cli, flags: GlobalFlags): Promise<void> {
  const view = await withClient(cli, flags, (client) => client.view("whoami"));
  emit(cli, flags, view, (paint) => whoamiText(cli, view, paint));
}

function whoamiText(cli: Cli, view: WhoamiView, paint: Paint): string {
  const rows: [string, string][] = [
    ["handle", view.handle],
    ["key", view.key_id],
    ["wire", view.wire_dir],
    ["wire id", view.wire_id ?? "none"],
    ["roster", view.roster.join(", ")],
    ["daemon", daemonText(view)],
    ["inbox", view.inbox_path],
  ];
  return table(
    rows.map(([name, value]) => [{ text: name, style: "dim" as const }, { text: value }]),
    paint,
    undefined,
  );
}

export function daemonText({ daemon }: WhoamiView): string {
  if (!daemon.running) return "not running";
  return daemon.pid === undefined ? "running" : `running, process ${daemon.pid}`;
}
