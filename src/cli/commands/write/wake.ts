import { Command } from "commander";
import { DeaddropError } from "../../../api/errors.ts";
import { localHandles, withClient, type Cli, type GlobalFlags } from "../../context.ts";
import { example } from "../../output/example.ts";
import { emit } from "../../output/output.ts";

/** `deaddrop wake`: an agent that has approved its shutdown goes on. Spec 3.8. */
export function command(cli: Cli): Command {
  return new Command("wake")
    .description(
      "Ends what the approval of a shutdown began: the daemon says again that the agent is there,\n" +
        "and new work is begun. What came meanwhile is in the inbox. It starts no agent.",
    )
    .argument("[handle]", "an identity of this user (else your own)")
    .addHelpText("after", example("deaddrop wake", "deaddrop wake scribe"))
    .action((handle: string | undefined, flags: GlobalFlags) => run(cli, handle, flags));
}

export async function run(cli: Cli, handle: string | undefined, flags: GlobalFlags): Promise<void> {
  if (handle !== undefined && !localHandles(cli.env).includes(handle)) {
    throw new DeaddropError("usage", `${handle} is no identity of this user`, {
      hint: `its operator wakes it, where it runs: deaddrop wake --as ${handle}`,
    });
  }
  const who = handle === undefined ? flags : { ...flags, as: handle };
  await withClient(cli, who, async (client) => {
    const answer = await client.ask("wake");
    emit(cli, flags, answer, () =>
      answer.woken
        ? `${client.handle} goes on; what came meanwhile: deaddrop inbox --unread`
        : `${client.handle} is not parked.`,
    );
  });
}
