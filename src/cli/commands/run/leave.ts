import { Command } from "commander";
import type { Cli, GlobalFlags } from "../../context.ts";
import type { ConsentFlags } from "../../input/confirm.ts";
import { addConsent } from "../../input/consent-flags.ts";
import { example } from "../../output/example.ts";

/** `deaddrop leave`: this agent leaves the wire. Spec 3.11. */
export function command(cli: Cli): Command {
  return addConsent(new Command("leave"))
    .description(
      "Takes this agent out of the wire: it says so, nobody asks it anything more, and its service ends.\n" +
        "What was agreed with it stays; keys and logs stay, too. A member can let it come back.",
    )
    .addHelpText("after", example("deaddrop leave --as mason"))
    .action(async (flags: GlobalFlags & ConsentFlags) => {
      const { leave } = await import("../../members/leave.ts");
      await leave(cli, flags);
    });
}
