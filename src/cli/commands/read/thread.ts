import { Command } from "commander";
import type { ThreadView } from "../../../api/views.ts";
import { DeaddropError } from "../../../api/errors.ts";
import { withClient, type Cli, type GlobalFlags } from "../../context.ts";
import { example } from "../../output/example.ts";
import { messageText, tierNotes } from "../../../framing/message-text.ts";
import { emit, table, type Paint } from "../../output/output.ts";
import { sanitise } from "../../../framing/sanitise.ts";
import { obligationRow } from "../../output/text.ts";
import { shortId } from "../../../framing/short-id.ts";

interface Flags extends GlobalFlags {
  event?: boolean;
  full?: boolean;
}

/** `deaddrop thread`: a conversation; two that share a name are both shown. Spec 3.3. */
export function command(cli: Cli): Command {
  return new Command("thread")
    .description("Shows a conversation: its messages, its proposals, and what is owed in it.")
    .argument("<id>", "a message of it (6 characters of its event id or more), or correlation id")
    .option("--event", "the id is that of a message, and not a correlation id")
    .option("--full", "do not cut long bodies")
    .addHelpText("after", example("deaddrop thread 4f2a91"))
    .action((id: string, flags: Flags) => run(cli, id, flags));
}

export async function run(cli: Cli, id: string, flags: Flags): Promise<void> {
  const asked = flags.event === true ? ({ id, by: "event_id" } as const) : { id };
  const threads = await withClient(cli, flags, (client) => client.view("thread", asked));
  if (threads.length === 0) {
    throw new DeaddropError("unknown_id", `no thread or message "${id}"`, {
      hint: "`deaddrop inbox` and `deaddrop sent` show the ids; 6 characters of one are enough",
    });
  }
  emit(cli, flags, threads, (paint) =>
    threads.map((thread) => threadText(cli, flags, thread, paint)).join("\n\n"),
  );
}

function threadText(cli: Cli, flags: Flags, thread: ThreadView, paint: Paint): string {
  const restOf =
    flags.full === true ? undefined : (id: string) => `deaddrop thread ${id} --event --full`;
  const look = { paint, nowMs: cli.clock.nowMs(), restOf };
  const waiting = thread.waiting_on.length === 0 ? "" : ` on ${thread.waiting_on.join(", ")}`;
  const status = thread.status === "waiting_on" ? `waiting${waiting}` : thread.status;
  const head = `${paint("bold", "thread")} ${sanitise(thread.correlation_id)}: ${sanitise(status)}; ${sanitise(thread.participants.join(", "))}`;
  const note =
    thread.named_by === "correlation_id"
      ? paint("dim", "Named by its correlation id: no message here has this event id.")
      : "";
  const messages = thread.messages.map((message) => {
    const { tier, refused, corrections } = message._meta;
    const notes = tierNotes(tier);
    if (refused !== null) notes.push(`refused: ${refused}`);
    for (const correction of corrections) notes.push(`corrected by ${shortId(correction)}`);
    return messageText(message._meta, message, notes, look);
  });
  const proposals = thread.proposals.map(
    (each) =>
      `proposal ${paint("bold", shortId(each.proposal_id))} by ${sanitise(each.proposer)}: ${each.status}`,
  );
  const owed = thread.obligations.map((each) => obligationRow(each, cli.clock.nowMs()));
  const parts = [note, head, ...messages, proposals.join("\n")];
  parts.push(owed.length === 0 ? "" : `Owed\n${table(owed, paint, cli.stdout.columns)}`);
  return parts.filter((part) => part !== "").join("\n\n");
}
