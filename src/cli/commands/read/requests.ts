import { Command } from "commander";
import type { Client } from "../../../api/client.ts";
import { DeaddropError } from "../../../api/errors.ts";
import type { RequestStatus, RequestView } from "../../../api/views.ts";
import { withClient, type Cli, type GlobalFlags } from "../../context.ts";
import { example } from "../../output/example.ts";
import { emit, table, type Cell, type Style } from "../../output/output.ts";
import { shortId, when } from "../../output/text.ts";
import { answerSubject, parentOf } from "../../sending/parent.ts";
import { requestNamed } from "../../sending/request.ts";
import { addWaitFlags, deliver, type SendFlags } from "../../sending/send-draft.ts";

interface ListFlags extends GlobalFlags {
  all?: boolean;
}

interface CancelFlags extends SendFlags {
  of?: string;
  reason?: string;
}

const STYLE_BY_STATUS: Record<RequestStatus, Style> = {
  pending: "yellow",
  approved: "green",
  rejected: "red",
  cancelled: "dim",
  expired: "dim",
  void: "dim",
};

/** `deaddrop requests`: what was asked for, of whom, and what became of it. Spec 3.8. */
export function command(cli: Cli): Command {
  return new Command("requests")
    .description(
      "Lists the requests with an answer that are pending, the oldest first. A request to several\n" +
        "agents is one for each of them.",
    )
    .option("--all", "also those that have ended")
    .addHelpText("after", example("deaddrop requests", "deaddrop requests cancel 4f2a91c0"))
    .action((flags: ListFlags) => run(cli, flags))
    .addCommand(cancelCommand(cli));
}

export async function run(cli: Cli, flags: ListFlags): Promise<void> {
  const all = await withClient(cli, flags, (client) => client.view("requests"));
  const requests = all.filter(
    ({ status, refused }) => flags.all === true || (status === "pending" && refused === null),
  );
  const nowMs = cli.clock.nowMs();
  emit(cli, flags, requests, (paint) =>
    requests.length === 0
      ? "No requests."
      : table(
          requests.map((each) => row(each, nowMs)),
          paint,
          cli.stdout.columns,
        ),
  );
}

function row(each: RequestView, nowMs: number): Cell[] {
  const { request_id, request_type, status, from, target, subject } = each;
  return [
    { text: shortId(request_id), style: "bold" },
    { text: request_type },
    { text: status, style: STYLE_BY_STATUS[status] },
    { text: `${from} → ${target}`, style: "cyan" },
    { text: standingOf(each, nowMs) },
    { text: subject },
  ];
}

function standingOf(each: RequestView, nowMs: number): string {
  const { status, waits_for, due_at, reason, refused } = each;
  if (refused !== null) return `refused here: ${refused}`;
  if (status === "pending") return `waits for ${waits_for ?? ""}, due ${when(due_at, nowMs)}`;
  return reason ?? "";
}

function cancelCommand(cli: Cli): Command {
  const cancel = new Command("cancel")
    .description("Takes a request of yours back, from everybody or from one agent.")
    .argument("<request>", "its request id, or its event id or a prefix of it")
    .option("--of <handle>", "only the request to this agent")
    .option("--reason <text>", "why");
  return addWaitFlags(cancel)
    .addHelpText("after", example("deaddrop requests cancel 4f2a91c0 --of scribe"))
    .action(async (name: string, _own: unknown, self: Command) => {
      const flags: CancelFlags = self.optsWithGlobals();
      await withClient(cli, flags, (client) => runCancel(cli, client, name, flags));
    });
}

async function runCancel(
  cli: Cli,
  client: Client,
  name: string,
  flags: CancelFlags,
): Promise<void> {
  const found = await requestNamed(client, name);
  const open = openOf(client, found, flags.of);
  const parent = await parentOf(client, open[0]?.event_id ?? name);
  const { of, reason } = flags;
  const draft = {
    to: open.map(({ target }) => target),
    type: "correction",
    subject: answerSubject("cancelled", parent),
    body: {
      corrects: parent.event_id,
      cancels: parent.event_id,
      ...(of === undefined ? {} : { of }),
      ...(reason === undefined ? {} : { reason }),
    },
    correlationId: parent.correlation_id,
  };
  await deliver(cli, flags, client, draft, parent);
}

/** Those that a cancellation may still end. Throws DeaddropError when there are none. */
function openOf(
  { handle }: Client,
  found: readonly RequestView[],
  of: string | undefined,
): readonly RequestView[] {
  if (found.some(({ from }) => from !== handle)) {
    throw new DeaddropError("refused", "that request is not yours: its asker takes it back", {
      hint: "`deaddrop respond <id> --reject` refuses it",
    });
  }
  const meant = found.filter(({ target }) => of === undefined || target === of);
  const open = meant.filter(({ status }) => status === "pending");
  if (open.length > 0) return open;
  const [first] = meant;
  const why =
    first === undefined ? `it was not sent to ${of}` : `it has ended: it was ${first.status}`;
  throw new DeaddropError("refused", `not sent: ${why}`, {
    hint: "`deaddrop requests --all` shows what became of each",
  });
}
