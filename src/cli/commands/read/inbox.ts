import { Command } from "commander";
import type { Client } from "../../../api/client.ts";
import { DeaddropError } from "../../../api/errors.ts";
import type { InboxMessage, InboxPage, ViewArgs } from "../../../api/views.ts";
import { count, withClient, type Cli, type GlobalFlags } from "../../context.ts";
import { briefMessage } from "../../agents/brief.ts";
import { example } from "../../output/example.ts";
import { inboxText } from "../../../framing/message-text.ts";
import { showNotices } from "../../inbox/notices.ts";
import { emit, writeExact } from "../../output/output.ts";
import { safeJson } from "../../../framing/sanitise.ts";
import { SHOWN_TO_PEOPLE, FOLLOW_PAUSE_MS } from "../../output/listing.ts";
import { recipients } from "../../../sending/naming/recipients.ts";
import { parentOf } from "../../../sending/naming/parent.ts";

interface Flags extends GlobalFlags {
  follow?: boolean;
  unread?: boolean;
  markRead?: boolean;
  path?: boolean;
  full?: boolean;
  brief?: boolean;
  from?: string;
  thread?: string;
  limit?: number;
}

type Query = ViewArgs["inbox_page"];

/** `deaddrop inbox`. With --json one object a line: `_meta` and the message. Spec 8.6. */
export function command(cli: Cli): Command {
  return new Command("inbox")
    .description(
      "Shows the messages for you, oldest first: with --unread the oldest that are unread, else the\n" +
        "newest. --json prints all of them, one object a line.",
    )
    .argument("[id]", "only this message: 6 characters of its event id or more")
    .option("--unread", "only those not marked read")
    .option("--mark-read", "mark those shown as read: their senders can prove it from then on")
    .option("--full", "do not cut long bodies")
    .option("--brief", "with --json: without what only machines verify")
    .option("--follow", "go on, and show each message as it comes")
    .option("--path", "print the file that holds your messages, to tail")
    .option("--from <handle>", "only from this peer")
    .option("--thread <correlation-id>", "only of this thread")
    .option("--limit <n>", `at most so many (${SHOWN_TO_PEOPLE}; with --json all)`, count)
    .addHelpText(
      "after",
      example("deaddrop inbox --unread --mark-read", 'tail -F "$(deaddrop inbox --path)"'),
    )
    .action((id: string | undefined, flags: Flags) => run(cli, id, flags));
}

export async function run(cli: Cli, id: string | undefined, flags: Flags): Promise<void> {
  if (flags.brief === true && flags.json !== true) {
    throw new DeaddropError("usage", "--brief leaves out fields of JSON", {
      hint: "add --json; text never shows what only machines verify",
    });
  }
  await withClient(cli, flags, async (client) => {
    if (flags.path === true) {
      const { inbox_path } = await client.view("whoami");
      // A path is for programs too.
      writeExact(cli.stdout, `${flags.json === true ? safeJson({ inbox_path }) : inbox_path}\n`);
      return;
    }
    const named = id === undefined ? {} : { id: (await parentOf(client, id)).event_id };
    const asked = { ...queryOf(flags), ...named };
    const first = await showPage(cli, flags, client, asked);
    // Of nobody there is nothing, and one would wait for it forever.
    if (flags.from !== undefined && first.messages.length === 0) {
      await recipients(client, [flags.from]);
    }
    const shown = hasNotices(flags, id) ? new Set<string>() : undefined;
    if (shown !== undefined) await showNotices(cli, flags, client, shown);
    const rest = { ...asked, after: first.next };
    if (flags.follow === true) await follow(cli, flags, client, rest, shown);
    else if (flags.json === true) await showRest(cli, flags, client, asked, first);
    else if (first.messages.length > 0 || shown === undefined || shown.size === 0) {
      cli.stdout.write(await closingText(flags, client, named.id, first));
    }
  });
}

/** Notices are about no message and no thread. As JSON they are what `notices --json` prints. */
function hasNotices(flags: Flags, id: string | undefined): boolean {
  const isAsked = id !== undefined || flags.from !== undefined || flags.thread !== undefined;
  return !isAsked && flags.json !== true;
}

function queryOf(flags: Flags): Query {
  const limit = flags.limit ?? (flags.json === true ? undefined : SHOWN_TO_PEOPLE);
  const isNewest = flags.unread !== true && limit !== undefined;
  return {
    ...(flags.unread === true ? { unread: true } : {}),
    ...(limit === undefined ? {} : { limit }),
    ...(isNewest ? { newest: true } : {}),
    ...(flags.from === undefined ? {} : { from: flags.from }),
    ...(flags.thread === undefined ? {} : { thread: flags.thread }),
  };
}

/** Shows a page, and marks what it showed when that is asked for. */
async function showPage(cli: Cli, flags: Flags, client: Client, query: Query): Promise<InboxPage> {
  const page = await client.view("inbox_page", query);
  for (const message of page.messages) show(cli, flags, message);
  const unread = page.messages.filter(({ _meta }) => !_meta.read).map(({ _meta }) => _meta.id);
  if (flags.markRead === true && unread.length > 0) await client.ask("read", { ids: unread });
  return page;
}

function show(cli: Cli, flags: Flags, message: InboxMessage): void {
  const restOf = flags.full === true ? undefined : (id: string) => `deaddrop inbox ${id} --full`;
  emit(cli, flags, flags.brief === true ? briefMessage(message) : message, (paint) => {
    return `${inboxText(message, { paint, nowMs: cli.clock.nowMs(), restOf })}\n`;
  });
}

/** Without a limit, JSON is all there is: page after page. */
async function showRest(
  cli: Cli,
  flags: Flags,
  client: Client,
  query: Query,
  first: InboxPage,
): Promise<void> {
  if (query.limit !== undefined) return;
  let page = first;
  while (page.more !== 0 && page.messages.length > 0) {
    page = await showPage(cli, flags, client, { ...query, after: page.next });
  }
}

/** What there is besides the page and how to see it, or why there is nothing. */
async function closingText(
  flags: Flags,
  client: Client,
  id: string | undefined,
  { messages, more }: InboxPage,
): Promise<string> {
  if (messages.length === 0) {
    if (id !== undefined) return `${id} is not in your inbox: deaddrop thread ${id} --event\n`;
    return `Nothing here.\n${await strangersText(client)}`;
  }
  if (more === null || more === 0) return "";
  if (flags.unread !== true) {
    return `${more} older not shown: deaddrop inbox --limit ${messages.length + more}\n`;
  }
  return flags.markRead === true
    ? `${more} more unread: run this again\n`
    : `${more} more unread: add --mark-read and run this again, or --limit ${messages.length + more}\n`;
}

/** Why there may be nothing: what strangers say is refused. Spec 2.3. */
async function strangersText(client: Client): Promise<string> {
  const peers = await client.view("peers");
  const strangers = peers.filter(({ trust_tier }) => trust_tier === "UNTRUSTED");
  return strangers
    .map(({ handle }) => {
      return `${handle} has not been verified, so its mail waits until digits are compared: deaddrop trust sas ${handle}\n`;
    })
    .join("");
}

/** Until it is interrupted. What was shown once is not shown again. */
async function follow(
  cli: Cli,
  flags: Flags,
  client: Client,
  query: Query,
  notices: Set<string> | undefined,
): Promise<never> {
  const { newest: _newest, limit: _limit, ...rest } = query;
  for (let page: InboxPage | undefined; ;) {
    const after = page === undefined ? {} : { after: page.next };
    page = await showPage(cli, flags, client, { ...rest, ...after });
    if (page.messages.length > 0) continue;
    if (notices !== undefined) await showNotices(cli, flags, client, notices);
    await cli.clock.sleep(FOLLOW_PAUSE_MS);
    // Without a daemon nobody but us takes in what peers write.
    if (!client.viaDaemon) await client.ask("tick");
  }
}
