import { Argument, Command } from "commander";
import type { ConsentFlags } from "../../input/confirm.ts";
import { addConsent } from "../../input/consent-flags.ts";
import type { Cli, GlobalFlags } from "../../context.ts";
import { example } from "../../output/example.ts";
import type { ResetFlags } from "../../peer/reset.ts";
import type { Unchained } from "../../peer/unchained.ts";

/** `deaddrop peer`: what of a peer is held back, and the operator's decision about it. Spec 1.6. */
export function command(cli: Cli): Command {
  const peer = new Command("peer").description(
    "What of a peer is held back and why, and how its lines are taken again.\n" +
      "All but show need a terminal and a typed confirmation, or --yes --reason.",
  );
  peer
    .command("show")
    .description("what of a peer is held, why, since when, and where the evidence is")
    .argument("<peer>", "whom")
    .addHelpText("after", example("deaddrop peer show scribe"))
    .action(async (handle: string, _flags: unknown, show: Command) => {
      const { run } = await import("../../peer/show.ts");
      await run(cli, handle, show.optsWithGlobals<GlobalFlags>());
    });
  addConsent(peer.command("reset"))
    .description("take a peer's lines again after a hold")
    .argument("<peer>", "whose")
    .option(
      "--follow <line>",
      "of a fork the branch of this line, by its event id (default: the one that was taken in first)",
    )
    .addHelpText("after", example('deaddrop peer reset scribe --yes --reason "put back by phone"'))
    .action(async (handle: string, _flags: unknown, reset: Command) => {
      const { run } = await import("../../peer/reset.ts");
      await run(cli, handle, reset.optsWithGlobals<ResetFlags>());
    });
  addConsent(peer.command("unchained"))
    .description("take lines of a peer that are outside its chain, or refuse them")
    .argument("<peer>", "whose")
    .addArgument(new Argument("<word>", "what to do with them").choices(["allow", "refuse"]))
    .addHelpText("after", example("deaddrop peer unchained scribe allow"))
    .action(async (handle: string, word: Unchained, _flags: unknown, own: Command) => {
      const { run } = await import("../../peer/unchained.ts");
      await run(cli, handle, word, own.optsWithGlobals<GlobalFlags & ConsentFlags>());
    });
  return peer;
}
