import { resolve } from "node:path";
import { Command } from "commander";
import { DeaddropError } from "../../../api/errors.ts";
import { setupHost, type SetupHost } from "../../../setup/host.ts";
import type { RestorePlan } from "../../../setup/backup/restore-plan.ts";
import { checkRestore, isGoingOn, restore, shownReasons } from "../../../setup/backup/restore.ts";
import { unseal } from "../../../setup/backup/sealed-file.ts";
import {
  MAX_DOCUMENT_BYTES,
  parseBackup,
  type Backup,
} from "../../../storage/private/backup-file.ts";
import { readWhole } from "../../../storage/disk/disk.ts";
import { confirmOperator, type ConsentFlags } from "../../input/confirm.ts";
import { addConsent } from "../../input/consent-flags.ts";
import { requireWireHere, type Cli, type GlobalFlags } from "../../context.ts";
import { example } from "../../output/example.ts";
import { emit } from "../../output/output.ts";
import { addPassphrase, readPassphrase, type PassphraseFlags } from "../../input/passphrase.ts";
import { sanitise, sanitiseLines } from "../../../framing/sanitise.ts";
import { newMachine, sharedThrough, switchCommand } from "../../../setup/backup/new-machine.ts";

interface RestoreFlags extends GlobalFlags, ConsentFlags, PassphraseFlags {
  acceptOlder?: boolean;
  replaceKey?: boolean;
}

/** The encryption adds a header and a tag for every 64 KiB. */
const MAX_SEALED_BYTES = MAX_DOCUMENT_BYTES + 1024 * 1024;

/** `deaddrop restore`: puts a backup back, on the same or a new machine. Spec 2.1, 8.6. */
export function command(cli: Cli): Command {
  return addConsent(addPassphrase(new Command("restore")))
    .description(
      "Puts back what `deaddrop backup` wrote: keys, pins, settings and remembered heads of one agent\n" +
        "on one wire. Everything is checked before anything is written. The daemon must not run.",
    )
    .argument("<file>", "the backup")
    .option("--accept-older", "although what is here is newer (operator; needs consent)")
    .option("--replace-key", "although another key is here (operator; needs consent)")
    .addHelpText("after", example("deaddrop restore ~/forge.backup.age --wire ./_coordination"))
    .action(async (file: string, flags: RestoreFlags) => {
      await run(cli, file, flags);
    });
}

async function run(cli: Cli, named: string, flags: RestoreFlags): Promise<void> {
  const host = setupHost(cli.env, cli.clock.nowMs());
  const file = resolve(cli.cwd, named);
  const { wireDir, missing } = wireHere(cli, flags);
  const backup = await openBackup(cli, host, file, flags);
  requireHandle(backup, flags.as ?? cli.env["DEADDROP_AS"]);
  if (wireDir === undefined) throw noWire(file, backup, missing);
  const request = { wireDir };
  const agreed = {
    acceptOlder: flags.acceptOlder === true,
    replaceKey: flags.replaceKey === true,
  };
  const planned = checkRestore(host, backup, request, agreed);
  await consent(cli, host, planned, backup, flags);
  const { paths, steps, older, replaced } = restore(host, backup, request, agreed);
  const kept = replaced.map(({ keptAs }) => keptAs);
  const written = steps.flatMap((step) => (step.do === "write" ? [step.path] : []));
  const report = {
    handle: backup.handle,
    wire: paths.wireKey,
    wire_dir: paths.wireDir,
    made_at: backup.madeAt,
    went_back: older,
    kept_keys: kept,
    written,
  };
  emit(cli, flags, report, (paint) =>
    [
      written.length === 0
        ? `${paint("bold", backup.handle)}: everything is as the backup has it already`
        : `${paint("bold", backup.handle)} is restored as of ${backup.madeAt}: ${written.length} files`,
      ...kept.map((path) => `the key that was here is kept as ${path}`),
      `nothing is signed before you have said that this key is used nowhere else: deaddrop reclaim --wire ${paths.wireDir} --as ${backup.handle}`,
      ...shareAgain(host, backup, paths.wireDir),
      `next: deaddrop doctor --wire ${paths.wireDir} --as ${backup.handle}`,
    ].join("\n"),
  );
}

/** The wire's folder, or why there is none. */
function wireHere(
  cli: Cli,
  flags: GlobalFlags,
):
  | { readonly wireDir: string; readonly missing?: undefined }
  | { readonly wireDir?: undefined; readonly missing: string } {
  try {
    return { wireDir: requireWireHere(cli, flags) };
  } catch (error) {
    if (!(error instanceof DeaddropError) || error.code !== "config") throw error;
    return { missing: error.message };
  }
}

/** The backup is of a wire that has to be here first: of one in a repository it knows where. */
function noWire(file: string, backup: Backup, missing: string): DeaddropError {
  const { remote, handle, wireDir } = backup;
  const hint =
    remote === undefined
      ? `the backup holds no logs: copy the wire's folder here (it was ${wireDir}), then deaddrop restore ${file} --wire FOLDER --as ${handle}`
      : ["on a new machine:", ...newMachine(file, backup, remote)].join("\n  ");
  return new DeaddropError("config", missing, { hint: sanitiseLines(hint).join("\n") });
}

/** A machine has its own settings of a transport, which are in no backup. */
function shareAgain(host: SetupHost, backup: Backup, wireDir: string): string[] {
  const { remote, wireKey } = backup;
  if (remote === undefined || sharedThrough(host, wireKey) !== undefined) return [];
  return [`share it again: ${sanitise(switchCommand(backup, remote, wireDir))}`];
}

async function openBackup(
  cli: Cli,
  { disk }: SetupHost,
  file: string,
  flags: RestoreFlags,
): Promise<Backup> {
  const sealed = readWhole(disk, file, MAX_SEALED_BYTES);
  if (sealed === undefined) {
    throw new DeaddropError("usage", `${file}: no such file`, {
      hint: "give the file that `deaddrop backup` wrote",
    });
  }
  const passphrase = await readPassphrase(cli, disk, flags, false);
  const parsed = parseBackup(await unseal(sealed, passphrase, file));
  if (parsed.ok) return parsed.backup;
  throw new DeaddropError("refused", `${file}: ${parsed.detail}; nothing was written`, {
    hint: "take another copy of it, or an older backup",
  });
}

function requireHandle({ handle }: Backup, named: string | undefined): void {
  if (named === undefined || named === "" || named === handle) return;
  throw new DeaddropError("refused", `this is a backup of ${handle}, not of ${named}`, {
    hint: `restore it with --as ${handle}, or give the backup of ${named}`,
  });
}

/** Going back in time and giving up a key are the operator's to decide, and recorded. */
async function consent(
  cli: Cli,
  host: SetupHost,
  plan: RestorePlan,
  backup: Backup,
  flags: RestoreFlags,
): Promise<void> {
  const { older, replaced, paths } = plan;
  if ((older.length === 0 && replaced.length === 0) || isGoingOn(host, plan)) return;
  const back = [
    "What is here is newer than the backup:",
    ...shownReasons(plan),
    "Stopped keys, blocked and held peers stay as they are; nobody is believed further",
    "than both say. Policy, settings and the rest become as they were.",
  ];
  const keys = replaced.flatMap(({ here, backup: other, keptAs }) => [
    `The key ${other} takes the place of ${here}, which is kept as ${keptAs}.`,
    `Peers that have pinned ${here} alone will not believe ${backup.handle} any more.`,
  ]);
  await confirmOperator(
    cli,
    flags,
    {
      action: "restore",
      target: `${backup.handle} as of ${backup.madeAt}`,
      effect: [...(older.length === 0 ? [] : back), ...keys],
      word: backup.handle,
    },
    paths.operatorJournal,
  );
}
