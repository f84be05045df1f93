import { Command } from "commander";
import { withClient, type Cli, type GlobalFlags } from "../../context.ts";
import { example } from "../../output/example.ts";
import { fairShare } from "../../../protocol/fair-share.ts";
import { emit, table, withBelow } from "../../output/output.ts";
import { decisionRows, obligationRow } from "../../output/text.ts";

/** Rows that are shown to people. */
const MAX_ROWS = 100;

/** `deaddrop pending`: open obligations, oldest first. Spec 3.3. */
export function command(cli: Cli): Command {
  return new Command("pending")
    .description("Lists what has been asked for and not been answered, the oldest first.")
    .addHelpText("after", example("deaddrop pending"))
    .action((flags: GlobalFlags) => run(cli, flags));
}

export async function run(cli: Cli, flags: GlobalFlags): Promise<void> {
  const pending = await withClient(cli, flags, (client) => client.view("pending"));
  const nowMs = cli.clock.nowMs();
  emit(cli, flags, pending, (paint) => {
    if (pending.length === 0) return "Nothing is owed.";
    const shown = fairShare(pending, MAX_ROWS, ({ from }) => from);
    const left = pending.length - shown.length;
    const rows = shown.map((each) => obligationRow(each, nowMs));
    const text = withBelow(table(rows, paint, cli.stdout.columns), (row) => {
      const { event_id: id, decision } = shown[row] ?? { event_id: "", decision: null };
      return decisionRows(id, decision, paint);
    });
    return left === 0 ? text : `${text}\n${left} more are not shown: deaddrop pending --json`;
  });
}
