import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, renameSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { makeWire, removeWires, type LiveWire } from "../support/processes/live-wire.ts";
import { BIN, start, type Ended } from "../support/processes/real-processes.ts";

const WITHOUT_SOCKETS = fileURLToPath(
  new URL("../support/processes/without-sockets.py", import.meta.url),
);

afterEach(removeWires);

/** A program that runs another one with less. */
type Wrapper = readonly string[];

const seccomp: Wrapper = ["python3", WITHOUT_SOCKETS];

/** The wire's folder and the home are read-only there, whatever else the machine has. */
function readOnly({ folder }: LiveWire): Wrapper {
  const script = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"';
  return ["unshare", "-rm", "sh", "-c", script, folder];
}

/** Why a wrapper cannot be used here, or undefined. */
function missing(wrapper: Wrapper): string | undefined {
  const [program = "", ...args] = wrapper;
  const { status, stderr, error } = spawnSync(program, [...args, "true"], { encoding: "utf8" });
  return status === 0 ? undefined : `${program}: ${error?.message ?? stderr.trim()}`;
}

function command(wire: LiveWire, wrapper: Wrapper, ...args: readonly string[]): Promise<Ended> {
  const [program = "", ...rest] = wrapper;
  const at = ["--wire", wire.dir, "--as", "forge"];
  const argv = [...rest, process.execPath, BIN, ...args, ...at];
  return start(program, argv, { env: wire.env, input: "" }).ended;
}

/** Everything below the private folders, but the socket. */
function fingerprint(wire: LiveWire): string {
  const hash = createHash("sha256");
  const { configDir, stateDir } = wire.paths("forge");
  for (const folder of [configDir, stateDir]) {
    for (const name of readdirSync(folder, { recursive: true }).map(String).toSorted()) {
      const path = join(folder, name);
      if (!statSync(path).isFile()) continue;
      hash.update(`${path}\n`).update(readFileSync(path));
    }
  }
  return hash.digest("hex");
}

/** What a daemon has taken in, and a line that no daemon has seen yet. */
async function wireWithMail(): Promise<LiveWire> {
  const wire = makeWire({ cadenceSeconds: 600 });
  await wire.json("scribe", "send", "build is green");
  return wire;
}

test("where no socket may be made, commands read from files and say so, and nothing is sent", async ({
  skip,
}) => {
  const reason = missing(seccomp);
  skip(reason !== undefined, reason);
  const wire = await wireWithMail();
  const daemon = await wire.daemon("forge");
  // Nothing of its own changes while the commands look.
  daemon.child.kill("SIGSTOP");
  const before = fingerprint(wire);

  const inbox = await command(wire, seccomp, "inbox");
  expect(inbox).toMatchObject({ code: 0 });
  expect(inbox.stdout).toContain("build is green");
  expect(inbox.stderr).toMatch(
    /^deaddrop: this shell is sandboxed: it may not connect to the daemon, only read; this is what its files say as of \d{4}-\d\d-\d\dT[\d:]+Z\n$/,
  );
  const status = await command(wire, seccomp, "status", "--json");
  expect(JSON.parse(status.stdout)).toMatchObject({
    daemon: { running: true, pid: daemon.pid },
    unread: 1,
  });
  const check = await command(wire, seccomp, "check", join(wire.folder, "a.ts"));
  expect(check.code).toBe(0);
  expect(check.stderr).not.toContain("No daemon runs");

  for (const args of [
    ["send", "hello", "Hi"],
    ["claim", "src"],
    ["inbox", "--mark-read"],
  ]) {
    const refused = await command(wire, seccomp, ...args);
    expect(refused.code).toBe(6);
    expect(refused.stderr).toMatch(
      /^deaddrop: this shell is sandboxed: it may not connect to the daemon, only read\n {2}nothing was sent or changed; the MCP tools of deaddrop work; .*integrate codex --open-sandbox .*integrate claude --open-sandbox .*\n$/,
    );
  }
  expect(fingerprint(wire)).toBe(before);
  expect(wire.lines("forge_to_scribe.jsonl").filter(({ type }) => type !== "heartbeat")).toEqual(
    [],
  );

  const doctor = await command(wire, seccomp, "doctor", "--json");
  const { checks, troubles } = JSON.parse(doctor.stdout) as Record<string, object[]>;
  expect(troubles).toContainEqual(
    expect.objectContaining({ code: "sandbox", severity: "warning" }),
  );
  expect(checks).toContainEqual(expect.objectContaining({ check: "daemon" }));
});

test("a sandbox is named by what its tool puts into the environment", async ({ skip }) => {
  const reason = missing(seccomp);
  skip(reason !== undefined, reason);
  const wire = await wireWithMail();
  await wire.daemon("forge");
  const say = async (env: NodeJS.ProcessEnv): Promise<string> =>
    (await command({ ...wire, env: { ...wire.env, ...env } }, seccomp, "send", "hello")).stderr;
  const codex = await say({ CODEX_SANDBOX_NETWORK_DISABLED: "1" });
  expect(codex).toContain("this shell is sandboxed by Codex: ");
  expect(codex).toContain("[sandbox_workspace_write] network_access = true");
  expect(codex).not.toContain("integrate claude");
  const claude = await say({ SANDBOX_RUNTIME: "1" });
  expect(claude).toContain("this shell is sandboxed by Claude Code: ");
  expect(claude).toMatch(/sandbox\.network\.allow\w*UnixSockets/);
});

test("where no daemon runs, a shell without sockets works as every other", async ({ skip }) => {
  const reason = missing(seccomp);
  skip(reason !== undefined, reason);
  const wire = await wireWithMail();
  expect(await command(wire, seccomp, "send", "hello")).toMatchObject({ code: 0, stderr: "" });
});

test("on a read-only disk commands read, and a sandbox is told from a disk", async ({ skip }) => {
  const wire = await wireWithMail();
  const wrapper = readOnly(wire);
  const reason = missing(wrapper);
  skip(reason !== undefined, reason);
  // What is read then is the store.
  await wire.run("forge", "inbox");

  const inbox = await command(wire, wrapper, "inbox");
  expect(inbox).toMatchObject({ code: 0 });
  expect(inbox.stdout).toContain("build is green");

  const send = await command(wire, wrapper, "send", "hello");
  expect(send.code).toBe(6);
  expect(send.stderr).toContain("the filesystem is read-only");
  expect(send.stderr).not.toContain("sandboxed");
  const env = { ...wire.env, CODEX_SANDBOX_NETWORK_DISABLED: "1" };
  const sandboxed = await command({ ...wire, env }, wrapper, "send", "hello");
  expect(sandboxed.code).toBe(6);
  expect(sandboxed.stderr).toMatch(/^deaddrop: this shell is sandboxed by Codex: .*read-only/);
});

test("private folders may be links to folders of this user", async () => {
  const wire = await wireWithMail();
  const { stateDir, configDir } = wire.paths("forge");
  for (const [at, folder] of [stateDir, configDir].entries()) {
    const elsewhere = join(wire.folder, `elsewhere ${at}`);
    renameSync(folder, elsewhere);
    symlinkSync(elsewhere, folder);
  }
  const daemon = await wire.daemon("forge");
  expect((await wire.run("forge", "inbox")).stdout).toContain("build is green");
  expect((await wire.run("forge", "send", "hello")).code).toBe(0);
  await daemon.stop();
  expect((await wire.run("forge", "send", "again")).code).toBe(0);
});
