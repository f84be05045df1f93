import { DeaddropError } from "../../api/errors.ts";
import type { RequestStatus, RequestView } from "../../api/views.ts";
import { shortId } from "../../framing/short-id.ts";
import { when } from "../../framing/when.ts";
import { prepareCancellation, prepareRequest } from "../../sending/request.ts";
import { define } from "../command.ts";
import { withClient, type Cli } from "../context.ts";
import { BODY_OPTIONS, readBody, readTextFile } from "../input/body-input.ts";
import { emitTable, type Cell, type Style } from "../output/output.ts";
import { deliver, DELIVERY_OPTIONS, extrasOf, WAIT_OPTIONS } from "../sending/deliver.ts";

/** Asks for a yes or a no that is tracked until it comes. Spec 3.8. */
export const request = define({
  about:
    "Asks agents to approve or reject something. Each of them answers for itself with " +
    "`deaddrop respond`; `deaddrop requests` shows what became of it.\n\n" +
    "  shutdown       asks an agent to finish; when it approves, its daemon parks\n" +
    "  plan_approval  submits a plan: do not begin before it is approved\n" +
    "  any other      a name of your own",
  args: {
    "<type>": "shutdown, plan_approval, or a name of your own",
    "[peer...]": "whom to ask (in a pair the peer)",
  },
  options: {
    "--subject <text>": "what it is about",
    "--plan <text>": "the plan to be approved",
    "--plan-file <file>": "the same, from a file",
    "--due <when>": "until when to answer: 30m, 4h, 2d or a time (else 24 hours)",
    "--state <line>": "the line of state that a long request opens with",
    ...DELIVERY_OPTIONS,
    ...BODY_OPTIONS,
  },
  examples: [
    'deaddrop request shutdown scribe --body "The release is out."',
    'deaddrop request plan_approval lead --plan "1. measure 2. cut over" --wait answered',
  ],
  async run(cli, flags, { type, peer: peers }) {
    const { subject, due, state } = flags;
    const to = peers.length === 0 ? undefined : peers;
    const body = await readBody(cli, flags, undefined);
    const plan = planOf(cli, flags);
    const about = { type, to, body, subject, plan, due, state, extras: extrasOf(flags) };
    await deliver(cli, flags, (client) => prepareRequest(client, about, cli.clock.nowMs()));
  },
});

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
    cancel: define({
      about: "Takes a request of yours back, from everybody or from one agent.",
      args: { "<request>": "its request id, or its event id or a prefix of it" },
      options: {
        "--of <handle>": "only the request to this agent",
        "--reason <text>": "why",
        ...WAIT_OPTIONS,
      },
      examples: ["deaddrop requests cancel 4f2a91c0 --of scribe"],
      run: (cli, flags, { request: name }) =>
        deliver(cli, flags, (client) => prepareCancellation(client, name, flags)),
    }),
  },
});

function planOf(
  cli: Cli,
  { plan, planFile }: { readonly plan?: string; readonly planFile?: string },
): string | undefined {
  if (plan !== undefined && planFile !== undefined) {
    throw new DeaddropError("usage", "the plan is given twice", {
      hint: "with --plan or with --plan-file: one of them",
    });
  }
  return planFile === undefined ? plan : readTextFile(cli, "--plan-file", planFile);
}

const STYLE_BY_STATUS: Record<RequestStatus, Style> = {
  pending: "yellow",
  approved: "green",
  rejected: "red",
  cancelled: "dim",
  expired: "dim",
  disputed: "red",
  void: "dim",
};

function requestRow(each: RequestView, nowMs: number): Cell[] {
  const { request_id, request_type, status, from, target, subject } = each;
  return [
    { text: shortId(request_id), style: "bold" },
    request_type,
    { text: status, style: STYLE_BY_STATUS[status] },
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
