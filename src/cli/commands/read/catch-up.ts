import { Command } from "commander";
import { withClient, type Cli, type GlobalFlags } from "../../context.ts";
import { catchUpText, CATCH_UP_TOKENS } from "../../agents/catch-up-text.ts";
import { example } from "../../output/example.ts";
import { emit } from "../../output/output.ts";

/** Messages that are looked at; how many of them are shown depends on their length. */
const LAST_MESSAGES = 20;
const LAST_SENT = 10;

/** `deaddrop catch-up`: what an agent reads at the start of a session. It marks nothing. Spec 3.9. */
export function command(cli: Cli): Command {
  return new Command("catch-up")
    .description(
      "What there is to know at the start of a session: decisions in force, what is owed, open\n" +
        `incidents, the last messages; ${CATCH_UP_TOKENS.toLocaleString("en")} tokens at most. Nothing is marked read.`,
    )
    .addHelpText("after", example("deaddrop catch-up"))
    .action((flags: GlobalFlags) => run(cli, flags));
}

export async function run(cli: Cli, flags: GlobalFlags): Promise<void> {
  await withClient(cli, flags, async (client) => {
    const status = await client.view("status");
    const { in_force: decisions } = await client.view("decisions");
    const inbox = await client.view("inbox_page", { newest: true, limit: LAST_MESSAGES });
    const sent = await client.view("sent", { limit: LAST_SENT });
    const about = { status, decisions, inbox, sent };
    emit(cli, flags, about, () => catchUpText(about, cli.clock.nowMs()));
  });
}
