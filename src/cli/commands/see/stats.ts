import { Command } from "commander";
import type { StatsView } from "../../../api/views.ts";
import { withClient, type Cli, type GlobalFlags } from "../../context.ts";
import { example } from "../../output/example.ts";
import { growthText } from "../../live/growth-text.ts";
import { emit, table, type Paint } from "../../output/output.ts";

/** `deaddrop stats`: the record of a wire. Spec 8.6. */
export function command(cli: Cli): Command {
  return new Command("stats")
    .description("Counts what happened on this wire: messages, decisions, incidents.")
    .addHelpText("after", example("deaddrop stats --json"))
    .action((flags: GlobalFlags) => run(cli, flags));
}

export async function run(cli: Cli, flags: GlobalFlags): Promise<void> {
  const stats = await withClient(cli, flags, (client) => client.view("stats"));
  emit(cli, flags, stats, (paint) => statsText(stats, paint));
}

function incidentsText({ incidents, incidents_acked_in_time: inTime }: StatsView): string {
  return `${incidents}, acked in time ${inTime}`;
}

function statsText(stats: StatsView, paint: Paint): string {
  const byType = Object.entries(stats.by_type).sort(([, a], [, b]) => b - a);
  const rows: [string, string][] = [
    ["days", String(stats.days)],
    ["messages", String(stats.messages)],
    ["heartbeats", `${Math.round(stats.heartbeat_share * 100)} %`],
    ["by type", byType.map(([type, number]) => `${type} ${number}`).join(", ") || "-"],
    ["proposals acked", String(stats.proposal_ack_pairs)],
    ["decisions", String(stats.decisions)],
    ["incidents", incidentsText(stats)],
    ["disagreements", String(stats.disagreements)],
    ...(stats.growth ?? []).map((each): [string, string] => [
      `size: ${each.what}`,
      growthText(each),
    ]),
  ];
  return table(
    rows.map(([name, value]) => [{ text: name, style: "dim" as const }, { text: value }]),
    paint,
    undefined,
  );
}
