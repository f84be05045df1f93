import { spawnSync } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { killChildren, until, type Started } from "./real-processes.ts";
import { asOurselves, givePolicy, machineAlone, type MachineAlone } from "./two-machines.ts";

/** Agents with real daemons to come, on hosts that share a folder or a repository. */
export interface Hosts {
  readonly machines: readonly MachineAlone[];
  /** Used by `git` alone. */
  readonly remote: string;
}

const REASON = ["--yes", "--reason", "a test"];
const made: string[] = [];

/** For `afterEach`: ends the daemons and removes the hosts. */
export async function removeHosts(): Promise<void> {
  await killChildren();
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true });
}

export function newHostFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "deaddrop-hosts-")));
  made.push(folder);
  return folder;
}

/** An empty repository in that folder. */
export function bareIn(folder: string): string {
  const remote = join(folder, "wire.git");
  spawnSync("git", ["init", "-q", "--bare", "--initial-branch=main", remote]);
  return remote;
}

/** `hosts`: who lives on each. Each of them trusts the others; no daemon runs yet. */
export async function hostsOf(
  way: "folder" | "git",
  hosts: readonly (readonly string[])[],
): Promise<Hosts> {
  const folder = newHostFolder();
  const remote = bareIn(folder);
  const shared = way === "folder" ? { wire: join(folder, "wire") } : {};
  const roster = hosts.flat();
  const machines = hosts.flatMap((handles, at) =>
    handles.map((handle) =>
      machineAlone(folder, handle, asOurselves, { machine: `host ${at}`, ...shared }),
    ),
  );
  const [first] = machines;
  if (first === undefined) throw new Error("there is no host");
  givePolicy(first, roster);
  const keys = new Map<string, string>();
  const enterAll = async (): Promise<void> => {
    for (const machine of machines) {
      const by = way === "git" ? remote : undefined;
      keys.set(machine.handle, await enter(machine, roster, machine === first, by));
    }
  };
  await enterAll();
  // Repeated, it brings the cards of those who came later: no line is read before its key is pinned.
  if (way === "git") await enterAll();
  for (const by of machines) {
    for (const handle of roster.filter((each) => each !== by.handle)) {
      await pin(by, handle, keys.get(handle) ?? "");
    }
  }
  return { machines, remote };
}

/** Its own `init` or `join`, of the folder or by the remote; the fingerprint of its key. */
async function enter(
  { handle, wire, does }: MachineAlone,
  roster: readonly string[],
  isFirst: boolean,
  remote: string | undefined,
): Promise<string> {
  const peers = roster.filter((each) => each !== handle).flatMap((each) => ["--peer", each]);
  const me = ["--me", handle, ...peers, "--json"];
  const shared = remote === undefined ? [] : ["--remote", remote];
  const from = remote === undefined ? [wire] : [remote, "--wire", wire];
  const report = isFirst
    ? await does("init", ...me, "--wire", wire, ...shared)
    : await does("join", ...from, ...me);
  const { own_key: key } = JSON.parse(report) as { own_key: { fingerprint: string } };
  return key.fingerprint;
}

/** Another machine's operator has read it out. */
async function pin(by: MachineAlone, handle: string, fingerprint: string): Promise<void> {
  const as = ["--tier", "VERIFIED", "--fingerprint", fingerprint];
  await by.does("trust", "pin", handle, ...as, ...REASON);
}

/** Fetches and pushes now. */
export function nudge(daemons: Iterable<Started>): void {
  for (const { child } of daemons) child.kill("SIGUSR1");
}

/** A daemon that answers. */
export async function running(machine: MachineAlone): Promise<Started> {
  const daemon = machine.begin("daemon");
  await until(`the daemon of ${machine.handle} answers`, async () => {
    const { stdout } = await machine.begin("status", "--json").ended;
    return /"running":\s*true/.test(stdout);
  });
  return daemon;
}

/** What is in an agent's inbox, by its subjects, in their order there. */
export async function subjects(of: MachineAlone): Promise<string[]> {
  const rows = (await of.does("inbox", "--json", "--limit", "1000")).split("\n").filter(Boolean);
  return rows.map((row) => (JSON.parse(row) as { subject: string }).subject);
}
