import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { nodeDisk } from "../../src/storage/disk/node-disk.ts";
import { bindFolder, boundAt } from "../../src/storage/private/bound-folders.ts";
import { run } from "./fake-cli.ts";

// Two agents of one user in one repository: each is itself without --as, and neither is ever taken for
// the other. Spec 8.6.

let root: string;
let home: NodeJS.ProcessEnv;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "deaddrop-as-")));
  for (const folder of ["repo/web", "repo/api/src", "config/inter-agent-deaddrop"]) {
    mkdirSync(join(root, folder), { recursive: true, mode: 0o700 });
  }
  for (const handle of ["forge", "scribe"]) {
    writeFileSync(join(root, "config/inter-agent-deaddrop", `${handle}.key`), "key");
  }
  home = { XDG_CONFIG_HOME: join(root, "config"), DEADDROP_AS: undefined };
});
afterEach(() => rmSync(root, { recursive: true }));

const deaddrop = (folder: string, args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
  run(args, { cwd: join(root, folder), env: { ...home, ...env } });

/** Whose client a command opens there. */
async function sender(folder: string): Promise<string> {
  const { stdout } = await deaddrop(folder, ["as", "--json"]);
  return (JSON.parse(stdout) as { handle: string }).handle;
}

test("of two identities none is guessed: the command says what to do, and sends nothing", async () => {
  const { exitCode, stderr, recording } = await deaddrop("repo", ["send", "hello", "you"]);
  expect(exitCode).toBe(2);
  expect(stderr).toContain("several identities here: forge, scribe");
  expect(stderr).toContain("deaddrop as <handle>");
  expect(recording.drafts).toEqual([]);
});

test("each folder uses the identity that it was bound to, and so do those below it", async () => {
  expect((await deaddrop("repo/web", ["as", "forge"])).stdout).toBe(
    `You are forge in ${root}/repo/web, by deaddrop as in ${root}/repo/web.\n`,
  );
  await deaddrop("repo/api", ["as", "scribe"]);
  expect(await sender("repo/web")).toBe("forge");
  expect(await sender("repo/api/src")).toBe("scribe");
  expect((await deaddrop("repo/api/src", ["send", "hello", "you"])).exitCode).toBe(0);
  // Beside them nothing is bound.
  expect((await deaddrop("repo", ["as"])).exitCode).toBe(2);
  // Again is no change.
  expect((await deaddrop("repo/web", ["as", "forge"])).exitCode).toBe(0);
});

test("a second agent does not take the folder of the first", async () => {
  await deaddrop("repo", ["as", "forge"]);
  const { exitCode, stderr } = await deaddrop("repo", ["as", "scribe"]);
  expect(exitCode).toBe(1);
  expect(stderr).toContain(`${root}/repo is bound to forge`);
  expect(stderr).toContain("DEADDROP_AS=scribe");
  expect(stderr).toContain("If forge no longer works here: deaddrop as scribe --replace");
  expect(await sender("repo")).toBe("forge");
  // Nor when both come at once.
  const places = { configHome: join(root, "config"), stateHome: join(root, "state") };
  const binding = () =>
    bindFolder(nodeDisk(), places, { folder: `${root}/repo`, handle: "scribe" });
  expect(binding).toThrow(expect.objectContaining({ code: "exists" }));
  expect(boundAt(nodeDisk(), places, `${root}/repo`)?.handle).toBe("forge");
  await deaddrop("repo", ["as", "scribe", "--replace"]);
  expect(await sender("repo")).toBe("scribe");
  await deaddrop("repo", ["as", "--forget"]);
  expect((await deaddrop("repo", ["as"])).exitCode).toBe(2);
});

test("--as and DEADDROP_AS come first, and the command says so", async () => {
  await deaddrop("repo", ["as", "forge"]);
  const named = await deaddrop("repo", ["as"], { DEADDROP_AS: "scribe" });
  expect(named.stdout).toBe(`You are scribe in ${root}/repo, by DEADDROP_AS.\n`);
  const bound = await deaddrop("repo/web", ["as", "forge"], { DEADDROP_AS: "scribe" });
  expect(bound.stdout).toContain("You are scribe");
  expect(bound.stdout).toContain("and not forge: that comes first");
});

test("a person at a terminal is told once as whom a bound folder signs; an agent is not", async () => {
  await deaddrop("repo", ["as", "forge"]);
  const send = (tty: boolean, ...flags: readonly string[]) =>
    run(["send", "hello", "you", ...flags], { cwd: join(root, "repo"), env: home, tty });
  expect((await send(false)).stderr).toBe("");
  expect((await send(true, "--as", "scribe")).stderr).toBe("");
  const first = await send(true);
  expect(first.exitCode).toBe(0);
  expect(first.stderr).toContain(`You sign as forge: ${root}/repo is bound to that identity`);
  expect(first.stderr).toContain("--as <handle>");
  expect((await send(true)).stderr).toBe("");
  expect(await sender("repo")).toBe("forge");
  // Another identity is another signature.
  await deaddrop("repo", ["as", "scribe", "--replace"]);
  expect((await send(true)).stderr).toContain("You sign as scribe");
});

test("nobody is bound who is not here, and a damaged note is named", async () => {
  const { exitCode, stderr } = await deaddrop("repo", ["as", "mason"]);
  expect(exitCode).toBe(1);
  expect(stderr).toContain('no identity "mason"');
  expect(existsSync(join(root, "config/inter-agent-deaddrop/.folders"))).toBe(false);
  await deaddrop("repo", ["as", "forge"]);
  const notes = join(root, "config/inter-agent-deaddrop/.folders");
  const [note = ""] = nodeDisk().list(notes);
  writeFileSync(join(notes, note), "[]", { mode: 0o600 });
  const damaged = await deaddrop("repo", ["as"]);
  expect([damaged.exitCode, damaged.stderr]).toEqual([2, expect.stringContaining("rm ")]);
  // What a crash left of a binding is none.
  writeFileSync(join(notes, note), "", { mode: 0o600 });
  await deaddrop("repo", ["as", "scribe"]);
  expect(await sender("repo")).toBe("scribe");
});
