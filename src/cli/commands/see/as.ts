import { Command } from "commander";
import { DeaddropError } from "../../../api/errors.ts";
import { nodeDisk } from "../../../storage/disk/node-disk.ts";
import { claimFolder } from "../../../setup/here/bind-folder.ts";
import { unbindFolder } from "../../../storage/private/bound-folders.ts";
import { placesOf, whoHere, localHandles, type Cli, type GlobalFlags } from "../../context.ts";
import { example } from "../../output/example.ts";
import { emit } from "../../output/output.ts";
import { sanitise } from "../../../framing/sanitise.ts";

interface Flags extends GlobalFlags {
  replace?: boolean;
  forget?: boolean;
}

/** `deaddrop as`: which identity the commands of this folder use. Spec 8.6. */
export function command(cli: Cli): Command {
  return new Command("as")
    .description(
      "Says who you are in this folder, and why. With a handle: from now on commands in this folder,\n" +
        "and in those below it, are of that identity, unless --as or DEADDROP_AS says otherwise.",
    )
    .argument("[handle]", "an identity of yours")
    .option("--replace", "also when the folder is bound to another identity")
    .option("--forget", "bind this folder to nobody")
    .addHelpText("after", example("deaddrop as forge", "deaddrop as"))
    .action((handle: string | undefined, flags: Flags) => run(cli, handle, flags));
}

export async function run(cli: Cli, handle: string | undefined, flags: Flags): Promise<void> {
  const disk = nodeDisk();
  const places = placesOf(cli.env);
  const folder = disk.realPath(cli.cwd);
  if (flags.forget === true) {
    unbindFolder(disk, places, folder);
    emit(cli, flags, { folder, handle: null }, () => `${sanitise(folder)} is bound to nobody.`);
    return Promise.resolve();
  }
  if (handle !== undefined) {
    refuseStranger(cli, handle);
    claimFolder(disk, places, { folder, handle }, { replaces: flags.replace === true });
  }
  const who = whoHere(cli, flags);
  emit(cli, flags, who, () => {
    const wanted = handle !== undefined && who.handle !== handle;
    const but = wanted ? `, and not ${handle}: that comes first` : "";
    return `You are ${who.handle} in ${sanitise(folder)}, by ${sanitise(who.by)}${but}.`;
  });
  return Promise.resolve();
}

function refuseStranger(cli: Cli, handle: string): void {
  const handles = localHandles(cli.env);
  if (handles.includes(handle)) return;
  throw new DeaddropError("usage", `you have no identity "${handle}" on this machine`, {
    hint:
      handles.length === 0
        ? "make one with `deaddrop init` or `deaddrop join`"
        : `yours are ${handles.join(", ")}`,
  });
}
