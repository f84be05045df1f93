import { resolve } from "node:path";
import { Command } from "commander";
import type { ReclaimAnswer } from "../../../api/client.ts";
import { agentPlace } from "../../agent-place.ts";
import { confirmOperator, type ConsentFlags } from "../../input/confirm.ts";
import { addConsent } from "../../input/consent-flags.ts";
import { collect, withClient, type Cli, type GlobalFlags } from "../../context.ts";
import { example } from "../../output/example.ts";
import { emit } from "../../output/output.ts";

interface ReclaimFlags extends GlobalFlags, ConsentFlags {
  from?: string[];
}

/** `deaddrop reclaim`: the way back where nothing is signed. Spec 1.6. */
export function command(cli: Cli): Command {
  return addConsent(new Command("reclaim"))
    .description(
      "Signs again after a copy of your key was in use elsewhere (identity_in_use), or after restore: stop\n" +
        "the other copy first. With --from lines of yours that nothing here has are taken from copies of\n" +
        "your files, or from inboxes of peers. An operator's command: it wants a terminal, or --yes with\n" +
        "--reason.",
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
    const { stops } = await client.view("status");
    const stop = stops.find(({ end }) => end.startsWith("deaddrop reclaim"));
    const effect = effectOf(stop?.detail, from);
    if (effect !== undefined) {
      const action = { action: "reclaim", target: place.handle, effect, word: place.handle };
      await confirmOperator(cli, flags, action, place.paths.operatorJournal);
    }
    const answer =
      effect === undefined ? NOTHING : await client.ask("reclaim", from.length > 0 ? { from } : {});
    emit(cli, flags, { changed: effect !== undefined, ...answer }, (paint) => {
      if (effect === undefined) {
        return "your key is in use nowhere else; nothing to do (a chain that lacks lines: --from FILE)";
      }
      const { goes_on_after: last, given_up, kept_in } = answer;
      const lost = `${given_up.length} lines have lost their place; send them again: ${kept_in ?? ""}`;
      return [
        `${paint("green", "reclaimed")} ${place.handle}`,
        last === null ? "your chain begins anew" : `your chain goes on after line ${last[1] ?? ""}`,
        ...(given_up.length === 0 ? [] : [lost]),
      ].join("\n");
    });
  });
}

/** What the operator agrees to; undefined when there is nothing to do. */
function effectOf(stop: string | undefined, from: readonly string[]): string[] | undefined {
  if (from.length > 0) {
    return [
      ...(stop === undefined ? [] : [stop]),
      `Your lines are taken from ${from.join(", ")}: those that carry your signature and link to each other.`,
      "Your chain goes on after the last one, and what your carriers lack of them is published again.",
      "If you have written more since that copy was made, peers will see a fork: take the newest copy.",
    ];
  }
  if (stop === undefined) return undefined;
  return [
    stop,
    "Is your key used nowhere else? If another copy still writes, both of you will be stopped again.",
    "Your chain goes on after the last line in your carriers that carries your signature, no matter who wrote it.",
    "A peer that has seen two lines in one place holds you: its operator types deaddrop peer reset.",
  ];
}

const NOTHING: ReclaimAnswer = { goes_on_after: null, given_up: [], kept_in: null };
