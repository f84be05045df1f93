import { Command } from "commander";
import type { Cli, GlobalFlags } from "../../context.ts";
import type { AddFlags } from "../../members/propose.ts";
import { example } from "../../output/example.ts";

/** `deaddrop member`: who is a member of the wire, and how that changes. Spec 3.11. */
export function command(cli: Cli): Command {
  const member = new Command("member").description(
    "Who is a member of this wire. Members change by a proposal that all who chain accept; it holds for\n" +
      "everybody from then on. What was agreed before stays as it was.",
  );
  member
    .command("list")
    .description("members, those who left, and changes that are open")
    .action(async (_own: unknown, self: Command) => {
      const { list } = await import("../../members/look.ts");
      await list(cli, self.optsWithGlobals<GlobalFlags>());
    });
  member
    .command("add")
    .description("propose that an agent joins, or comes back")
    .argument("<handle>")
    .option("--unchained", "it writes by hand, or with the Python reference: nobody asks it")
    .addHelpText("after", example("deaddrop member add mason"))
    .action(async (handle: string, _own: unknown, self: Command) => {
      const { add } = await import("../../members/propose.ts");
      await add(cli, handle, self.optsWithGlobals<AddFlags>());
    });
  member
    .command("remove")
    .description("propose that another member leaves")
    .argument("<handle>")
    .action(async (handle: string, _own: unknown, self: Command) => {
      const { remove } = await import("../../members/propose.ts");
      await remove(cli, handle, self.optsWithGlobals<GlobalFlags>());
    });
  member
    .command("chains")
    .description("propose that a member that did not chain is asked like all others")
    .argument("<handle>")
    .action(async (handle: string, _own: unknown, self: Command) => {
      const { mark } = await import("../../members/propose.ts");
      await mark(cli, handle, self.optsWithGlobals<GlobalFlags>());
    });
  return member;
}
