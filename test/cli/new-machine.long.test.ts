import { execFileSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openClient } from "../../src/client/open-client.ts";
import { newMachine, type Machine } from "../setup/machine.ts";
import { BY_FLAGS, commandsOn } from "./on-machine.ts";

// A machine, or the private folder of an agent, is lost: what is printed then is typed, and works.

const PASSPHRASE = "seven blue herons walk home";

let first: Machine;
let second: Machine;
const one = commandsOn(() => first, { openClient });
const two = commandsOn(() => second, { openClient });
beforeEach(() => {
  first = newMachine();
  second = newMachine();
  for (const { env } of [first, second]) env["DEADDROP_PASSPHRASE"] = PASSPHRASE;
});
afterEach(() => {
  first.remove();
  second.remove();
});

/** The commands in a text, as they are printed. */
function commandsIn(text: string): string[] {
  return [...text.matchAll(/^\s*((?:deaddrop|git|mv) .*)$/gm)].map(([, command = ""]) => command);
}

/** Types a printed command in the folder of the machine; what it prints. */
async function type(machine: Machine, command: string): Promise<string> {
  const words = [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word);
  const [program, ...args] = words as string[];
  if (program !== "deaddrop") {
    return execFileSync(program ?? "", args, {
      cwd: machine.root,
      encoding: "utf8",
      stdio: "pipe",
    });
  }
  const { run } = machine === first ? one : two;
  const { code, stdout, stderr } = await run(...args);
  expect([code, stderr]).toEqual([0, ""]);
  return stdout;
}

it("a wire that is shared through git is restored on a new machine by what is printed", async () => {
  const remote = join(first.root, "wire.git");
  execFileSync("git", ["init", "--quiet", "--bare", remote]);
  await one.json("init", "--me", "forge", "--peer", "scribe", "--remote", remote);
  await one.json("send", "before", "x", "--as", "forge");
  const file = join(first.root, "forge.age");
  const made = await one.run("backup", file, "--as", "forge");
  expect(made.stdout).toContain("On a new machine:");
  expect(commandsIn(made.stdout).slice(-3)).toEqual([
    `git clone --branch main ${remote} _coordination`,
    `deaddrop backup restore ${file} --wire _coordination --as forge`,
    expect.stringMatching(/^deaddrop transport switch git --remote /),
  ]);

  const lost = await two.run("restore", file);
  expect(lost.code).toBe(2);
  expect(lost.stderr).not.toContain("deaddrop init");
  const [clone = "", restore = "", share = ""] = commandsIn(lost.stderr);
  expect([clone, restore, share]).toEqual(commandsIn(made.stdout).slice(-3));
  await type(second, clone);
  expect(await type(second, restore)).toContain("share it again: deaddrop transport switch git");
  await type(second, share);
  const { stdout: status } = await two.run("transport", "status", "--as", "forge");
  expect(status).toContain(`git  ${remote}  (main)`);
  await two.json("send", "after", "x", "--as", "forge");
  const again = await two.run(
    "restore",
    file,
    "--wire",
    "_coordination",
    "--accept-older",
    ...BY_FLAGS,
  );
  expect(again.stdout).not.toContain("share it again");
});

it("a private folder that is lost without a backup: the printed commands begin again", async () => {
  await one.json("init", "--me", "forge", "--peer", "scribe", "--local-pair");
  await one.json("send", "before", "x", "--as", "forge");
  await one.json("send", "to you", "x", "--as", "scribe");
  const base = join(first.root, "config", "inter-agent-deaddrop");
  const wire = readdirSync(base).find((name) => /^[0-9a-f]{16}$/.test(name)) ?? "";
  rmSync(join(base, wire, "forge"), { recursive: true });

  const lost = await one.run("inbox", "--as", "forge");
  expect(lost.code).toBe(2);
  expect(lost.stderr).not.toContain("somebody");
  expect((await one.run("join", first.wireDir, "--me", "forge")).stderr).toBe(lost.stderr);
  const [restore, move = "", join2 = ""] = commandsIn(lost.stderr);
  expect(restore).toBe(`deaddrop backup restore FILE --wire ${first.wireDir} --as forge`);
  const checked = await one.run("doctor", "--as", "forge");
  expect(checked.stdout).not.toContain("\\n");
  expect(commandsIn(checked.stdout)).toContain(move);
  await type(first, move);
  const joined = await type(first, join2);
  const compare = commandsIn(joined).find((command) => command.includes("trust sas scribe"));
  await type(first, compare ?? "");
  await one.run("trust", "sas", "forge", "--again", "--as", "scribe", ...BY_FLAGS);
  for (let looks = 0; looks < 2; looks += 1) {
    await type(first, compare ?? "");
    await one.json("trust", "sas", "forge", "--as", "scribe");
  }
  const { digits } = await one.json<{ digits: string }>("trust", "sas", "scribe", "--as", "forge");
  await one.json("trust", "verify", "scribe", digits, "--as", "forge", ...BY_FLAGS);

  // Nothing is lost, and its chain goes on when its operator has said that nobody else writes in its name.
  const refused = await one.run("send", "too early", "x", "--as", "forge");
  expect([refused.code, commandsIn(refused.stderr)]).toEqual([1, ["deaddrop key reclaim"]]);
  await one.json("reclaim", "--as", "forge", ...BY_FLAGS);
  expect((await one.run("inbox", "--as", "forge")).stdout).toContain("to you");
  await one.json("send", "after", "x", "--as", "forge");
  const { stdout: seen } = await one.run("inbox", "--as", "scribe");
  expect(seen).toMatch(/before[^]*after/);
  expect((await one.run("incident", "notices", "--as", "scribe")).stdout).toBe(
    "Nothing noticed.\n",
  );
});
