import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { startSshd, whyNoSshd } from "../../support/processes/own-sshd.ts";
import { killChildren, until, type Started } from "../../support/processes/real-processes.ts";
import { randomFrom } from "../../support/random.ts";
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
const KILLS = process.env["DEADDROP_NIGHTLY"] === "1" ? 200 : 16;
const ROUNDS = process.env["DEADDROP_NIGHTLY"] === "1" ? 200 : 12;

let team: UnixTeam | undefined;
const made: string[] = [];
afterEach(async () => {
  await killChildren();
  team?.remove();
  team = undefined;
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function newFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "deaddrop-git-")));
  made.push(folder);
  return folder;
}

function bareIn(folder: string): string {
  const remote = join(folder, "wire.git");
  spawnSync("git", ["init", "-q", "--bare", "--initial-branch=main", remote]);
  return remote;
}

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

/** Two machines, each trusting the other, with no daemon yet. */
async function pair(): Promise<{ forge: MachineAlone; scribe: MachineAlone; remote: string }> {
  const folder = newFolder();
  const remote = bareIn(folder);
  const [forge, scribe] = ["forge", "scribe"].map((handle) =>
    machineAlone(folder, handle, asOurselves),
  ) as [MachineAlone, MachineAlone];
  givePolicy(forge);
  const init = ["--me", "forge", "--peer", "scribe", "--wire", forge.wire, "--json"];
  const keyOfForge = fingerprintIn(await forge.does("init", ...init, "--remote", remote));
  const join_ = ["--me", "scribe", "--peer", "forge", "--wire", scribe.wire, "--json"];
  const keyOfScribe = fingerprintIn(await scribe.does("join", remote, ...join_));
  // Forge has the other side's key with the card that comes now.
  await forge.does("daemon", "--once");
  await forge.does("daemon", "--once");
  await forge.does("init", ...init, "--remote", remote);
  for (const [by, handle, key] of [
    [forge, "scribe", keyOfScribe],
    [scribe, "forge", keyOfForge],
  ] as const) {
    const pin = ["trust", "pin", handle, "--tier", "VERIFIED", "--fingerprint", key];
    await by.does(...pin, ...REASON);
  }
  return { forge, scribe, remote };
}

function fingerprintIn(report: string): string {
  const { own_key: key } = JSON.parse(report) as { own_key: { fingerprint: string } };
  return key.fingerprint;
}

/** Fetches and pushes now. */
function nudge(...daemons: readonly Started[]): void {
  for (const { child } of daemons) child.kill("SIGUSR1");
}

async function subjects(of: MachineAlone): Promise<string[]> {
  const rows = (await of.does("inbox", "--json", "--limit", "1000")).split("\n").filter(Boolean);
  return rows.map((row) => (JSON.parse(row) as { subject: string }).subject);
}

async function running(machine: MachineAlone): Promise<Started> {
  const daemon = machine.begin("daemon");
  await until(`the daemon of ${machine.handle} answers`, async () => {
    const { stdout } = await machine.begin("status", "--json").ended;
    return stdout.includes('"running":true') || /"running":\s*true/.test(stdout);
  });
  return daemon;
}

test("through a repository on disk: contact, a message, its receipt, a decision", async () => {
  const folder = newFolder();
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

test(`nothing is lost or twice when daemons are killed ${KILLS} times`, async () => {
  const { forge, scribe } = await pair();
  const daemons = new Map<MachineAlone, Started>();
  for (const machine of [forge, scribe]) daemons.set(machine, await running(machine));
  const random = randomFrom(17);
  const sent = { forge: [] as string[], scribe: [] as string[] };
  for (let kill = 0; kill < KILLS; kill += 1) {
    for (const [machine, to, list] of [
      [forge, "scribe", sent.forge],
      [scribe, "forge", sent.scribe],
    ] as const) {
      const subject = `${machine.handle} ${kill}`;
      await machine.does("send", subject, "--to", to);
      list.push(subject);
    }
    nudge(...daemons.values());
    const victim = random() < 0.5 ? forge : scribe;
    // Somewhere between the fetch and the push.
    await new Promise((resolve) => setTimeout(resolve, random() * 150));
    const daemon = daemons.get(victim);
    daemon?.child.kill("SIGKILL");
    await daemon?.ended;
    daemons.set(victim, await running(victim));
  }
  for (const [machine, expected] of [
    [forge, sent.scribe],
    [scribe, sent.forge],
  ] as const) {
    await until(`${machine.handle} has all`, async () => {
      nudge(...daemons.values());
      return (await subjects(machine)).length >= expected.length;
    });
    expect((await subjects(machine)).toSorted()).toEqual(expected.toSorted());
  }
  for (const machine of [forge, scribe]) await machine.does("audit");
});

test("what both sides write in a partition arrives after it", async () => {
  const { forge, scribe, remote } = await pair();
  const daemons = [await running(forge), await running(scribe)];
  renameSync(remote, `${remote}.away`);
  await forge.does("send", "from forge", "--to", "scribe");
  await scribe.does("send", "from scribe", "--to", "forge");
  await until("forge says that the remote is away", async () => {
    nudge(...daemons);
    const { stdout } = await forge.begin("transport", "status").ended;
    return stdout.includes("git fetch") || stdout.includes("git push");
  });
  expect(await subjects(scribe)).toEqual([]);
  renameSync(`${remote}.away`, remote);
  for (const machine of [forge, scribe]) {
    await until(`${machine.handle} has it`, async () => {
      nudge(...daemons);
      return (await subjects(machine)).length === 1;
    });
  }
});

test(`a peer in an ordinary clone that commits, rebases and pushes, for ${ROUNDS} rounds`, async () => {
  const { forge, scribe, remote } = await pair();
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
        ...["pull", "--quiet", "--rebase", "origin", "main"],
      );
      expect([pulled.code, pulled.code === 0 ? "" : pulled.stderr]).toEqual([0, ""]);
      return (await scribe.command("git", "push", "--quiet", "origin", "HEAD:main")).code === 0;
    });
    nudge(daemon);
  }
  const all = (of: string) => Array.from({ length: ROUNDS }, (_, at) => `${of} ${at}`);
  await until("forge has all", async () => {
    nudge(daemon);
    return (await subjects(forge)).length >= ROUNDS;
  });
  expect((await subjects(forge)).toSorted()).toEqual(all("scribe").toSorted());
  await until("scribe has all", async () => {
    await git("pull", "--quiet", "--rebase", "origin", "main");
    return (await subjects(scribe)).length >= ROUNDS;
  });
  expect((await subjects(scribe)).toSorted()).toEqual(all("forge").toSorted());
  await forge.does("audit");
});
