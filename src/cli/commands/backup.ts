import { presentSettings } from "../../setup/transport/set-up-transport.ts";
import { dirname, join, resolve, sep } from "node:path";
import { DeaddropError } from "../../api/errors.ts";
import { sanitise, sanitiseLines } from "../../framing/sanitise.ts";
import { collectBackup } from "../../setup/backup/backup.ts";
import type { RestorePlan } from "../../setup/backup/restore-plan.ts";
import {
  checkRestore,
  isGoingOn,
  restore as restoreBackup,
  shownReasons,
} from "../../setup/backup/restore.ts";
import { seal, unseal } from "../../setup/backup/sealed-file.ts";
import { setupHost, type SetupHost } from "../../setup/host.ts";
import { StorageError, type Disk, readWhole } from "../../storage/disk/disk.ts";
import { PRIVATE_FILE } from "../../storage/disk/file-modes.ts";
import {
  serialiseBackup,
  MAX_DOCUMENT_BYTES,
  parseBackup,
  type Backup,
  type BackupRemote,
} from "../../storage/private/backup-file.ts";
import { agentPlace } from "../agent-place.ts";
import { define, type FlagsOf } from "../command.ts";
import { requireWireHere, type Cli, type GlobalFlags } from "../context.ts";
import { CONSENT_OPTIONS, confirmOperator } from "../input/confirm.ts";
import { PASSPHRASE_OPTIONS, readPassphrase } from "../input/passphrase.ts";
import { emit } from "../output/output.ts";

const RESTORE_OPTIONS = {
  ...PASSPHRASE_OPTIONS,
  ...CONSENT_OPTIONS,
  "--accept-older": "although what is here is newer (operator; needs consent)",
  "--replace-key": "although another key is here (operator; needs consent)",
} as const;
type RestoreFlags = FlagsOf<typeof RESTORE_OPTIONS>;

/** Puts a backup back, on the same or a new machine. Spec 2.1, 8.6. */
const restore = define({
  about:
    "Puts back what `deaddrop backup` wrote: the keys, pins, settings and store of one agent " +
    "on one wire. Everything is checked before anything is written. Stop the daemon first.",
  args: { "<file>": "the backup" },
  options: RESTORE_OPTIONS,
  examples: ["deaddrop backup restore ~/forge.backup.age --wire ./_coordination"],
  run: (cli, flags, { file }) => restoreFrom(cli, file, flags),
});

/** All that cannot be made again of one agent on one wire, encrypted. Spec 8.6. */
export const backup = define({
  about:
    "Writes the keys, pins, settings and store of one agent on this wire to one file, encrypted " +
    "with a passphrase (age format). The daemon may keep running.",
  args: { "<file>": "where to write it; outside of the wire's folder" },
  options: { ...PASSPHRASE_OPTIONS, "--force": "overwrite a file that is there" },
  examples: ["deaddrop backup ~/forge.backup.age"],
  async run(cli, flags, { file: named }) {
    const { host, place } = agentPlace(cli, flags);
    const { disk } = host;
    const file = resolve(cli.cwd, named);
    refuseTarget(disk, file, place.paths.wireDir, flags.force === true);
    const passphrase = await readPassphrase(cli, disk, flags, true);
    const { wireId } = place.config;
    const remote = sharedThrough(host, place.paths.wireKey);
    const about = { wireId, nowMs: cli.clock.nowMs(), remote };
    const backup = collectBackup(disk, place.paths, about);
    const sealed = await seal(serialiseBackup(backup), passphrase);
    save(disk, file, sealed, flags.force === true);
    const report = {
      file,
      bytes: sealed.length,
      handle: backup.handle,
      wire: backup.wireKey,
      wire_id: wireId ?? null,
      made_at: backup.madeAt,
      store_version: backup.storeVersion,
      files: backup.files.map(({ place: at, name }) => `${at}/${name}`),
    };
    emit(cli, flags, report, (paint) =>
      [
        `${paint("bold", file)}  ${report.files.length} files of ${report.handle}, ${report.bytes} bytes`,
        "It holds your private key: keep it and its passphrase apart, and neither on this machine alone.",
        `Put it back with: deaddrop backup restore ${file} --wire ${place.paths.wireDir} --as ${report.handle}`,
        ...(remote === undefined
          ? []
          : ["On a new machine:", ...newMachine(file, backup, remote).map((each) => `  ${each}`)]),
      ].join("\n"),
    );
  },
  commands: {
    restore,
  },
});

function refuseTarget(disk: Disk, file: string, wireDir: string, force: boolean): void {
  const folder = dirname(file);
  if (disk.stat(folder) === undefined) {
    throw new DeaddropError("usage", `${folder}: no such folder`, {
      hint: "make it first, or name another place for the backup",
    });
  }
  if (join(disk.realPath(folder), sep).startsWith(join(wireDir, sep))) {
    throw new DeaddropError("refused", `${file} is in the wire's folder, which your peers read`, {
      hint: "they could try passphrases on it for years: write it somewhere else",
    });
  }
  const stat = disk.stat(file);
  if (stat?.kind === "folder") {
    throw new DeaddropError("usage", `${file} is a folder`, { hint: "name a file in it" });
  }
  if (stat !== undefined && stat.size > 0 && !force) throw exists(file);
}

/** Without --force not even a file that was made just now is overwritten. */
function save(disk: Disk, file: string, bytes: Uint8Array, force: boolean): void {
  if (force) {
    disk.replace(file, bytes, PRIVATE_FILE);
    return;
  }
  const temporary = `${file}.${process.pid}.new`;
  try {
    disk.replace(temporary, bytes, PRIVATE_FILE);
    disk.renameExclusive(temporary, file);
  } catch (error) {
    disk.remove(temporary);
    if (error instanceof StorageError && error.code === "exists") throw exists(file);
    throw error;
  }
}

function exists(file: string): DeaddropError {
  return new DeaddropError("refused", `${file} exists already; nothing was written`, {
    hint: "name another file, or overwrite it with --force",
  });
}

/** The encryption adds a header and a tag for every 64 KiB. */
const MAX_SEALED_BYTES = MAX_DOCUMENT_BYTES + 1024 * 1024;

async function restoreFrom(cli: Cli, named: string, flags: RestoreFlags): Promise<void> {
  const host = setupHost(cli.env, cli.clock.nowMs());
  const file = resolve(cli.cwd, named);
  const { wireDir, missing } = wireHere(cli, flags);
  const backup = await openBackup(cli, host, file, flags);
  requireHandle(backup, flags.as ?? cli.env["DEADDROP_AS"]);
  if (wireDir === undefined) throw noWire(file, backup, missing);
  const agreed = {
    acceptOlder: flags.acceptOlder === true,
    replaceKey: flags.replaceKey === true,
  };
  const planned = checkRestore(host, backup, wireDir, agreed);
  await consent(cli, host, planned, backup, flags);
  const { paths, steps, older, replaced } = restoreBackup(host, backup, wireDir, agreed);
  const kept = replaced.map(({ keptAs }) => keptAs);
  const written = steps.flatMap(({ path, bytes }) => (bytes === undefined ? [] : [path]));
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
      `nothing is signed before you have said that this key is used nowhere else: deaddrop key reclaim --wire ${paths.wireDir} --as ${backup.handle}`,
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
      ? `the backup holds no logs: copy the wire's folder here (it was ${wireDir}), then deaddrop backup restore ${file} --wire FOLDER --as ${handle}`
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

/** The repository through which this machine shares a wire; undefined: by its folder alone. */
function sharedThrough(host: SetupHost, wireKey: string): BackupRemote | undefined {
  const git = presentSettings(host, wireKey);
  return git && { url: git.remote.url, branch: git.branch, prefix: git.prefix };
}

/** The commands that bring a wire from its repository, and its agent from the backup, to a new machine. */
function newMachine(file: string, backup: Backup, remote: BackupRemote): string[] {
  const { url, branch, prefix } = remote;
  const clone = prefix === "" ? "_coordination" : "project";
  const wireDir = join(clone, prefix);
  return [
    `git clone --branch ${branch} ${url} ${clone}`,
    `deaddrop backup restore ${file} --wire ${wireDir} --as ${backup.handle}`,
    switchCommand(backup, remote, wireDir),
  ];
}

function switchCommand(backup: Backup, remote: BackupRemote, wireDir: string): string {
  const { url, branch } = remote;
  return `deaddrop transport switch git --remote ${url} --branch ${branch} --wire ${wireDir} --as ${backup.handle} --yes --reason "a new machine"`;
}
