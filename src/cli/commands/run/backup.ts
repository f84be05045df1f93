import { dirname, join, resolve, sep } from "node:path";
import { Command } from "commander";
import { DeaddropError } from "../../../api/errors.ts";
import { collectBackup } from "../../../setup/backup/backup.ts";
import { newMachine, sharedThrough } from "../../../setup/backup/new-machine.ts";
import { seal } from "../../../setup/backup/sealed-file.ts";
import { serialiseBackup } from "../../../storage/private/backup-file.ts";
import { StorageError, type Disk } from "../../../storage/disk/disk.ts";
import { agentPlace } from "../../agent-place.ts";
import type { Cli, GlobalFlags } from "../../context.ts";
import { example } from "../../output/example.ts";
import { emit } from "../../output/output.ts";
import { addPassphrase, readPassphrase, type PassphraseFlags } from "../../input/passphrase.ts";
import { PRIVATE_FILE } from "../../../storage/disk/file-modes.ts";

interface BackupFlags extends GlobalFlags, PassphraseFlags {
  force?: boolean;
}

/** `deaddrop backup`: all that cannot be made again of one agent on one wire, encrypted. Spec 8.6. */
export function command(cli: Cli): Command {
  return addPassphrase(new Command("backup"))
    .description(
      "Writes your keys, pins, settings and remembered heads on this wire to one file, encrypted\n" +
        "with a passphrase (age format). The daemon may run meanwhile.",
    )
    .argument("<file>", "where to write it; outside of the wire's folder")
    .option("--force", "overwrite a file that is there")
    .addHelpText("after", example("deaddrop backup ~/forge.backup.age"))
    .action(async (file: string, flags: BackupFlags) => {
      await run(cli, file, flags);
    });
}

async function run(cli: Cli, named: string, flags: BackupFlags): Promise<void> {
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
      `Put it back with: deaddrop restore ${file} --wire ${place.paths.wireDir} --as ${report.handle}`,
      ...(remote === undefined
        ? []
        : ["On a new machine:", ...newMachine(file, backup, remote).map((each) => `  ${each}`)]),
    ].join("\n"),
  );
}

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
