import { dirname } from "node:path";
import type { SetupHost } from "../../setup/host.ts";
import { closedPassages, groupOfFolder, ownGroupId } from "../../setup/wire/unix-groups.ts";
import { askYesNo } from "./confirm.ts";
import type { Cli } from "../context.ts";
import { sanitise } from "../../framing/sanitise.ts";

interface Flags {
  readonly group?: string;
  readonly localPair?: boolean;
  readonly dryRun?: boolean;
}

/**
 * The group that a new wire is shared with. In a folder of a group that others belong to, the operator
 * is asked, or told how to share it. Spec 1.1 (two users on one host).
 */
export async function groupFor(
  cli: Cli,
  flags: Flags,
  host: SetupHost,
  wireDir: string,
): Promise<string | undefined> {
  const group = flags.group ?? (await groupOfParent(cli, flags, host, wireDir));
  if (group === undefined) return undefined;
  for (const { folder, open } of closedPassages(host.disk, wireDir, ownGroupId(group))) {
    note(
      cli,
      `members of ${group} cannot pass through ${folder}, so they cannot join: chmod ${open} ${folder}, or make the wire elsewhere`,
    );
  }
  return group;
}

async function groupOfParent(
  cli: Cli,
  { localPair, dryRun }: Flags,
  { disk }: SetupHost,
  wireDir: string,
): Promise<string | undefined> {
  if (localPair === true || disk.stat(wireDir) !== undefined) return undefined;
  let parent = dirname(wireDir);
  while (disk.stat(parent) === undefined && parent !== dirname(parent)) parent = dirname(parent);
  const found = groupOfFolder(disk, parent);
  if (found === undefined) return undefined;
  const { name, others } = found;
  const who = `${parent} belongs to group ${name}, and so do ${others.join(", ")}.`;
  const question = `${who} Share the wire with them, each with logs of its own?`;
  const answer = dryRun === true ? undefined : await askYesNo(cli, question);
  if (answer === true) return name;
  if (answer === undefined) {
    note(
      cli,
      `${who} This wire is for agents of your own user; share one with other users by --group ${name}`,
    );
  }
  return undefined;
}

function note(cli: Cli, text: string): void {
  cli.stderr.write(`note: ${sanitise(text)}\n`);
}
