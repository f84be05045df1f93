import { Command } from "commander";
import type { ObligationView, TeamMemberView } from "../../../api/views.ts";
import { withClient, type Cli, type GlobalFlags } from "../../context.ts";
import { example } from "../../output/example.ts";
import { emit, table, type Cell } from "../../output/output.ts";
import { dueCell, presenceCell } from "../../output/text.ts";
import { shortId } from "../../../framing/short-id.ts";
import { when } from "../../../framing/when.ts";

/** `deaddrop team`: who is what, doing what, waiting for what. Spec 3.8. */
export function command(cli: Cli): Command {
  return new Command("team")
    .description("Shows all agents of the wire: what each does, waits for and owes.")
    .addHelpText("after", example("deaddrop team"))
    .action((flags: GlobalFlags) => run(cli, flags));
}

export async function run(cli: Cli, flags: GlobalFlags): Promise<void> {
  const team = await withClient(cli, flags, (client) => client.view("team"));
  const nowMs = cli.clock.nowMs();
  const { columns } = cli.stdout;
  emit(cli, flags, team, (paint) =>
    [
      table(
        team.map((member) => memberRow(member, nowMs)),
        paint,
        columns,
      ),
      ...team.flatMap((member) => {
        const rows = waitRows(member, nowMs);
        const title = paint("bold", `${member.handle} waits for`);
        return rows.length === 0 ? [] : [`\n${title}\n${table(rows, paint, columns)}`];
      }),
    ].join("\n"),
  );
}

function memberRow(member: TeamMemberView, nowMs: number): Cell[] {
  const { handle, is_self, presence, state, last_action, agent_last_seen, owes_in_all } = member;
  return [
    { text: is_self ? `${handle} (you)` : handle, style: "bold" },
    presenceCell(presence),
    { text: state ?? "-" },
    { text: `agent ${when(agent_last_seen, nowMs)}` },
    { text: owes_in_all === 0 ? "owes nothing" : `owes ${owes_in_all}` },
    { text: last_action ?? "" },
  ];
}

function waitRows({ waits_for, waits_for_in_all }: TeamMemberView, nowMs: number): Cell[][] {
  const rows = waits_for.map((each) => waitRow(each, nowMs));
  const more = waits_for_in_all - waits_for.length;
  return more === 0 ? rows : [...rows, [{ text: `and ${more} more: deaddrop pending` }]];
}

function waitRow(owed: ObligationView, nowMs: number): Cell[] {
  return [
    { text: shortId(owed.event_id), style: "dim" },
    { text: owed.owed_by, style: "cyan" },
    { text: owed.type },
    dueCell(owed, nowMs),
    { text: owed.subject },
  ];
}
