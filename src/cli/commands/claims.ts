import type { ClaimView } from "../../api/views.ts";
import { shortId } from "../../framing/short-id.ts";
import { when } from "../../framing/when.ts";
import { isOver } from "../../protocol/claims/claim-shapes.ts";
import { define } from "../command.ts";
import { withClient } from "../context.ts";
import { emitTable, type Cell } from "../output/output.ts";
import { statusCell } from "../output/text.ts";

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

function claimRow(each: ClaimView, nowMs: number): Cell[] {
  const { event_id, status, from, to, mode, until, paths } = each;
  return [
    { text: shortId(event_id), style: "bold" },
    statusCell(status),
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
