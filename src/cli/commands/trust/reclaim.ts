import { resolve } from "node:path";
import { Command } from "commander";
import { agentPlace } from "../../agent-place.ts";
import { confirmOperator, type ConsentFlags } from "../../input/confirm.ts";
import { addConsent } from "../../input/consent-flags.ts";
import { collect, withClient, type Cli, type GlobalFlags } from "../../context.ts";
import { example } from "../../output/example.ts";
import { emit } from "../../output/output.ts";

interface ReclaimFlags extends GlobalFlags, ConsentFlags {
  from?: string[];
}

/** `deaddrop reclaim`: the way back after `identity_in_use` and `log_damaged`. Spec 1.6. */
export function command(cli: Cli): Command {
  return addConsent(new Command("reclaim"))
    .description(
      "Writes again after a copy of your key was in use elsewhere (identity_in_use): stop the other\n" +
        "copy first. With --from, after your log has lost lines that nothing here has (log_damaged):\n" +
        "takes them from copies of the log, or from inboxes of peers. An operator's command: it wants\n" +
        "a terminal, or --yes with --reason.",
    )
    .option("--from <file>", "a file that holds your lines; repeat it for others", collect)
    .addHelpText(
      "after",
      example(
        'deaddrop reclaim --yes --reason "the laptop is switched off"',
        'deaddrop reclaim --from ~/copy/forge_to_scribe.jsonl --yes --reason "the wire was restored"',
      ),
    )
    .action((flags: ReclaimFlags) => run(cli, flags));
}

async function run(cli: Cli, flags: ReclaimFlags): Promise<void> {
  const { place } = agentPlace(cli, flags);
  const from = (flags.from ?? []).map((file) => resolve(cli.cwd, file));
  await withClient(cli, flags, async (client) => {
    const { in_use } = await client.view("whoami");
    const effect = effectOf(in_use, from);
    if (effect !== undefined) {
      const action = { action: "reclaim", target: place.handle, effect, word: place.handle };
      await confirmOperator(cli, flags, action, place.paths.operatorJournal);
    }
    const answer =
      effect === undefined ? NOTHING : await client.ask("reclaim", from.length > 0 ? { from } : {});
    emit(cli, flags, { changed: effect !== undefined, ...answer }, (paint) => {
      if (effect === undefined) {
        return "your key is in use nowhere else; nothing to do (a log that lacks lines: --from FILE)";
      }
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

/** What the operator agrees to; undefined when there is nothing to do. */
function effectOf(inUse: string | null, from: readonly string[]): string[] | undefined {
  if (from.length > 0) {
    return [
      `Your lines are taken from ${from.join(", ")}: those that carry your signature and link to each other.`,
      "What your log lacks of them is appended again as it was, and it goes on after the last one.",
      "If you have written more since that copy was made, peers will hold you for a fork: take the newest copy.",
    ];
  }
  if (inUse === null) return undefined;
  return [
    inUse,
    "Is the other copy stopped? If it still writes, both of you will be stopped again.",
    "Your logs go on after the last line in them that carries your signature, no matter who wrote it.",
    "A peer that has seen two lines in one place holds you: its operator types deaddrop peer reset.",
  ];
}

const NOTHING = { logs: [], given_up: [], kept_in: null };
