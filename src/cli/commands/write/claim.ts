import { Command } from "commander";
import type { Client } from "../../../api/client.ts";
import { DeaddropError } from "../../../api/errors.ts";
import type { ClaimView } from "../../../api/views.ts";
import { claimProblem, type ClaimMode } from "../../../protocol/claims/claim-line.ts";
import { patternsOverlap } from "../../../protocol/decisions/path-match.ts";
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
    if (flags.anyway !== true) await refuseOverlap(client, paths, mode);
    const draft = {
      to: await recipients(client, flags.to ?? ["*"]),
      type: "claim",
      subject: subjectOf(paths),
      body,
    };
    await deliver(cli, flags, client, draft, undefined, await ownersNote(client, paths));
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

/** Spec 3.7: one that knows of a claim which overlaps it loses. */
async function refuseOverlap(
  client: Client,
  paths: readonly string[],
  mode: ClaimMode,
): Promise<void> {
  const claims = await client.view("claims");
  const found = claims.find(
    (each) =>
      each.from !== client.handle &&
      ["held", "contested"].includes(each.status) &&
      (mode === "exclusive" || each.mode === "exclusive") &&
      overlap(each, paths),
  );
  if (found === undefined) return;
  const { event_id, from, until } = found;
  throw new DeaddropError(
    "refused",
    `not sent: ${from} claims ${found.paths.map((path) => quote(path)).join(", ")} until ${until} (${shortId(event_id)})`,
    {
      hint: `ask for its release: deaddrop send --to ${from} "…"; --anyway claims them too, and that claim loses`,
    },
  );
}

function overlap(claim: ClaimView, paths: readonly string[]): boolean {
  return claim.paths.some((one) => paths.some((other) => patternsOverlap(one, other)));
}

/** Whose word is needed, by the domains of the paths themselves. */
async function ownersNote(client: Client, paths: readonly string[]): Promise<string | undefined> {
  const { paths: checked } = await client.view("check", { paths });
  const owners = checked.flatMap(({ blocked_by }) =>
    blocked_by.flatMap((each) => (each.kind === "domain" ? [each.owner] : [])),
  );
  if (owners.length === 0) return undefined;
  return `It holds there once ${[...new Set(owners)].join(", ")} has accepted it.`;
}

function subjectOf(paths: readonly string[]): string {
  return Array.from(`claim: ${paths.join(", ")}`)
    .slice(0, MAX_SUBJECT_CODE_POINTS)
    .join("");
}
