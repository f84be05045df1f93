import { Command } from "commander";
import type { ReceiptStage, SentView } from "../../../api/views.ts";
import { count, withClient, type Cli, type GlobalFlags } from "../../context.ts";
import { example } from "../../output/example.ts";
import { emit, table, type Paint, type Style } from "../../output/output.ts";
import { shortId } from "../../../framing/short-id.ts";
import { waitingText } from "../../output/text.ts";
import { when } from "../../../framing/when.ts";
import type { WaitsFor } from "../../../agent/answers/sent.ts";
import { WAITS_FOR } from "../../sending/deliver.ts";
import { SHOWN_TO_PEOPLE } from "../../output/listing.ts";

interface Flags extends GlobalFlags {
  limit?: number;
}

const STYLE_BY_STATE: Record<ReceiptStage, Style> = {
  stored: "dim",
  published: "dim",
  delivered: "cyan",
  read: "green",
  answered: "green",
  refused: "red",
};

/** `deaddrop sent`: what you sent, and what is proved of it. Spec 3.2. */
export function command(cli: Cli): Command {
  return new Command("sent")
    .description(
      "Lists your messages with their receipts: stored, published, delivered,\nread, answered.",
    )
    .option("--limit <n>", `at most so many (people see ${SHOWN_TO_PEOPLE}, --json all)`, count)
    .addHelpText("after", example("deaddrop sent --limit 5"))
    .action((flags: Flags) => run(cli, flags));
}

export async function run(cli: Cli, flags: Flags): Promise<void> {
  const limit = flags.limit ?? (flags.json === true ? undefined : SHOWN_TO_PEOPLE);
  const args = limit === undefined ? {} : { limit };
  const { sent, waiting } = await withClient(cli, flags, async (client) => {
    const sent = await client.view("sent", args);
    if (flags.json === true) return { sent, waiting: 0 };
    const { storage } = await client.view("status");
    return { sent, waiting: storage?.waiting ?? 0 };
  });
  emit(cli, flags, sent, (paint) => {
    const listed = sent.length === 0 ? "Nothing sent yet." : sentTable(cli, sent, paint);
    return waiting === 0 ? listed : `${listed}\n${paint("red", waitingText(waiting))}`;
  });
}

function waitText(waitsFor: WaitsFor | undefined): string | undefined {
  return waitsFor === undefined ? undefined : WAITS_FOR[waitsFor];
}

function sentTable(cli: Cli, sent: readonly SentView[], paint: Paint): string {
  const rows = sent.flatMap((each) =>
    each.receipts.map(({ to, state, waits_for, reason = waitText(waits_for) }) => [
      { text: shortId(each.event_id), style: "bold" as const },
      { text: when(each.timestamp, cli.clock.nowMs()), style: "dim" as const },
      { text: each.type },
      { text: to, style: "cyan" as const },
      {
        text: reason === undefined ? state : `${state}: ${reason}`,
        style: STYLE_BY_STATE[state],
      },
      { text: each.subject },
    ]),
  );
  return table(rows, paint, cli.stdout.columns);
}
