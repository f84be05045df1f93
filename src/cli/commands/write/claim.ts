import { Command } from "commander";
import { DeaddropError } from "../../../api/errors.ts";
import type { ClaimForecast } from "../../../api/views.ts";
import { claimProblem, type ClaimMode } from "../../../protocol/claims/claim-line.ts";
import { DAY_MS, SECOND_MS } from "../../../wire/durations.ts";
import type { JsonObject } from "../../../wire/json/json-value.ts";
import { MAX_SUBJECT_CODE_POINTS } from "../../../wire/limits.ts";
import { quote } from "../../../wire/quote.ts";
import { collect, withClient, type Cli } from "../../context.ts";
import { timeSpan } from "../../input/time-span.ts";
import { example } from "../../output/example.ts";
import { shortId } from "../../output/text.ts";
import { recipients } from "../../sending/recipients.ts";
import { addWaitFlags, deliver, type SendFlags } from "../../sending/send-draft.ts";

interface Flags extends SendFlags {
  shared?: boolean;
  for?: string;
  reason?: string;
  anyway?: boolean;
}

/** `deaddrop claim`: says that you work on some paths, so that others leave them alone. Spec 3.7. */
export function command(cli: Cli): Command {
  const claim = new Command("claim")
    .description(
      "Claims paths for a while: `deaddrop check` and the git hooks of your peers go by it. Patterns\n" +
        "begin at the project's folder: ** is any folders, * and ? stay within a name. Where the paths\n" +
        "have an owner, the claim holds once the owner accepts it. `deaddrop release` ends it.",
    )
    .argument("<pattern...>", "what you work on, at most 32 patterns")
    .option("--shared", "others may claim the same, shared too")
    .option("--for <span>", "how long it lasts: 30m, 4h; at most 24h (else 1h)")
    .option("--reason <text>", "why")
    .option("--to <handle>", "whom it binds (repeatable; else everybody)", collect)
    .option("--anyway", "also when another claim holds there");
  return addWaitFlags(claim)
    .addHelpText("after", example('deaddrop claim "src/api/**" --for 2h --reason "new routes"'))
    .action((patterns: string[], flags: Flags) => run(cli, patterns, flags));
}

export async function run(cli: Cli, paths: readonly string[], flags: Flags): Promise<void> {
  const mode: ClaimMode = flags.shared === true ? "shared" : "exclusive";
  const body: JsonObject = {
    paths: [...paths],
    mode,
    ...lifetime(flags.for),
    ...(flags.reason === undefined ? {} : { reason: flags.reason }),
  };
  const problem = claimProblem(body);
  if (problem !== undefined) {
    throw new DeaddropError("usage", problem, {
      hint: 'give patterns that begin at the project\'s folder, such as "src/api/**"',
    });
  }
  await withClient(cli, flags, async (client) => {
    const forecast = await client.view("claim_forecast", { paths, mode });
    if (flags.anyway !== true) refuseOverlap(forecast);
    const draft = {
      to: await recipients(client, flags.to ?? ["*"]),
      type: "claim",
      subject: subjectOf(paths),
      body,
    };
    await deliver(cli, flags, client, draft, undefined, ownersNote(forecast));
  });
}

function lifetime(span: string | undefined): JsonObject {
  if (span === undefined) return {};
  const spanMs = timeSpan(span) ?? 0;
  if (spanMs > 0 && spanMs <= DAY_MS) return { ttl_seconds: spanMs / SECOND_MS };
  throw new DeaddropError("usage", `--for ${quote(span)} is no span of time up to a day`, {
    hint: "give how long the claim lasts: 30m, 4h; 24h at most",
  });
}

/** Spec 3.7: an agent that knows of a claim loses to it. */
function refuseOverlap({ against: [found] }: ClaimForecast): void {
  if (found === undefined) return;
  const { event_id, from, until, paths } = found;
  throw new DeaddropError(
    "refused",
    `not sent: ${from} claims ${paths.map((path) => quote(path)).join(", ")} until ${until} (${shortId(event_id)})`,
    {
      hint: `ask for its release: deaddrop send --to ${from} "…"; --anyway claims them too, and that claim loses`,
    },
  );
}

function ownersNote({ owners }: ClaimForecast): string | undefined {
  if (owners.length === 0) return undefined;
  const names = [...new Set(owners.map(({ owner }) => owner))].join(", ");
  return `Where the paths have an owner it holds once ${names} has accepted it.`;
}

function subjectOf(paths: readonly string[]): string {
  return Array.from(`claim: ${paths.join(", ")}`)
    .slice(0, MAX_SUBJECT_CODE_POINTS)
    .join("");
}
