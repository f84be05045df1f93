import { Command } from "commander";
import type { Client } from "../../../api/client.ts";
import { DeaddropError } from "../../../api/errors.ts";
import type { ClaimView } from "../../../api/views.ts";
import { isOver } from "../../../protocol/claims/claims-view.ts";
import { quote } from "../../../wire/quote.ts";
import { MIN_ID_PREFIX, MAX_SUBJECT_CODE_POINTS } from "../../../wire/limits.ts";
import { withClient, type Cli } from "../../context.ts";
import { example } from "../../output/example.ts";
import { shortId } from "../../output/text.ts";
import { addWaitFlags, deliver, type SendFlags } from "../../sending/send-draft.ts";

/** `deaddrop release`: ends a claim of ours before its time. Spec 3.7. */
export function command(cli: Cli): Command {
  const release = new Command("release")
    .description("Ends a claim of yours: others may work on those paths again.")
    .argument("[id]", "event id of the claim, or a prefix of it (else your only claim)");
  return addWaitFlags(release)
    .addHelpText("after", example("deaddrop release", "deaddrop release 4f2a91"))
    .action((id: string | undefined, flags: SendFlags) => run(cli, id, flags));
}

export async function run(cli: Cli, id: string | undefined, flags: SendFlags): Promise<void> {
  await withClient(cli, flags, async (client) => {
    const claims = await claimsMeant(client, id);
    const [{ correlation_id, paths } = { correlation_id: "", paths: [] }] = claims;
    await deliver(cli, flags, client, {
      to: [...new Set(claims.flatMap(({ to }) => to))],
      type: "release",
      subject: Array.from(`release: ${paths.join(", ")}`)
        .slice(0, MAX_SUBJECT_CODE_POINTS)
        .join(""),
      body: { releases: claims.map(({ event_id }) => event_id) },
      correlationId: correlation_id,
    });
  });
}

/** All lines of one claim: in a wire of pairs each peer has its own. Throws DeaddropError. */
async function claimsMeant(client: Client, id: string | undefined): Promise<ClaimView[]> {
  const all = await client.view("claims");
  const ours = all.filter((each) => each.from === client.handle && !isOver(each));
  const named = id === undefined ? ours : ours.filter(({ event_id }) => isNamed(event_id, id));
  const threads = [...new Set(named.map(({ correlation_id }) => correlation_id))];
  if (threads.length === 1) return ours.filter((each) => each.correlation_id === threads[0]);
  if (threads.length === 0) {
    const what = id === undefined ? "you claim nothing" : `no claim of yours is named ${quote(id)}`;
    throw new DeaddropError("unknown_id", what, { hint: "deaddrop claims lists them" });
  }
  const listed = named.map(
    ({ event_id, paths }) => `${shortId(event_id)}: ${paths.map((path) => quote(path)).join(", ")}`,
  );
  throw new DeaddropError("ambiguous_id", ["which claim?", ...listed].join("\n"), {
    hint: "deaddrop release <id>",
  });
}

function isNamed(eventId: string, id: string): boolean {
  return id.length >= MIN_ID_PREFIX && eventId.startsWith(id.toLowerCase());
}
