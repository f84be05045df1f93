import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { killChildren, until } from "../support/processes/real-processes.ts";
import {
  asOurselves,
  givePolicy,
  machineAlone,
  playTwoMachines,
  type MachineAlone,
} from "../support/processes/two-machines.ts";
import { makeTeam, whyNoUsers, type UnixTeam } from "../support/processes/unix-users.ts";

// The commands of docs/two-machines.md, between two homes that share nothing else.

let team: UnixTeam | undefined;
const made: string[] = [];
afterEach(async () => {
  await killChildren();
  team?.remove();
  team = undefined;
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true });
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
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "deaddrop-git-")));
  made.push(folder);
  const [forge, scribe] = ["forge", "scribe"].map((handle) =>
    machineAlone(folder, handle, asOurselves),
  ) as [MachineAlone, MachineAlone];
  givePolicy(forge);
  const remote = join(folder, "wire.git");
  spawnSync("git", ["init", "-q", "--bare", "--initial-branch=main", remote]);
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
      // Both sides write these, each its own copy; trust.json differs from side to side, too.
      const ignored = ["decisions.jsonl", "incident_log.jsonl", "trust.json", "SAFE_MODE"];
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
  const whyNot = whyNoUsers() ?? ["rsync", "ssh", "ssh-keygen"].find((tool) => !isHere(tool));
  skip(whyNot !== undefined, whyNot);
  const sshd = ["sshd", "/usr/sbin/sshd"].map(pathOf).find((path) => path !== undefined);
  skip(sshd === undefined, "there is no sshd here");
  team = makeTeam(["022"]);
  const [user] = team.users;
  if (user === undefined || sshd === undefined) throw new Error("there is a user");
  const folder = join(user.home, "machines");
  mkdirSync(folder);
  const [forge, scribe] = ["forge", "scribe"].map((handle) =>
    machineAlone(folder, handle, user.start),
  ) as [MachineAlone, MachineAlone];
  givePolicy(forge);
  spawnSync("chown", ["-R", user.name, folder]);
  const keys = join(user.home, "keys");
  for (const name of ["host", "login"]) {
    mkdirSync(keys, { recursive: true });
    spawnSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", join(keys, name)]);
  }
  spawnSync("chown", ["-R", user.name, keys]);
  chmodSync(keys, 0o700);
  const port = await freePort();
  const daemon = user.start(
    ...([sshd, "-D", "-e", "-f", "/dev/null", "-p", String(port)] as const),
    ...["-h", join(keys, "host"), "-o", "ListenAddress=127.0.0.1", "-o", "UsePAM=no"],
    ...["-o", "StrictModes=no", "-o", `AuthorizedKeysFile=${join(keys, "login.pub")}`],
    ...["-o", `PidFile=${join(keys, "pid")}`],
  );
  await until("sshd listens", () => daemon.stderr().includes("Server listening"));
  const ssh =
    `ssh -p ${port} -i ${join(keys, "login")} -o StrictHostKeyChecking=no ` +
    `-o UserKnownHostsFile=/dev/null -o LogLevel=ERROR`;
  const rsync = (from: MachineAlone, to: MachineAlone, ...which: readonly string[]) =>
    must(
      from,
      ...["rsync", "--recursive", "--times", "--protect-args", "--rsh", ssh],
      ...["--rsync-path", pathOf("rsync") ?? "rsync", ...which],
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

function isHere(tool: string): boolean {
  return pathOf(tool) !== undefined;
}

function pathOf(tool: string): string | undefined {
  const { status, stdout } = spawnSync("sh", ["-c", `command -v ${tool}`], { encoding: "utf8" });
  return status === 0 ? stdout.trim() : undefined;
}

/** Free a moment ago; nobody else asks for one by number here. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
