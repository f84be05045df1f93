import { Command } from "commander";
import { agentPlace } from "../../agent-place.ts";
import { confirmOperator, type ConsentFlags } from "../../input/confirm.ts";
import { addConsent } from "../../input/consent-flags.ts";
import { withClient, type Cli, type GlobalFlags } from "../../context.ts";
import { example } from "../../output/example.ts";
import { emit } from "../../output/output.ts";

/** `deaddrop reclaim`: the way back after `identity_in_use`. Spec 1.6. */
export function command(cli: Cli): Command {
  return addConsent(new Command("reclaim"))
    .description(
      "Writes again after a copy of your key was in use elsewhere (identity_in_use). Stop the other\n" +
        "copy first. An operator's command: it wants a terminal, or --yes with --reason.",
    )
    .addHelpText("after", example('deaddrop reclaim --yes --reason "the laptop is switched off"'))
    .action((flags: GlobalFlags & ConsentFlags) => run(cli, flags));
}

async function run(cli: Cli, flags: GlobalFlags & ConsentFlags): Promise<void> {
  const { place } = agentPlace(cli, flags);
  await withClient(cli, flags, async (client) => {
    const { in_use } = await client.view("whoami");
    if (in_use !== null) {
      const action = {
        action: "reclaim",
        target: place.handle,
        effect: [
          in_use,
          "Is the other copy stopped? If it still writes, both of you will be stopped again.",
          "Your logs go on after the last line in them that carries your signature, no matter who wrote it.",
          "A peer that has seen two lines in one place holds you: its operator types deaddrop peer reset.",
        ],
        word: place.handle,
      };
      await confirmOperator(cli, flags, action, place.paths.operatorJournal);
    }
    const answer = in_use === null ? NOTHING : await client.ask("reclaim");
    emit(cli, flags, { changed: in_use !== null, ...answer }, (paint) => {
      if (in_use === null) return "your key is in use nowhere else; nothing to do";
      const logs = answer.logs.map(({ log, seq }) => `${log} goes on after line ${seq}`);
      const lost = `${answer.given_up.length} queued messages have lost their place; send them again: ${answer.kept_in ?? ""}`;
      return [
        `${paint("green", "reclaimed")} ${place.handle}`,
        ...logs,
        ...(answer.given_up.length === 0 ? [] : [lost]),
      ].join("\n");
    });
  });
}

const NOTHING = { logs: [], given_up: [], kept_in: null };
