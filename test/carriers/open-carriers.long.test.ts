import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { fillFolder } from "../../src/agent/duties/fill-folder.ts";
import { operatorIncidents } from "../../src/agent/duties/operator-incidents.ts";
import type { TransportControl } from "../../src/api/transport.ts";
import { openCarriers, type Carriers } from "../../src/carriers/open-carriers.ts";
import {
  forgetRemote,
  saveTransportSettings,
  transportPaths,
} from "../../src/carriers/transport-settings.ts";
import { nodeDisk } from "../../src/storage/disk/node-disk.ts";
import type { Places } from "../../src/storage/paths.ts";
import { carriersWorld } from "../../src/daemon/transport/carriers-world.ts";
import { CONDITION_LIMIT_MS } from "../support/hang-guard.ts";
import { CoreWire, WIRE_ID, type CoreAgent } from "../support/core-wire.ts";

// Spec 5.2, 5.4: agents on machines that share a wire through a repository, with their daemons' own
// way to open what they share it by. Forge is on a machine of its own, scribe and ann share another one.

const MACHINES: Readonly<Record<string, string>> = { forge: "one", scribe: "two", ann: "two" };
const disk = nodeDisk();

let root: string;
let wire: CoreWire;
let remote: string;
let carriers: Map<string, Carriers>;
let opened: Carriers[];

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "deaddrop-open-"));
  remote = repository("wire.git");
  carriers = new Map();
  opened = [];
  for (const [name, machine] of Object.entries(MACHINES)) {
    const { configHome } = placesOf(machine);
    const home = join(configHome, "inter-agent-deaddrop", WIRE_ID, name);
    mkdirSync(home, { recursive: true });
    writeFileSync(join(home, "wire.json"), "{}\n");
    mkdirSync(folderOf(name), { recursive: true });
  }
  writeFileSync(
    join(folderOf("forge"), "config.json"),
    `${JSON.stringify({ wire_id: WIRE_ID })}\n`,
  );
});
afterEach(async () => {
  wire.close();
  for (const each of opened) await each.stop();
  rmSync(root, { recursive: true, force: true, maxRetries: 3 });
});

function repository(name: string): string {
  const path = join(root, name);
  execFileSync("git", ["init", "--quiet", "--bare", "--initial-branch=main", path]);
  return path;
}

function placesOf(machine: string): Places {
  return { configHome: join(root, machine, "config"), stateHome: join(root, machine, "state") };
}

function folderOf(name: string): string {
  return join(root, MACHINES[name] ?? "", "wire");
}

function pathsOf(name: string) {
  return transportPaths(placesOf(MACHINES[name] ?? ""), WIRE_ID);
}

function share(url: string | undefined, ...names: readonly string[]): void {
  const git = url && { remote: { url, scheme: "file" as const }, branch: "main", prefix: "" };
  for (const name of names) saveTransportSettings(disk, pathsOf(name).settings, git || undefined);
}

function begin(): void {
  const of = ({ name }: CoreAgent): Carriers => {
    const found = carriers.get(name);
    if (found === undefined) throw new Error(`nobody is ${name}`);
    return found;
  };
  wire = new CoreWire(
    root,
    Object.keys(MACHINES),
    (_, agent, ours) => {
      const inProcess = {
        ...{ disk, env: { PATH: process.env["PATH"], HOME: root }, log: { warn: () => undefined } },
        failed: (error: unknown) => {
          throw error;
        },
        clock: {
          wallMs: () => agent.core.world.clock.wallMs(),
          micros: () => agent.core.world.clock.micros(),
          monoMs: () => agent.core.world.clock.monoMs(),
          nextTurn: () => agent.core.world.clock.nextTurn(),
        },
      };
      const user = { wireDir: folderOf(agent.name), core: () => agent.core };
      const real = carriersWorld(inProcess, user);
      const made = openCarriers(
        { ...real, after: (inMs, act) => real.after(Math.min(inMs, 50), act) },
        {
          ...{ wireDir: folderOf(agent.name), wireId: WIRE_ID, wireKey: WIRE_ID },
          places: placesOf(MACHINES[agent.name] ?? ""),
          membership: () => agent.core.membership,
        },
        ours,
      );
      carriers.set(agent.name, made);
      opened.push(made);
      return made.transports;
    },
    (agent) => (ground) => [
      operatorIncidents(ground),
      fillFolder(ground, {
        ...{ wireDir: folderOf(agent.name), mode: 0o600 },
        isMover: () => of(agent).git.transport?.health().isMover === true,
        isLocal: (other) => MACHINES[other] === MACHINES[agent.name],
        list: () => of(agent).folder.list(),
      }),
    ],
  );
}

/** Everybody reads, sends and fetches, until nothing new comes. */
async function settle(rounds = 2): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    for (const each of carriers.values())
      await each.git.transport?.turn({ fetch: true, push: true });
    await wire.settle(1);
  }
}

function problems(): (string | undefined)[] {
  return [...carriers.values()].map(({ git }) => git.view()?.problem?.detail);
}

function linesIn(name: string, path: string): string[] {
  const at = join(folderOf(name), path);
  return existsSync(at) ? readFileSync(at, "utf8").split("\n").slice(0, -1) : [];
}

test("lines reach every machine, and its folder holds the files of authors elsewhere, each line once", async () => {
  share(remote, "forge", "scribe");
  begin();
  await settle();
  wire.agent("forge").say("from one");
  wire.agent("ann").say("from two");
  await settle();
  expect(problems()).toEqual([undefined, undefined, undefined]);
  expect(["forge", "scribe", "ann"].map((name) => wire.agent(name).mail.toSorted())).toEqual([
    ["from two"],
    ["from one", "from two"],
    ["from one"],
  ]);
  wire.agent("forge").say("again");
  for (const name of ["scribe", "ann"]) {
    await carriers.get(name)?.stop();
    wire.agent(name).restart();
  }
  await settle();
  // The last beats may not have been fetched yet.
  const chainIn = (name: string, path: string): string[] =>
    linesIn(name, path).filter((line) => line.includes('"seq"'));
  for (const [author, here, there] of [
    ["forge", "forge", "scribe"],
    ["ann", "ann", "forge"],
  ] as const) {
    const own = chainIn(here, `outbox/${author}.jsonl`);
    const filled = chainIn(there, `outbox/${author}.jsonl`);
    expect(filled).toEqual(own.slice(0, filled.length));
    const said = filled.filter((line) => line.includes('"ship"'));
    expect(said).toHaveLength(author === "forge" ? 2 : 1);
  }
  // A member that chains writes one file, whoever fills it.
  expect(existsSync(join(folderOf("scribe"), "forge_to_ann.jsonl"))).toBe(false);
});

test("what a file elsewhere lost is put back with the next line of its author", async () => {
  share(remote, "forge", "scribe");
  begin();
  await settle();
  wire.agent("forge").say("one");
  await settle();
  rmSync(join(folderOf("scribe"), "outbox/forge.jsonl"));
  wire.agent("forge").say("two");
  await settle();
  const subjects = linesIn("scribe", "outbox/forge.jsonl").map(
    (line) => (JSON.parse(line) as { subject: string }).subject,
  );
  expect(subjects.filter((subject) => subject !== "alive")).toEqual(["one", "two"]);
});

test("an operator shares a running wire through a repository, moves it, and ends that", async () => {
  begin();
  const [forge, scribe] = [carriers.get("forge"), carriers.get("scribe")];
  if (forge === undefined || scribe === undefined) throw new Error("nobody is there");
  const control: TransportControl = forge.git;
  await settle(1);
  wire.agent("forge").say("before");
  await settle();
  expect(control.view()).toBeNull();
  expect(wire.agent("scribe").mail).toEqual([]);

  share(remote, "forge", "scribe");
  for (const each of carriers.values()) await each.git.reopen();
  await settle();
  expect(control.view()).toEqual({
    ...{ kind: "git", remote, branch: "main", is_mover: true, waiting: 0 },
    fetched_at: expect.stringMatching(/^2026-/u) as string,
    pushed_at: expect.stringMatching(/^2026-/u) as string,
    problem: null,
  });
  expect(wire.agent("scribe").mail).toEqual(["before"]);

  const other = repository("other.git");
  share(other, "forge");
  await control.reopen();
  await settle(1);
  expect(control.view()?.problem).toMatchObject({ code: "stopped" });
  await control.close();
  expect(control.view()).toBeNull();
  forgetRemote(pathsOf("forge"));
  await control.reopen();
  await settle(1);
  expect(control.view()).toMatchObject({ remote: other, problem: null });
  expect(
    execFileSync("git", ["-C", other, "show", "main:outbox/forge.jsonl"]).toString(),
  ).toContain("before");

  share(undefined, "forge");
  await control.reopen();
  expect(control.view()).toBeNull();
  expect(forge.transports).toEqual([forge.folder]);
});

test("settings that cannot be read are named, and nothing is opened", () => {
  begin();
  const { settings } = pathsOf("forge");
  mkdirSync(join(settings, ".."), { recursive: true });
  writeFileSync(settings, "{");
  expect(() => begin()).toThrow(/it is no JSON/u);
});

test("what does not belong into the repository is told once", async () => {
  share(remote, "forge", "scribe");
  begin();
  await settle();
  const clone = join(root, "clone");
  execFileSync("git", ["clone", "--quiet", remote, clone]);
  symlinkSync("/etc/passwd", join(clone, "scribe_to_ann.jsonl"));
  const as = ["-c", "user.name=m", "-c", "user.email=m@example.org"];
  execFileSync("git", ["-C", clone, "add", "--all"]);
  execFileSync("git", ["-C", clone, ...as, "commit", "--quiet", "-m", "tampered"]);
  execFileSync("git", ["-C", clone, "push", "--quiet", "origin", "HEAD:main"]);
  await settle();
  await settle();
  const told = wire.agent("forge").core.store.told.list();
  expect(told.map(({ cause, subject }) => [cause, subject])).toEqual([
    ["wire_tampered", 'the remote holds what does not belong there: "scribe_to_ann.jsonl"'],
  ]);
});

test("a command that starts nothing reads what daemons of its machine have fetched, and names no time", async () => {
  share(remote, "forge", "scribe");
  begin();
  await settle();
  wire.agent("forge").say("fetched by scribe");
  await carriers.get("forge")?.git.transport?.turn({ fetch: true, push: true });
  await carriers.get("scribe")?.git.transport?.turn({ fetch: true, push: true });
  await wire.settle(2);
  expect(wire.agent("ann").mail).toEqual(["fetched by scribe"]);
  wire.agent("ann").restart();
  expect(carriers.get("ann")?.git.transport?.knownMs("forge", wire.nowMs)).toBeUndefined();
});

test("a file of the folder that changes is reported with its name, and a document is pushed at once", async () => {
  share(remote, "forge");
  begin();
  await settle();
  const forge = carriers.get("forge");
  if (forge === undefined) throw new Error("nobody is there");
  const heard = new Set<string | undefined>();
  forge.onChange((name) => heard.add(name));
  forge.start();
  writeFileSync(join(folderOf("forge"), "tiers.json"), "{}\n");
  writeFileSync(join(folderOf("forge"), "scribe_to_forge.jsonl"), "{}\n");
  const shown = (): boolean => {
    wire.nowMs += 1_000;
    try {
      execFileSync("git", ["-C", remote, "show", "main:tiers.json"], { stdio: "ignore" });
      return heard.has("scribe_to_forge.jsonl");
    } catch {
      return false;
    }
  };
  await vi.waitFor(() => expect(shown()).toBe(true), CONDITION_LIMIT_MS);
});
