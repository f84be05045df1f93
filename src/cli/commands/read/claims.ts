import { Command } from "commander";
import type { ClaimStatus, ClaimView } from "../../../api/views.ts";
import { isOver } from "../../../protocol/claims/claim-shapes.ts";
import { withClient, type Cli, type GlobalFlags } from "../../context.ts";
import { example } from "../../output/example.ts";
import { emit, table, type Cell, type Style } from "../../output/output.ts";
import { shortId } from "../../../framing/short-id.ts";
import { when } from "../../../framing/when.ts";

interface Flags extends GlobalFlags {
  all?: boolean;
}

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

/** `deaddrop claims`: who works on what, as far as signed lines say. Spec 3.7. */
export function command(cli: Cli): Command {
  return new Command("claims")
    .description("Lists who claims which paths, and what each claim is worth.")
    .option("--all", "also those that are over")
    .addHelpText("after", example("deaddrop claims"))
    .action((flags: Flags) => run(cli, flags));
}

export async function run(cli: Cli, flags: Flags): Promise<void> {
  const all = await withClient(cli, flags, (client) => client.view("claims"));
  const claims = all.filter((each) => flags.all === true || !isOver(each));
  const nowMs = cli.clock.nowMs();
  emit(cli, flags, claims, (paint) =>
    claims.length === 0
      ? `No ${flags.all === true ? "" : "open "}claims.`
      : table(
          claims.map((each) => row(each, nowMs)),
          paint,
          cli.stdout.columns,
        ),
  );
}

function row(each: ClaimView, nowMs: number): Cell[] {
  const { event_id, status, from, to, mode, until, paths } = each;
  return [
    { text: shortId(event_id), style: "bold" },
    { text: status, style: STYLE_BY_STATUS[status] },
    { text: `${from} → ${to.join(", ")}`, style: "cyan" },
    { text: mode },
    { text: isOver(each) ? "" : `ends ${when(until, nowMs)}` },
    { text: [paths.join(", "), detailOf(each)].filter((text) => text !== "").join("; ") },
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
