import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { bareIn, newHostFolder, removeHosts } from "../support/processes/hosts.ts";
import { programPath, startSshd, whyNoSshd } from "../support/processes/own-sshd.ts";
import {
  asOurselves,
  givePolicy,
  machineAlone,
  playTwoMachines,
  type MachineAlone,
} from "../support/processes/two-machines.ts";
import { makeTeam, whyNoUsers, type UnixTeam } from "../support/processes/unix-users.ts";

// The commands of docs/transports.md, between two homes that share nothing else.

let team: UnixTeam | undefined;
afterEach(async () => {
  await removeHosts();
  team?.remove();
  team = undefined;
});

async function must(machine: MachineAlone, ...words: readonly string[]): Promise<void> {
  const [program = "", ...args] = words;
  const { code, stdout, stderr } = await machine.command(program, ...args);
  expect([code, words.join(" "), `${stdout}${stderr}`]).toEqual([
    0,
    words.join(" "),
    expect.any(String),
  ]);
}

test("git by hand: each side commits its own files and merges the other's", async () => {
  const folder = newHostFolder();
  const [forge, scribe] = ["forge", "scribe"].map((handle) =>
    machineAlone(folder, handle, asOurselves),
  ) as [MachineAlone, MachineAlone];
  givePolicy(forge);
  const remote = bareIn(folder);
  const git = (machine: MachineAlone, ...args: readonly string[]) =>
    must(machine, "git", "-c", "user.name=d", "-c", "user.email=d@example.com", ...args);

  async function carry(machine: MachineAlone): Promise<void> {
    await git(machine, "add", "--all");
    await machine.command(
      ...(["git", "-c", "user.name=d", "-c", "user.email=d@example.com"] as const),
      ...["commit", "-qm", "wire"],
    );
    await git(machine, "fetch", "-q", "origin");
    await git(machine, "merge", "-q", "--no-edit", "origin/main");
    await git(machine, "push", "-q", "origin", "HEAD:main");
  }

  await playTwoMachines(forge, scribe, {
    async first() {
      await git(forge, "init", "-q", "--initial-branch=main");
      // Both sides write these, each its own copy; trust.json differs from side to side, too. The
      // last is what a daemon writes before it renames it.
      const ignored = ["decisions.jsonl", "incident_log.jsonl", "trust.json", "SAFE_MODE", ".*.*"];
      writeFileSync(join(forge.wire, ".gitignore"), `${ignored.join("\n")}\n`);
      await git(forge, "remote", "add", "origin", remote);
      await git(forge, "add", "--all");
      await git(forge, "commit", "-qm", "the wire");
      await git(forge, "push", "-q", "origin", "HEAD:main");
      await git(scribe, "clone", "-q", remote, ".");
    },
    async again() {
      await carry(forge);
      await carry(scribe);
    },
  });
});

test("rsync over ssh: each side pushes its own files", async ({ skip }) => {
  const noRsync = programPath("rsync") === undefined ? "there is no rsync here" : undefined;
  const whyNot = whyNoUsers() ?? whyNoSshd() ?? noRsync;
  skip(whyNot !== undefined, whyNot);
  team = makeTeam(["022"]);
  const [user] = team.users;
  if (user === undefined) throw new Error("there is a user");
  const folder = join(user.home, "machines");
  mkdirSync(folder);
  const [forge, scribe] = ["forge", "scribe"].map((handle) =>
    machineAlone(folder, handle, user.start),
  ) as [MachineAlone, MachineAlone];
  givePolicy(forge);
  spawnSync("chown", ["-R", user.name, folder]);
  const { ssh } = await startSshd(user, join(user.home, "keys"));
  const rsync = (from: MachineAlone, to: MachineAlone, ...which: readonly string[]) =>
    must(
      from,
      ...["rsync", "--recursive", "--times", "--protect-args", "--rsh", ssh],
      ...["--rsync-path", programPath("rsync") ?? "rsync", ...which],
      ...["./", `${user.name}@127.0.0.1:${to.wire}/`],
    );
  const own = ({ handle }: MachineAlone): string[] => [
    ...["/trust/", `/trust/${handle}.card.json`, `/${handle}_to_*.jsonl`],
    `/${handle}_state.json`,
  ];
  const push = (from: MachineAlone, to: MachineAlone) =>
    rsync(from, to, ...own(from).flatMap((name) => ["--include", name]), "--exclude", "*");

  await playTwoMachines(forge, scribe, {
    first: () => rsync(forge, scribe),
    async again() {
      await push(forge, scribe);
      await push(scribe, forge);
    },
  });
});
