import type { RequestView } from "../../api/views.ts";
import { shortId } from "../../framing/short-id.ts";
import { when } from "../../framing/when.ts";
import { cancelRequest } from "../../verbs/request.ts";
import { define } from "../command.ts";
import { withClient } from "../context.ts";
import { emitTable, type Cell } from "../output/output.ts";
import { statusCell } from "../output/text.ts";
import { verbCommand } from "../sending/verb-command.ts";

/** Requests that have ended which are listed without `--all`. */
const MAX_ENDED = 10;

/** What was asked for, of whom, and what became of it. Spec 3.8. */
export const requests = define({
  about:
    "Lists the requests with an answer that are pending, and what became of the last " +
    `${MAX_ENDED} ` +
    "that have ended, the oldest first. A request to several agents is one for each of them.",
  options: { "--all": "all that have ended, also those that this agent refused" },
  examples: ["deaddrop requests", "deaddrop requests cancel 4f2a91c0"],
  async run(cli, flags) {
    const all = await withClient(cli, flags, (client) => client.view("requests"));
    const isPending = ({ status, refused }: RequestView): boolean =>
      status === "pending" && refused === null;
    const ended = all.filter((each) => each.status !== "pending").slice(-MAX_ENDED);
    const requests = all.filter(
      (each) => flags.all === true || isPending(each) || ended.includes(each),
    );
    const nowMs = cli.clock.nowMs();
    emitTable(cli, flags, requests, (each) => requestRow(each, nowMs), "No requests.");
  },
  commands: {
    cancel: verbCommand(cancelRequest),
  },
});

function requestRow(each: RequestView, nowMs: number): Cell[] {
  const { request_id, request_type, status, from, target, subject } = each;
  return [
    { text: shortId(request_id), style: "bold" },
    request_type,
    statusCell(status),
    { text: `${from} → ${target}`, style: "cyan" },
    standingOf(each, nowMs),
    subject,
  ];
}

function standingOf(each: RequestView, nowMs: number): string {
  const { status, waits_for, due_at, reason, refused } = each;
  if (refused !== null) return `refused here: ${refused}`;
  if (status === "pending") return `waits for ${waits_for ?? ""}, due ${when(due_at, nowMs)}`;
  return reason ?? "";
}
