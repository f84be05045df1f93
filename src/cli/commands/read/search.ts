import { Command } from "commander";
import { searchAll } from "../../../client/search-all.ts";
import { count, withClient, type Cli, type GlobalFlags } from "../../context.ts";
import { example } from "../../output/example.ts";
import { messageText, tierNotes } from "../../../framing/message-text.ts";
import { emit } from "../../output/output.ts";

interface Flags extends GlobalFlags {
  limit?: number;
}

const DEFAULT_RESULTS = 20;

/** `deaddrop search`: messages of all threads whose subject or body contains the text. */
export function command(cli: Cli): Command {
  return new Command("search")
    .description("Finds messages whose subject or body contains the text, the newest last.")
    .argument("<text>", "what to look for")
    .option("--limit <n>", `at most so many (default ${DEFAULT_RESULTS})`, count)
    .addHelpText("after", example('deaddrop search "wire format" --limit 5'))
    .action((text: string, flags: Flags) => run(cli, text, flags));
}

export async function run(cli: Cli, text: string, flags: Flags): Promise<void> {
  const limit = flags.limit ?? DEFAULT_RESULTS;
  const found = await withClient(cli, flags, (client) => searchAll(client, text, limit));
  emit(cli, flags, found, (paint) =>
    found.length === 0
      ? "Nothing found."
      : found
          .map((message) => {
            const { tier } = message._meta;
            const restOf = (id: string) => `deaddrop thread ${id} --event --full`;
            const look = { paint, nowMs: cli.clock.nowMs(), restOf };
            return messageText(message._meta, message, tierNotes(tier), look);
          })
          .join("\n\n"),
  );
}
