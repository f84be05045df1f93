import { join } from "node:path";
import type { Backup, BackupRemote } from "../../storage/private/backup-file.ts";
import type { SetupHost } from "../host.ts";
import { presentSettings } from "../transport/set-up-transport.ts";

/** The repository through which this machine shares a wire; undefined: by its folder alone. */
export function sharedThrough(host: SetupHost, wireKey: string): BackupRemote | undefined {
  const git = presentSettings(host, wireKey);
  return git && { url: git.remote.url, branch: git.branch, prefix: git.prefix };
}

/** The commands that bring a wire from its repository, and its agent from the backup, to a new machine. */
export function newMachine(file: string, backup: Backup, remote: BackupRemote): string[] {
  const { url, branch, prefix } = remote;
  const clone = prefix === "" ? "_coordination" : "project";
  const wireDir = join(clone, prefix);
  return [
    `git clone --branch ${branch} ${url} ${clone}`,
    `deaddrop backup restore ${file} --wire ${wireDir} --as ${backup.handle}`,
    switchCommand(backup, remote, wireDir),
  ];
}

export function switchCommand(backup: Backup, remote: BackupRemote, wireDir: string): string {
  const { url, branch } = remote;
  return `deaddrop transport switch git --remote ${url} --branch ${branch} --wire ${wireDir} --as ${backup.handle} --yes --reason "a new machine"`;
}
