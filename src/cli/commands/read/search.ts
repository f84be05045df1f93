import { Command } from "commander";
import type { Client } from "../../../api/client.ts";
import type { ThreadMessage } from "../../../api/views.ts";
import { count, withClient, type Cli, type GlobalFlags } from "../../context.ts";
import { example } from "../../output/example.ts";
import { messageText, tierNotes } from "../../output/message-text.ts";
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

/** Page by page, from the newest part of history on: a daemon answers others in between. */
async function searchAll(client: Client, text: string, limit: number): Promise<ThreadMessage[]> {
  let found: ThreadMessage[] = [];
  let before = {};
  while (found.length < limit) {
    const asked = { text, limit: limit - found.length, ...before };
    const { messages, next } = await client.view("search_page", asked);
    found = [...messages, ...found];
    if (next === null) break;
    before = { before: next };
  }
  return found;
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
