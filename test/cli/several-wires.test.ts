import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Check } from "../../src/setup/checks/host-checks.ts";
import { newMachine, type Machine } from "../setup/machine.ts";
import { run as runCli } from "./fake-cli.ts";

// One user on several wires: each project has its own identity, and a command outside of all of them
// takes the only wire or lists them. Spec 8.6.

let machine: Machine;
beforeEach(() => {
  machine = newMachine();
  for (const folder of ["p1", "p2", "elsewhere"]) mkdirSync(join(machine.root, folder));
});
afterEach(() => machine.remove());

async function deaddrop(folder: string, ...args: readonly string[]) {
  const env = { ...machine.env, DEADDROP_WIRE: undefined, DEADDROP_AS: undefined };
  return runCli(args, { env, cwd: join(machine.root, folder), nowMs: Date.now() });
}

async function init(folder: string, ...who: readonly string[]): Promise<void> {
  const { exitCode, stderr } = await deaddrop(folder, "init", ...who);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
}

/** The wire and the identity that a command uses there. */
async function used(folder: string, ...flags: readonly string[]) {
  const { stdout } = await deaddrop(folder, "doctor", "--json", ...flags);
  const { checks } = JSON.parse(stdout) as { checks: Check[] };
  const detail = (name: string) => checks.find(({ check }) => check === name)?.detail ?? "";
  return [detail("wire").split(",")[0], detail("agent").split(",")[0]];
}

test("an identity of another wire does not count: each project keeps its own", async () => {
  await init("p1", "--me", "alice", "--peer", "zoe");
  await init("p2", "--me", "bob", "--peer", "yan");
  expect(await used("p1")).toEqual([join(machine.root, "p1/_coordination"), "alice"]);
  expect(await used("p2")).toEqual([join(machine.root, "p2/_coordination"), "bob"]);
  const as = await deaddrop("p1", "as", "--json");
  expect(JSON.parse(as.stdout)).toEqual({
    handle: "alice",
    by: "being the only identity of this user on this wire",
  });
  // The guard and what `integrate` writes are of the same identity.
  const written = await deaddrop("p1", "integrate", "gemini", "--dry-run");
  expect(written.stdout).toContain('"alice"');
  expect(written.stdout).not.toContain('"bob"');
});

test("a wrong --as joins nothing: the next command is of the one who is on the wire", async () => {
  await init("p1", "--me", "alice", "--peer", "zoe");
  await init("p2", "--me", "bob", "--peer", "yan");
  const wrong = await deaddrop("p1", "trust", "list", "--as", "bob");
  expect(wrong.stderr).toContain(`"bob" is not in the wire's roster`);
  expect((await used("p1"))[1]).toBe("alice");
});

test("two identities of one wire are still not told apart, and a third one is not named", async () => {
  await init("p1", "--me", "alice", "--peer", "bob", "--local-pair");
  await init("p2", "--me", "carol", "--peer", "yan");
  const { exitCode, stderr } = await deaddrop("p1", "inbox");
  expect(exitCode).toBe(2);
  expect(stderr).toContain("several identities here: alice, bob\n");
});

test("who has only a key counts where the roster has the handle, and nowhere else", async () => {
  await init("p1", "--me", "alice", "--peer", "bob");
  await init("p2", "--me", "carol", "--peer", "yan");
  await deaddrop("p2", "keygen", "bob");
  expect((await deaddrop("p1", "inbox")).stderr).toContain("several identities here: alice, bob\n");
  expect((await used("p2"))[1]).toBe("carol");
});

test("on a wire of strangers no identity is taken, and the command that joins is named", async () => {
  await init("p1", "--me", "alice", "--peer", "zoe");
  await init("p2", "--me", "bob", "--peer", "yan");
  const wire = join(machine.root, "p2/_coordination");
  rmSync(join(machine.root, "config/inter-agent-deaddrop/bob.key"));
  await deaddrop("elsewhere", "keygen", "dave");
  const { exitCode, stderr } = await deaddrop("p2", "inbox");
  expect(exitCode).toBe(2);
  expect(stderr).toContain(`none of your identities is on ${wire}`);
  expect(stderr).toContain(`deaddrop join ${wire} --me <handle>`);
});

test("outside of a wire the only one is taken, and several are listed", async () => {
  expect((await deaddrop("elsewhere", "inbox")).stderr).toContain("no wire here");
  await init("p1", "--me", "alice", "--peer", "zoe");
  const p1 = join(machine.root, "p1/_coordination");
  expect(await used("elsewhere")).toEqual([p1, "alice"]);
  await init("p2", "--me", "bob", "--peer", "yan");
  const p2 = join(machine.root, "p2/_coordination");
  const several = await deaddrop("elsewhere", "inbox");
  expect(several.exitCode).toBe(2);
  expect(several.stderr).toContain(`your wires:\n`);
  expect(several.stderr).toContain(`${p1}  (alice)\n`);
  expect(several.stderr).toContain(`${p2}  (bob)\n`);
  // Of a named identity it is the only one that this identity is on.
  expect(await used("elsewhere", "--as", "bob")).toEqual([p2, "bob"]);
  // A wire whose folder is gone is none.
  rmSync(p1, { recursive: true });
  expect(await used("elsewhere")).toEqual([p2, "bob"]);
});

test("what sets up a wire never takes one from elsewhere", async () => {
  await init("p1", "--me", "alice", "--peer", "zoe");
  const joined = await deaddrop("elsewhere", "join", "--me", "zoe");
  expect(joined.exitCode).toBe(2);
  expect(joined.stderr).toContain("no wire here");
  expect(joined.stderr).toContain(`${join(machine.root, "p1/_coordination")}  (alice)`);
});
