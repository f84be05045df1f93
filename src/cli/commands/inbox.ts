import { WAITED_FOR } from "../../agent/answers/waited-for.ts";
import type { Client } from "../../api/client.ts";
import { DeaddropError } from "../../api/errors.ts";
import type {
  InboxMessage,
  InboxPage,
  ViewArgs,
  AgentNoticeView,
  NewsView,
  WaitedFor,
} from "../../api/views.ts";
import { waitForNews, WITHOUT_DAEMON_MS } from "../../client/wait-for-news.ts";
import { inboxText } from "../../framing/message-text.ts";
import { safeJson, sanitise } from "../../framing/sanitise.ts";
import { when } from "../../framing/when.ts";
import { parentOf } from "../../verbs/naming/parent.ts";
import { recipients } from "../../verbs/naming/recipients.ts";
import { count, define, seconds, type FlagsOf, type Options } from "../command.ts";
import { withClient, type Cli, type GlobalFlags } from "../context.ts";
import {
  emit,
  FOLLOW_PAUSE_MS,
  SHOWN_TO_PEOPLE,
  writeExact,
  painter,
  type Paint,
} from "../output/output.ts";
import { isLikeAnId } from "../read-line.ts";
import { counted } from "../output/text.ts";

const INBOX_OPTIONS = {
  "--unread": "only those not marked read",
  "--mark-read": "mark those shown as read: their senders can prove it from then on",
  "--full": "do not cut long bodies",
  "--brief": "with --json: without what only machines verify",
  "--follow": "go on, and show each message as it comes",
  "--path": "print the file that holds your messages, to tail",
  "--from <handle>": "only from this peer",
  "--thread <correlation-id>": "only of this thread",
  "--limit <n>": {
    about: `at most so many (${SHOWN_TO_PEOPLE}; with --json all)`,
    parse: count,
  },
} as const satisfies Options;
type Flags = FlagsOf<typeof INBOX_OPTIONS>;

/** What became of things that no peer's message says by itself. Spec 3.12. */
const notices = define({
  about:
    "Lists what your daemon tells you: how your proposals ended, which of your messages a peer " +
    "refused, who is silent or back, safe mode. `inbox` shows the unread ones too.",
  options: {
    "--unread": "only those not marked read",
    "--mark-read": "mark those shown as read",
  },
  examples: ["deaddrop inbox notices --unread"],
  async run(cli, flags) {
    await withClient(cli, flags, async (client) => {
      const isUnread = flags.unread === true;
      const notices = await client.view("agent_notices", isUnread ? { unread: true } : {});
      const nowMs = cli.clock.nowMs();
      emit(cli, flags, notices, (paint) =>
        notices.length === 0
          ? `No ${isUnread ? "unread " : ""}notices.`
          : notices.map((notice) => noticeText(notice, paint, nowMs)).join("\n"),
      );
      const ids = notices.filter(({ read }) => !read).map(({ id }) => id);
      if (flags.markRead === true && ids.length > 0) await client.ask("read", { ids });
    });
  },
});

/** With --json one object a line: `_meta` and the message. Spec 8.6. */
export const inbox = define({
  about:
    "Shows the messages for you, oldest first: with --unread the oldest that are unread, else the " +
    "newest. --json prints all of them, one object a line.",
  args: {
    "[which]":
      "unread, a peer, how many, or one message: 6 characters of its event id or more, or last",
  },
  options: INBOX_OPTIONS,
  examples: ["deaddrop inbox --unread --mark-read", 'tail -F "$(deaddrop inbox --path)"'],
  async run(cli, given, { which }) {
    const { id, ...flags } =
      which === undefined ? { ...given, id: undefined } : chosenBy(which, given);
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
  },
  commands: {
    notices,
  },
});

/** Returns when there is something for the agent to do. Spec 8.6. */
export const wait = define({
  about:
    "Waits until something is there for you, and says what: at once when it is there already. " +
    "Exits 3 when the time is over.",
  options: {
    "--timeout <seconds>": { about: "how long (default: without end)", parse: seconds },
    "--for <what>": {
      about: "anything unread, urgent mail, or an answer you owe",
      choices: WAITED_FOR,
      default: "any",
    },
  },
  examples: ["deaddrop wait --timeout 600", "deaddrop wait --for urgent &"],
  async run(cli, flags) {
    await withClient(cli, flags, async (client) => {
      const endMs = cli.clock.nowMs() + (flags.timeout ?? Infinity) * 1_000;
      const news = await waitForNews(client, flags.for, {
        nowMs: () => cli.clock.nowMs(),
        sleep: (durationMs) => cli.clock.sleep(durationMs),
        endMs,
        onNoDaemon: () => cli.stderr.write(`${NO_DAEMON}\n`),
      });
      if (news.ready) {
        emit(cli, flags, news, () => newsText(news));
        return;
      }
      throw new DeaddropError("timeout", `nothing within ${flags.timeout} s: ${NONE[flags.for]}`, {
        hint: "wait again, or go on with your work and look later: deaddrop inbox --unread",
      });
    });
  },
});

type Query = ViewArgs["inbox"];

type Chosen = Flags & { readonly id?: string | undefined };

/** What a word behind the command stands for: an option, or the message that it names. */
function chosenBy(which: string, flags: Chosen): Chosen {
  if (which === "all" || which === "list") return flags;
  if (which === "unread" || which === "new") return { ...flags, unread: true };
  if (/^[1-9]\d{0,4}$/.test(which)) return { ...flags, limit: Number(which) };
  return isLikeAnId(which) ? { ...flags, id: which } : { ...flags, from: which };
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
  const page = await client.view("inbox", query);
  for (const message of page.messages) show(cli, flags, message);
  const unread = page.messages.filter(({ _meta }) => !_meta.read).map(({ _meta }) => _meta.id);
  if (flags.markRead === true && unread.length > 0) await client.ask("read", { ids: unread });
  return page;
}

function show(cli: Cli, flags: Flags, message: InboxMessage): void {
  const restOf = flags.full === true ? undefined : (id: string) => `deaddrop inbox ${id} --full`;
  const text = (paint: Paint): string =>
    `${inboxText(message, { paint, nowMs: cli.clock.nowMs(), restOf })}\n`;
  if (flags.brief === true) emit(cli, flags, briefMessage(message), text);
  else emit(cli, flags, message, text);
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

/** Fields that only machines verify, and what `_meta` says anyway. */
const LEFT_OUT = new Set([
  ...["event_id", "public_key_id", "signature", "wire", "log", "seq", "prev", "kind"],
  ...["timestamp", "correlation_id", "priority", "ack_required"],
]);

/** A message of the inbox without signature, key, chain and what `_meta` repeats (`--brief`). */
type BriefMessage = Record<string, unknown>;

function briefMessage(message: InboxMessage): BriefMessage {
  const { _meta, ...fields } = message;
  const kept = Object.entries(fields).filter(
    ([name, value]) => !LEFT_OUT.has(name) && !(Array.isArray(value) && value.length === 0),
  );
  return { _meta, ...Object.fromEntries(kept) };
}

/** One notice for people: what names it, when it came, and the daemon's own sentence. Spec 3.12. */
function noticeText(notice: AgentNoticeView, paint: Paint, nowMs: number): string {
  const { at, id, text, read } = notice;
  const unread = read ? "" : ` ${paint("yellow", "[unread]")}`;
  const facts = `${paint("bold", id)} ${paint("magenta", "notice")} ${paint("dim", when(at, nowMs))}`;
  return `${facts}${unread}\n  ${sanitise(text)}`;
}

/**
 * The unread notices beside the messages of an inbox, oldest first, and how many are left; with
 * `markRead` those shown are marked. `shown` grows: what is in it is left out. Answers how many.
 */
async function showNotices(
  cli: Cli,
  flags: GlobalFlags & { markRead?: boolean },
  client: Client,
  shown = new Set<string>(),
): Promise<number> {
  const unread = await client.view("agent_notices", { unread: true });
  const fresh = unread.filter(({ id }) => !shown.has(id));
  const notices = fresh.slice(0, SHOWN_TO_PEOPLE);
  for (const notice of notices) {
    shown.add(notice.id);
    cli.stdout.write(`${noticeText(notice, painter(cli.stdout, cli.env), cli.clock.nowMs())}\n\n`);
  }
  const more = fresh.length - notices.length;
  if (more > 0) cli.stdout.write(`${more} more notices: deaddrop inbox notices --unread\n`);
  const ids = notices.map(({ id }) => id);
  if (flags.markRead === true && ids.length > 0) await client.ask("read", { ids });
  return notices.length;
}

const NONE: Record<WaitedFor, string> = {
  any: "all is read",
  urgent: "nothing urgent is unread",
  owed: "you owe no answer",
};

const NO_DAEMON = `No daemon runs: looking every ${WITHOUT_DAEMON_MS / 1_000} s. To run one: deaddrop service install`;

/** One line of ours: counts and handles, no word of a peer. Spec 8.2. */
function newsText({ unread, notices, urgent, owed, from }: NewsView): string {
  const parts: string[] = [];
  if (unread > 0) {
    const high = urgent > 0 ? ` (${urgent} urgent)` : "";
    parts.push(`${unread} unread from ${from.map(({ handle }) => handle).join(", ")}${high}`);
  }
  if (notices > 0) parts.push(counted(notices, "notice"));
  if (owed > 0) parts.push(`${counted(owed, "answer")} owed`);
  const next =
    unread > 0 || notices > 0 ? "deaddrop inbox --unread --mark-read" : "deaddrop pending";
  return `${parts.join(", ")}: ${next}`;
}
