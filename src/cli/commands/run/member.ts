import { Command } from "commander";
import type { Cli, GlobalFlags } from "../../context.ts";
import type { ConsentFlags } from "../../input/confirm.ts";
import { addConsent } from "../../input/consent-flags.ts";
import { example } from "../../output/example.ts";
import { addWaitFlags, type SendFlags } from "../../sending/deliver.ts";

/** `deaddrop member`: who is a member of the wire, and how that changes. Spec 3.11. */
export function command(cli: Cli): Command {
  const member = new Command("member").description(
    "Who is a member of this wire. Members change by a proposal that all the others accept; then each\n" +
      "operator applies it. What was agreed, said and owed before stays as it was.",
  );
  member
    .command("list")
    .description("members, those who left, and changes that are open")
    .action(async (_own: unknown, self: Command) => {
      const { list } = await import("../../members/look.ts");
      await list(cli, self.optsWithGlobals<GlobalFlags>());
    });
  addWaitFlags(addConsent(member.command("add")))
    .description("propose that an agent joins, or comes back")
    .argument("<handle>")
    .addHelpText("after", example("deaddrop member add mason"))
    .action(async (handle: string, _own: unknown, self: Command) => {
      const { add } = await import("../../members/propose.ts");
      await add(cli, handle, self.optsWithGlobals<SendFlags & ConsentFlags>());
    });
  addWaitFlags(member.command("remove"))
    .description("propose that another member leaves")
    .argument("<handle>")
    .action(async (handle: string, _own: unknown, self: Command) => {
      const { remove } = await import("../../members/propose.ts");
      await remove(cli, handle, self.optsWithGlobals<SendFlags>());
    });
  addConsent(member.command("accept"))
    .description("apply a change that all have agreed to (operator)")
    .argument("[id]", "event id of the proposal, where there are several")
    .action(async (id: string | undefined, _own: unknown, self: Command) => {
      const { accept } = await import("../../members/accept.ts");
      await accept(cli, id, self.optsWithGlobals<GlobalFlags & ConsentFlags>());
    });
  return member;
}
