import { Command } from "commander";
import type { LayoutView } from "../../../protocol/logs/layout-change.ts";
import { DeaddropError } from "../../../api/errors.ts";
import type { Client } from "../../../api/client.ts";
import { sanitise } from "../../../framing/sanitise.ts";
import { moveDraft } from "../../../setup/wire/move-draft.ts";
import { moveProblems, takeOutboxLayout } from "../../../setup/wire/move-wire.ts";
import { agentPlace, reloadDaemon, type AgentPlace } from "../../agent-place.ts";
import { withClient, type Cli, type GlobalFlags } from "../../context.ts";
import { confirmOperator, type ConsentFlags } from "../../input/confirm.ts";
import { addConsent } from "../../input/consent-flags.ts";
import { example } from "../../output/example.ts";
import { emit, type Paint } from "../../output/output.ts";

type AcceptFlags = GlobalFlags & ConsentFlags;

/** `deaddrop layout`: moves a wire from logs of pairs to outboxes. Spec 3.11. */
export function command(cli: Cli): Command {
  const layout = new Command("layout")
    .description(
      "One log for each pair, or one outbox for each agent: which it is, and the move from the one to the\n" +
        "other. Nothing that was said is lost: the closed logs stay part of the wire.",
    )
    .addHelpText("after", example("deaddrop layout outbox"))
    .action((flags: GlobalFlags) => show(cli, flags));
  layout
    .command("show")
    .description("How far the move has come: who has agreed, and which logs are closed.")
    .action((_flags: GlobalFlags, self: Command) => show(cli, self.optsWithGlobals()));
  layout
    .command("outbox")
    .description("Proposes the move to every peer. Each pair of agents has to agree on it.")
    .action((_flags: GlobalFlags, self: Command) => propose(cli, self.optsWithGlobals()));
  addConsent(layout.command("accept"))
    .description(
      "Takes the new layout once all have agreed. An operator's command, for each agent by its own\n" +
        "operator: it wants a terminal, or --yes with --reason.",
    )
    .addHelpText("after", example('deaddrop layout accept --yes --reason "agreed by all"'))
    .action((_flags: AcceptFlags, self: Command) => accept(cli, self.optsWithGlobals()));
  return layout;
}

async function show(cli: Cli, flags: GlobalFlags): Promise<void> {
  const view = await withClient(cli, flags, (client) => client.view("layout"));
  emit(cli, flags, view, (paint) => viewText(view, paint));
}

function viewText({ layout, agreed, pairs, closed, unchained }: LayoutView, paint: Paint): string {
  if (layout === "outbox" && closed.length === 0) return "outbox: one log for each agent";
  if (layout === "outbox") {
    const rows = closed.map(({ log, by }) =>
      by === null ? `  ${log}  ${paint("yellow", "not closed yet")}` : `  ${log}  closed`,
    );
    return ["outbox, after one log for each pair:", ...rows].join("\n");
  }
  const rows = pairs.map(({ between, status, proposal_id: id }) => {
    const proposal = id === null ? "" : `  ${id.slice(0, 12)}`;
    return `  ${between.join(" and ")}: ${statusText(status)}${proposal}`;
  });
  const next = agreed
    ? `${paint("green", "all have agreed")}; each operator takes it: deaddrop layout accept`
    : "the move to outboxes begins with: deaddrop layout outbox";
  return ["pairwise: one log for each pair", ...rows, ...unchainedText(unchained), next].join("\n");
}

function statusText(status: LayoutView["pairs"][number]["status"]): string {
  if (status === "none") return "not proposed";
  return status === "void" ? "void, `deaddrop proposals` says why" : status;
}

function unchainedText(unchained: readonly string[]): string[] {
  if (unchained.length === 0) return [];
  return [`  ${unchained.join(", ")}: its logs are not chained, so the wire cannot move`];
}

async function propose(cli: Cli, flags: GlobalFlags): Promise<void> {
  const at = agentPlace(cli, flags);
  const { place, peers } = at;
  await withClient(cli, flags, async (client) => {
    const view = await client.view("layout");
    requirePairwise(view);
    await refuseMove(client, at, view);
    const asked = view.pairs.filter(({ between }) => between.includes(place.handle));
    const left = peers.filter((peer) =>
      asked.some(
        ({ between, status }) =>
          between.includes(peer) && status !== "open" && status !== "ratified",
      ),
    );
    if (left.length > 0) await client.ask("send", { drafts: left.map((peer) => moveDraft(peer)) });
    emit(cli, flags, { proposed_to: left }, () =>
      left.length === 0
        ? "It is proposed to every peer already; `deaddrop layout` shows who has agreed."
        : `proposed to ${left.join(", ")}; each agrees with \`deaddrop accept\``,
    );
  });
}

async function accept(cli: Cli, flags: AcceptFlags): Promise<void> {
  const at = agentPlace(cli, flags);
  const { host, place } = at;
  const view = await withClient(cli, flags, async (client) => {
    const shown = await client.view("layout");
    requirePairwise(shown);
    await refuseMove(client, at, shown);
    return shown;
  });
  refuseUnagreed(view);
  const action = {
    action: "layout accept",
    target: place.wire.folder,
    effect: [
      "Every pair has agreed to move to layout outbox.",
      `Your agent closes its logs of pairs and goes on in outbox/${place.handle}.jsonl.`,
      "All that was said stays: it is read, audited and archived as before.",
    ],
    word: "outbox",
  };
  await confirmOperator(cli, flags, action, place.paths.operatorJournal);
  const denied = takeOutboxLayout(host.disk, place);
  const isLive = await reloadDaemon(place.paths);
  emit(cli, flags, { accepted: true, not_written: denied }, (paint) =>
    [
      `${paint("green", "accepted")} layout outbox`,
      isLive
        ? "your daemon closes its logs now"
        : "your logs are closed when you send next, or when your daemon runs",
      ...denied.map((path) => `${sanitise(path)} is another user's: its owner changes it`),
    ].join("\n"),
  );
}

function requirePairwise({ layout }: LayoutView): void {
  if (layout === "pairwise") return;
  throw new DeaddropError("refused", "this wire has outboxes already", {
    hint: "`deaddrop layout` shows its closed logs",
  });
}

/** While a member cannot follow, the wire does not move: its past would be without an end. Spec 3.11. */
async function refuseMove(
  client: Client,
  { place }: AgentPlace,
  { unchained }: LayoutView,
): Promise<void> {
  const [problem] = moveProblems(place);
  if (problem !== undefined) throw new DeaddropError("refused", `not possible here: ${problem}`);
  const loose = place.layout.roster.filter(
    (handle) =>
      unchained.includes(handle) || place.store.peers.get(handle)?.allowUnchained === true,
  );
  if (loose.length > 0) {
    throw new DeaddropError("refused", `${loose.join(", ")} may write without a chain`, {
      hint: "a log ends with a chained line: have that agent write with a version that chains, and end `peer unchained`",
    });
  }
  const held = (await client.view("peers")).filter((peer) => peer.held);
  const [first] = held;
  if (first === undefined) return;
  throw new DeaddropError("refused", `${held.map(({ handle }) => handle).join(", ")}: held`, {
    hint: `decide about it first: deaddrop peer show ${first.handle}`,
  });
}

function refuseUnagreed({ agreed, pairs }: LayoutView): void {
  if (agreed) return;
  const open = pairs.filter(({ status }) => status !== "ratified");
  const names = open.map(
    ({ between, status }) => `${between.join(" and ")} (${statusText(status)})`,
  );
  throw new DeaddropError("refused", `not all have agreed: ${names.join(", ")}`, {
    hint: "propose it with `deaddrop layout outbox`; who is offline answers when its agent is there",
  });
}
