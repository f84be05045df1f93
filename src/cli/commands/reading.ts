import type { WaitsFor } from "../../agent/answers/sent.ts";
import { DeaddropError } from "../../api/errors.ts";
import type { ReceiptStage, SentView, ThreadView } from "../../api/views.ts";
import { searchAll } from "../../client/search-all.ts";
import { messageText, tierNotes } from "../../framing/message-text.ts";
import { sanitise } from "../../framing/sanitise.ts";
import { shortId } from "../../framing/short-id.ts";
import { when } from "../../framing/when.ts";
import { fairShare } from "../../protocol/fair-share.ts";
import { isNewest, parentOf } from "../../verbs/naming/parent.ts";
import { count, define } from "../command.ts";
import { withClient, type Cli } from "../context.ts";
import {
  emit,
  SHOWN_TO_PEOPLE,
  table,
  withBelow,
  type Cell,
  type Paint,
  type Style,
} from "../output/output.ts";
import { decisionRows, obligationRow, waitingText, WAITS_FOR } from "../output/text.ts";

/** Rows that are shown to people. */
const MAX_ROWS = 100;

const DEFAULT_RESULTS = 20;

/** Open obligations, oldest first. Spec 3.3. */
export const pending = define({
  about: "Lists what has been asked for and not been answered, the oldest first.",
  examples: ["deaddrop pending"],
  async run(cli, flags) {
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
  },
});

/** What you sent, and what is proved of it. Spec 3.2. */
export const sent = define({
  about: "Lists your messages with their receipts: stored, published, delivered, read, answered.",
  options: {
    "--limit <n>": {
      about: `at most so many (people see ${SHOWN_TO_PEOPLE}, --json all)`,
      parse: count,
    },
  },
  examples: ["deaddrop sent --limit 5"],
  async run(cli, flags) {
    const limit = flags.limit ?? (flags.json === true ? undefined : SHOWN_TO_PEOPLE);
    const { sent, waiting } = await withClient(cli, flags, async (client) => {
      const sent = await client.view("sent", limit === undefined ? {} : { limit });
      if (flags.json === true) return { sent, waiting: 0 };
      const { waiting } = await client.view("status");
      return { sent, waiting };
    });
    const rows = sent.flatMap((each) => sentRows(each, cli.clock.nowMs()));
    emit(cli, flags, sent, (paint) => {
      const listed =
        sent.length === 0 ? "Nothing sent yet." : table(rows, paint, cli.stdout.columns);
      return waiting === 0 ? listed : `${listed}\n${paint("red", waitingText(waiting))}`;
    });
  },
});

function sentRows(each: SentView, nowMs: number): Cell[][] {
  return each.receipts.map(({ to, state, waits_for, reason = waitText(waits_for) }) => [
    { text: shortId(each.event_id), style: "bold" },
    { text: when(each.timestamp, nowMs), style: "dim" },
    each.type,
    { text: to, style: "cyan" },
    {
      text: reason === undefined ? state : `${state}: ${reason}`,
      style: STYLE_BY_STATE[state],
    },
    each.subject,
  ]);
}

/** A conversation; two that share a name are both shown. Spec 3.3. */
export const thread = define({
  about: "Shows a conversation: its messages, its proposals, and what is owed in it.",
  args: { "<id>": "a message of it (6 characters of its event id or more), or correlation id" },
  options: {
    "--event": "the id is that of a message, and not a correlation id",
    "--full": "do not cut long bodies",
  },
  examples: ["deaddrop thread 4f2a91"],
  async run(cli, flags, { id }) {
    const threads = await withClient(cli, flags, async (client) => {
      const named = isNewest(id) ? (await parentOf(client, id)).event_id : id;
      const byEvent = flags.event === true ? ({ by: "event_id" } as const) : {};
      return client.view("thread", { id: named, ...byEvent });
    });
    if (threads.length === 0) {
      throw new DeaddropError("unknown_id", `no thread or message "${id}"`, {
        hint: "`deaddrop inbox` and `deaddrop sent` show the ids; 6 characters of one are enough",
      });
    }
    const isFull = flags.full === true;
    emit(cli, flags, threads, (paint) =>
      threads.map((thread) => threadText(cli, isFull, thread, paint)).join("\n\n"),
    );
  },
});

/** Messages of all threads, found by the beginnings of words in their subject and body. */
export const search = define({
  about:
    "Finds messages by how words in their subject or body begin: each word given has to begin one. " +
    "The newest comes last.",
  args: { "<text>": { about: "words, or how they begin", isText: true } },
  options: {
    "--limit <n>": { about: `at most so many (default ${DEFAULT_RESULTS})`, parse: count },
  },
  examples: ['deaddrop search "wire format" --limit 5'],
  async run(cli, flags, { text }) {
    const limit = flags.limit ?? DEFAULT_RESULTS;
    const found = await withClient(cli, flags, (client) => searchAll(client, text, limit));
    const restOf = (id: string) => `deaddrop thread ${id} --event --full`;
    emit(cli, flags, found, (paint) => {
      if (found.length === 0) return "Nothing found.";
      const look = { paint, nowMs: cli.clock.nowMs(), restOf };
      return found
        .map((message) => messageText(message._meta, message, tierNotes(message._meta.tier), look))
        .join("\n\n");
    });
  },
});

const STYLE_BY_STATE: Record<ReceiptStage, Style> = {
  stored: "dim",
  published: "dim",
  delivered: "cyan",
  read: "green",
  answered: "green",
  refused: "red",
};

function waitText(waitsFor: WaitsFor | undefined): string | undefined {
  return waitsFor === undefined ? undefined : WAITS_FOR[waitsFor];
}

function threadText(cli: Cli, isFull: boolean, thread: ThreadView, paint: Paint): string {
  const restOf = isFull ? undefined : (id: string) => `deaddrop thread ${id} --event --full`;
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
