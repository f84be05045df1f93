import type { ClaimStatus, ClaimView } from "../../api/views.ts";
import { shortId } from "../../framing/short-id.ts";
import { when } from "../../framing/when.ts";
import { isOver } from "../../protocol/claims/claim-shapes.ts";
import { prepareClaim, prepareRelease } from "../../sending/claim.ts";
import { withNote } from "../../sending/prepared.ts";
import { define, repeatable } from "../command.ts";
import { withClient } from "../context.ts";
import { emitTable, type Cell, type Style } from "../output/output.ts";
import { deliver, pathsGiven, WAIT_OPTIONS } from "../sending/deliver.ts";

/** Says that you work on some paths, so that others leave them alone. Spec 3.7. */
export const claim = define({
  about:
    "Claims paths for a while: `deaddrop check` and the git hooks of your peers go by it. Paths " +
    "begin at the project's folder, and a folder stands for everything in it. ** matches any folders, " +
    "* and ? match within a name. Where the paths have an owner, the claim holds once the owner " +
    "accepts it. `deaddrop release` ends it.",
  args: { "<pattern...>": "the files and folders that you work on, at most 32" },
  options: {
    "--shared": "others may claim the same, shared too",
    "--for <span>": "how long it lasts: 30m, 4h; at most 24h (else 1h)",
    "--reason <text>": "why",
    "--to <handle>": repeatable("whom it binds (repeatable; else everybody)"),
    "--anyway": "also when another claim holds there",
    ...WAIT_OPTIONS,
  },
  examples: ['deaddrop claim src/api "docs/*.md" --for 2h --reason "new routes"'],
  async run(cli, flags, { pattern: patterns }) {
    const { for: lasts, reason, to, anyway } = flags;
    const mode = flags.shared === true ? "shared" : "exclusive";
    const { paths, note } = pathsGiven(cli, flags, patterns);
    const about = { paths, mode, lasts, reason, to, anyway } as const;
    await deliver(cli, flags, async (client) => withNote(await prepareClaim(client, about), note));
  },
});

/** Ends a claim of ours before its time. Spec 3.7. */
export const release = define({
  about: "Ends a claim of yours: others may work on those paths again.",
  args: { "[claim]": "its id, a prefix of that, or a path of it (else your only claim)" },
  options: WAIT_OPTIONS,
  examples: ["deaddrop release", "deaddrop release src/api"],
  run: (cli, flags, { claim: named }) =>
    deliver(cli, flags, (client) => prepareRelease(client, named)),
});

/** Who works on what, as far as signed lines say. Spec 3.7. */
export const claims = define({
  about: "Lists who claims which paths, and what each claim is worth.",
  options: { "--all": "also those that are over" },
  examples: ["deaddrop claims"],
  async run(cli, flags) {
    const all = await withClient(cli, flags, (client) => client.view("claims"));
    const claims = all.filter((each) => flags.all === true || !isOver(each));
    const nowMs = cli.clock.nowMs();
    const none = `No ${flags.all === true ? "" : "open "}claims.`;
    emitTable(cli, flags, claims, (each) => claimRow(each, nowMs), none);
  },
});

const STYLE_BY_STATUS: Record<ClaimStatus, Style> = {
  held: "green",
  waiting: "yellow",
  contested: "red",
  lost: "red",
  denied: "red",
  released: "dim",
  expired: "dim",
  void: "dim",
};

function claimRow(each: ClaimView, nowMs: number): Cell[] {
  const { event_id, status, from, to, mode, until, paths } = each;
  return [
    { text: shortId(event_id), style: "bold" },
    { text: status, style: STYLE_BY_STATUS[status] },
    { text: `${from} → ${to.join(", ")}`, style: "cyan" },
    mode,
    isOver(each) ? "" : `ends ${when(until, nowMs)}`,
    [paths.join(", "), detailOf(each)].filter((text) => text !== "").join("; "),
  ];
}

function detailOf({ status, against, owners, reason }: ClaimView): string {
  const others = against.map(({ from, event_id }) => `${from} ${shortId(event_id)}`).join(", ");
  if (status === "lost") return `lost to ${others}`;
  if (status === "contested") return `contested with ${others}`;
  const said = owners.filter(({ says }) => says === status);
  const names = said.map(({ owner, domain }) => `${owner} (${domain})`).join(", ");
  if (status === "waiting") return `waits for ${names}`;
  if (status === "denied") return `denied by ${names}`;
  return reason ?? "";
}
