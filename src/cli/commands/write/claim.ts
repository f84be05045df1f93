import { Command } from "commander";
import { prepareClaim } from "../../../sending/claim.ts";
import { collect, withClient, type Cli } from "../../context.ts";
import { example } from "../../output/example.ts";
import { addWaitFlags, deliver, type SendFlags } from "../../sending/deliver.ts";

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
  const { for: lasts, reason, to, anyway } = flags;
  const mode = flags.shared === true ? "shared" : "exclusive";
  const about = { paths, mode, lasts, reason, to, anyway } as const;
  await withClient(cli, flags, async (client) =>
    deliver(cli, flags, client, await prepareClaim(client, about)),
  );
}
