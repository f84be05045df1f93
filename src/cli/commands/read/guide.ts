import { Command } from "commander";
import { agentPlace } from "../../agent-place.ts";
import { DeaddropError } from "../../../api/errors.ts";
import { StorageError } from "../../../storage/disk/disk.ts";
import type { Cli, GlobalFlags } from "../../context.ts";
import { example } from "../../output/example.ts";
import { guideText, type GuideSubject } from "../../agents/guide-text.ts";
import { emit } from "../../output/output.ts";
import { sanitise } from "../../../framing/sanitise.ts";

/** `deaddrop guide`: what an agent has to know. It works without a wire, too. Spec 8.6. */
export function command(cli: Cli): Command {
  return new Command("guide")
    .description("All that an agent has to know to work with others here, on one page.")
    .addHelpText("after", example("deaddrop guide"))
    .action((flags: GlobalFlags) => run(cli, flags));
}

export async function run(cli: Cli, flags: GlobalFlags): Promise<void> {
  const guide = guideText(subjectHere(cli, flags));
  emit(cli, flags, { guide }, () => guide.trimEnd());
  return Promise.resolve();
}

function subjectHere(cli: Cli, flags: GlobalFlags): GuideSubject {
  try {
    const { place, peers } = agentPlace(cli, flags);
    return { handle: place.handle, peers, wireDir: sanitise(place.paths.wireDir) };
  } catch (error) {
    // No wire, or nobody on it: the rest of the guide holds all the same.
    if (!(error instanceof DeaddropError) && !(error instanceof StorageError)) throw error;
    return { handle: undefined, peers: [], wireDir: undefined };
  }
}
