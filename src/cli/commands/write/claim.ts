import { Command } from "commander";
import { prepareClaim } from "../../../sending/claim.ts";
import { withNote } from "../../../sending/prepared.ts";
import { collect, withClient, type Cli } from "../../context.ts";
import { example } from "../../output/example.ts";
import { pathsGiven } from "../../sending/named-paths.ts";
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
      "Claims paths for a while: `deaddrop check` and the git hooks of your peers go by it. Paths\n" +
        "begin at the project's folder, and a folder stands for everything in it. ** matches any folders,\n" +
        "* and ? match within a name. Where the paths have an owner, the claim holds once the owner\n" +
        "accepts it. `deaddrop release` ends it.",
    )
    .argument("<pattern...>", "the files and folders that you work on, at most 32")
    .option("--shared", "others may claim the same, shared too")
    .option("--for <span>", "how long it lasts: 30m, 4h; at most 24h (else 1h)")
    .option("--reason <text>", "why")
    .option("--to <handle>", "whom it binds (repeatable; else everybody)", collect)
    .option("--anyway", "also when another claim holds there");
  return addWaitFlags(claim)
    .addHelpText(
      "after",
      example('deaddrop claim src/api "docs/*.md" --for 2h --reason "new routes"'),
    )
    .action((patterns: string[], flags: Flags) => run(cli, patterns, flags));
}

export async function run(cli: Cli, given: readonly string[], flags: Flags): Promise<void> {
  const { for: lasts, reason, to, anyway } = flags;
  const mode = flags.shared === true ? "shared" : "exclusive";
  const { paths, note } = pathsGiven(cli, flags, given);
  const about = { paths, mode, lasts, reason, to, anyway } as const;
  await withClient(cli, flags, async (client) =>
    deliver(cli, flags, client, withNote(await prepareClaim(client, about), note)),
  );
}
