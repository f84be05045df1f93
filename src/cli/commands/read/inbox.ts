import { Command } from "commander";
import type { Client } from "../../../api/client.ts";
import type { InboxMessage, ViewArgs } from "../../../api/views.ts";
import { count, withClient, type Cli, type GlobalFlags } from "../../context.ts";
import { example } from "../../output/example.ts";
import { inboxText } from "../../output/message-text.ts";
import { emit, writeExact } from "../../output/output.ts";
import { safeJson } from "../../output/sanitise.ts";
import { SHOWN_TO_PEOPLE, FOLLOW_PAUSE_MS } from "../../output/listing.ts";

interface Flags extends GlobalFlags {
  follow?: boolean;
  unread?: boolean;
  markRead?: boolean;
  path?: boolean;
  from?: string;
  thread?: string;
  limit?: number;
}

const FIRST_FETCH = 50;
const MAX_FETCH = 10_000;

/** `deaddrop inbox`. With --json one object a line: the message and `_meta`. Spec 4.4. */
export function command(cli: Cli): Command {
  return new Command("inbox")
    .description("Shows the messages for you, the newest last. --json prints one object a line.")
    .option("--unread", "only those not marked read")
    .option("--mark-read", "mark those shown as read: their senders can prove it from then on")
    .option("--follow", "go on, and show each message as it comes")
    .option("--path", "print the file that holds your messages, to tail")
    .option("--from <handle>", "only from this peer")
    .option("--thread <correlation-id>", "only of this thread")
    .option("--limit <n>", `at most so many (people see ${SHOWN_TO_PEOPLE}, --json 1,000)`, count)
    .addHelpText(
      "after",
      example("deaddrop inbox --unread --mark-read", 'tail -F "$(deaddrop inbox --path)"'),
    )
    .action((flags: Flags) => run(cli, flags));
}

export async function run(cli: Cli, flags: Flags): Promise<void> {
  await withClient(cli, flags, async (client) => {
    if (flags.path === true) {
      const { inbox_path } = await client.view("whoami");
      // A path is for programs too.
      writeExact(cli.stdout, `${flags.json === true ? safeJson({ inbox_path }) : inbox_path}\n`);
      return;
    }
    const messages = await client.view("inbox", query(flags));
    await show(cli, flags, client, messages);
    if (flags.follow === true) await follow(cli, flags, client, messages);
    else if (messages.length === 0 && flags.json !== true) {
      cli.stdout.write(`Nothing here.\n${await strangersText(client)}`);
    }
  });
}

/** Why there may be nothing: what strangers say is refused. Spec 2.3. */
async function strangersText(client: Client): Promise<string> {
  const peers = await client.view("peers");
  const strangers = peers.filter(({ trust_tier }) => trust_tier === "UNTRUSTED");
  return strangers
    .map(({ handle }) => {
      return `${handle} has not been verified, so what it sends is refused: deaddrop trust sas ${handle}\n`;
    })
    .join("");
}

function query(flags: Flags): ViewArgs["inbox"] {
  const limit = flags.limit ?? (flags.json === true ? undefined : SHOWN_TO_PEOPLE);
  return {
    ...(flags.unread === true ? { unread: true } : {}),
    ...(limit === undefined ? {} : { limit }),
    ...(flags.from === undefined ? {} : { from: flags.from }),
    ...(flags.thread === undefined ? {} : { thread: flags.thread }),
  };
}

async function show(
  cli: Cli,
  flags: Flags,
  client: Client,
  messages: readonly InboxMessage[],
): Promise<void> {
  for (const message of messages) {
    emit(cli, flags, message, (paint) => `${inboxText(message, paint, cli.clock.nowMs())}\n`);
  }
  const unread = messages.filter(({ _meta }) => !_meta.read).map(({ _meta }) => _meta.id);
  if (flags.markRead === true && unread.length > 0) await client.ask("read", { ids: unread });
}

/** Until it is interrupted. What was shown once is not shown again. */
async function follow(
  cli: Cli,
  flags: Flags,
  client: Client,
  shown: readonly InboxMessage[],
): Promise<never> {
  let lastId = shown.at(-1)?._meta.id;
  for (;;) {
    await cli.clock.sleep(FOLLOW_PAUSE_MS);
    // Without a daemon nobody but us takes in what peers write.
    if (!client.viaDaemon) await client.ask("tick");
    const fresh = await after(lastId, flags, client);
    await show(cli, flags, client, flags.unread === true ? fresh.filter(isUnread) : fresh);
    lastId = fresh.at(-1)?._meta.id ?? lastId;
  }
}

function isUnread({ _meta }: InboxMessage): boolean {
  return !_meta.read;
}

/**
 * The messages after that one. The read ones are asked for too: else the last one shown would be
 * missing from the answer as soon as it is marked read.
 */
async function after(
  lastId: string | undefined,
  flags: Flags,
  client: Client,
): Promise<InboxMessage[]> {
  const { unread: _all, ...rest } = query(flags);
  for (let limit = FIRST_FETCH; ; limit *= 2) {
    const messages = await client.view("inbox", { ...rest, limit });
    const at = messages.findIndex(({ _meta }) => _meta.id === lastId);
    if (at !== -1) return messages.slice(at + 1);
    if (messages.length < limit || limit >= MAX_FETCH) return messages;
  }
}
