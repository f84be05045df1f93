import { Command } from "commander";
import type { RequestStatus, RequestView } from "../../../api/views.ts";
import { withClient, type Cli, type GlobalFlags } from "../../context.ts";
import { example } from "../../output/example.ts";
import { emit, table, type Cell, type Style } from "../../output/output.ts";
import { shortId } from "../../../framing/short-id.ts";
import { when } from "../../../framing/when.ts";
import { prepareCancellation } from "../../../sending/request.ts";
import { addWaitFlags, deliver, type SendFlags } from "../../sending/deliver.ts";

interface ListFlags extends GlobalFlags {
  all?: boolean;
}

interface CancelFlags extends SendFlags {
  of?: string;
  reason?: string;
}

/** Requests that have ended which are listed without `--all`. */
const MAX_ENDED = 10;

const STYLE_BY_STATUS: Record<RequestStatus, Style> = {
  pending: "yellow",
  approved: "green",
  rejected: "red",
  cancelled: "dim",
  expired: "dim",
  disputed: "red",
  void: "dim",
};

/** `deaddrop requests`: what was asked for, of whom, and what became of it. Spec 3.8. */
export function command(cli: Cli): Command {
  return new Command("requests")
    .description(
      "Lists the requests with an answer that are pending, and what became of the last " +
        `${MAX_ENDED}\nthat have ended, the oldest first. A request to several agents is one for each of them.`,
    )
    .option("--all", "all that have ended, also those that this agent refused")
    .addHelpText("after", example("deaddrop requests", "deaddrop requests cancel 4f2a91c0"))
    .action((flags: ListFlags) => run(cli, flags))
    .addCommand(cancelCommand(cli));
}

export async function run(cli: Cli, flags: ListFlags): Promise<void> {
  const all = await withClient(cli, flags, (client) => client.view("requests"));
  const isPending = ({ status, refused }: RequestView): boolean =>
    status === "pending" && refused === null;
  const ended = all.filter((each) => each.status !== "pending").slice(-MAX_ENDED);
  const requests = all.filter(
    (each) => flags.all === true || isPending(each) || ended.includes(each),
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
      await withClient(cli, flags, async (client) =>
        deliver(cli, flags, client, await prepareCancellation(client, name, flags)),
      );
    });
}
