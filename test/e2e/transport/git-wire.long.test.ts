import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { startSshd, whyNoSshd } from "../../support/processes/own-sshd.ts";
import { until } from "../../support/processes/real-processes.ts";
import {
  bareIn,
  hostsOf,
  newHostFolder,
  nudge,
  removeHosts,
  running,
  subjects,
} from "../../support/processes/hosts.ts";
import {
  asOurselves,
  givePolicy,
  machineAlone,
  playTwoMachines,
  type MachineAlone,
} from "../../support/processes/two-machines.ts";
import { makeTeam, whyNoUsers, type UnixTeam } from "../../support/processes/unix-users.ts";

// Real daemons of two machines that share nothing but a git repository.

const REASON = ["--yes", "--reason", "a test"];
const ROUNDS = process.env["DEADDROP_NIGHTLY"] === "1" ? 200 : 12;

let team: UnixTeam | undefined;
afterEach(async () => {
  await removeHosts();
  team?.remove();
  team = undefined;
});

async function play(forge: MachineAlone, scribe: MachineAlone, remote: string): Promise<void> {
  await playTwoMachines(forge, scribe, {
    async first() {
      await forge.does("transport", "switch", "git", "--remote", remote, ...REASON);
      await scribe.does("join", remote, "--me", "scribe", "--peer", "forge", "--wire", scribe.wire);
    },
    // The daemons carry it.
    again: () => Promise.resolve(),
  });
}

test("through a repository on disk: contact, a message, its receipt, a decision", async () => {
  const folder = newHostFolder();
  const [forge, scribe] = ["forge", "scribe"].map((handle) =>
    machineAlone(folder, handle, asOurselves),
  ) as [MachineAlone, MachineAlone];
  givePolicy(forge);
  await play(forge, scribe, bareIn(folder));
});

test("the same over SSH", async ({ skip }) => {
  const whyNot = whyNoUsers() ?? whyNoSshd();
  skip(whyNot !== undefined, whyNot);
  team = makeTeam(["022"]);
  const [user] = team.users;
  if (user === undefined) throw new Error("there is a user");
  const { ssh, port } = await startSshd(user, join(user.home, "keys"));
  const begin = (program: string, ...args: readonly string[]) =>
    user.start("env", `GIT_SSH_COMMAND=${ssh}`, program, ...args);
  const folder = join(user.home, "machines");
  mkdirSync(folder);
  const [forge, scribe] = ["forge", "scribe"].map((handle) =>
    machineAlone(folder, handle, begin),
  ) as [MachineAlone, MachineAlone];
  givePolicy(forge);
  const remote = bareIn(folder);
  spawnSync("chown", ["-R", user.name, folder]);
  await play(forge, scribe, `ssh://${user.name}@127.0.0.1:${port}${remote}`);
});

test(`a peer in an ordinary clone that commits, merges and pushes, for ${ROUNDS} rounds`, async () => {
  const { machines, remote } = await hostsOf("git", [["forge"], ["scribe"]]);
  const [forge, scribe] = machines as [MachineAlone, MachineAlone];
  // From now on scribe's folder is a clone that it commits in by hand; no daemon of its own.
  await scribe.does("transport", "switch", "folder", ...REASON);
  const git = async (...args: readonly string[]): Promise<void> => {
    const name = ["-c", "user.name=scribe", "-c", "user.email=s@example.org"];
    const { code, stderr, stdout } = await scribe.command("git", ...name, ...args);
    expect([args[0], code, code === 0 ? "" : stdout + stderr]).toEqual([args[0], 0, ""]);
  };
  await git("init", "--quiet", "--initial-branch=main");
  await git("remote", "add", "origin", remote);
  await git("fetch", "--quiet", "origin");
  await git("reset", "--quiet", "origin/main");
  const daemon = await running(forge);
  for (let round = 0; round < ROUNDS; round += 1) {
    await forge.does("send", `forge ${round}`, "--to", "scribe");
    await scribe.does("send", `scribe ${round}`, "--to", "forge");
    await git("add", "--all");
    await git("commit", "--quiet", "--message", `round ${round}`);
    await until("it is pushed", async () => {
      const pulled = await scribe.command(
        ...(["git", "-c", "user.name=scribe", "-c", "user.email=s@example.org"] as const),
        ...["pull", "--quiet", "--no-rebase", "--no-edit", "origin", "main"],
      );
      expect([pulled.code, pulled.code === 0 ? "" : pulled.stderr]).toEqual([0, ""]);
      return (await scribe.command("git", "push", "--quiet", "origin", "HEAD:main")).code === 0;
    });
    nudge([daemon]);
  }
  const all = (of: string) => Array.from({ length: ROUNDS }, (_, at) => `${of} ${at}`);
  await until("forge has all", async () => {
    nudge([daemon]);
    return (await subjects(forge)).length >= ROUNDS;
  });
  expect((await subjects(forge)).toSorted()).toEqual(all("scribe").toSorted());
  await until("scribe has all", async () => {
    await git("pull", "--quiet", "--no-rebase", "--no-edit", "origin", "main");
    return (await subjects(scribe)).length >= ROUNDS;
  });
  expect((await subjects(scribe)).toSorted()).toEqual(all("forge").toSorted());
  await forge.does("audit");
});
