import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { delimiter, join, resolve } from "node:path";
import { afterEach, describe, expect, test, type TestContext } from "vitest";
import { makeWire, removeWires, type LiveWire } from "../support/processes/live-wire.ts";
import { until } from "../support/processes/real-processes.ts";

const PROGRAM = resolve(import.meta.dirname, "../../bin/deaddrop.js");
const WITHOUT_NATIVE = resolve(import.meta.dirname, "../support/processes/without-native.js");

afterEach(removeWires);

const at = (wire: LiveWire) => ["--wire", wire.dir, "--as", "forge"];

/** Runs `deaddrop` in a shell that has prepared the machine; its own words are `$@`. */
function runAfter(script: string, wire: LiveWire, args: readonly string[], env = {}) {
  const words = ["-c", script, "sh", process.execPath, PROGRAM, ...args];
  const { status, stdout, stderr } = spawnSync("sh", words, {
    cwd: wire.folder,
    env: { ...wire.env, ...env },
    encoding: "utf8",
  });
  return { status, stdout, stderr };
}

const run = (wire: LiveWire, args: readonly string[], env = {}) =>
  runAfter('exec "$@"', wire, args, env);

/** A PATH with these programs alone. */
function pathOf(wire: LiveWire, programs: readonly string[]): string {
  const folder = join(wire.folder, "programs");
  mkdirSync(folder);
  for (const name of programs) {
    const found = (process.env["PATH"] ?? "")
      .split(delimiter)
      .map((each) => join(each, name))
      .find((each) => existsSync(each));
    if (found !== undefined) symlinkSync(found, join(folder, name));
  }
  return folder;
}

describe("a machine that lacks something is no bug of ours", () => {
  test("a folder for temporary files that is missing is named, with the variable that sets it", () => {
    const wire = makeWire();
    const { status, stderr } = run(wire, ["demo"], { TMPDIR: join(wire.folder, "missing") });
    expect(stderr).toContain("no such file or directory");
    expect(stderr).toContain("set TMPDIR to a folder that exists");
    expect(stderr).not.toContain("bug");
    expect(status).toBe(6);
  });

  test("without /proc, messages are sent and read", ({ skip }: TestContext) => {
    const hide = "mount -t tmpfs none /proc";
    const none = spawnSync("unshare", ["-rm", "sh", "-c", hide]).status !== 0;
    skip(none, "unshare -rm cannot hide /proc here");
    const wire = makeWire();
    const without = `exec unshare -rm sh -c '${hide} && exec "$@"' sh "$@"`;
    const sent = runAfter(without, wire, ["send", "hello", "a body", ...at(wire)]);
    expect(sent.stderr).toBe("");
    expect(sent.status).toBe(0);
    expect(runAfter(without, wire, ["sent", ...at(wire)]).stdout).toContain("hello");
  });

  test("without flock and koffi a command says what to install", () => {
    const wire = makeWire();
    const { status, stderr } = run(wire, ["send", "hello", "a body", ...at(wire)], {
      PATH: pathOf(wire, ["sh"]),
      NODE_OPTIONS: `--import ${WITHOUT_NATIVE}`,
    });
    expect(stderr).toContain("cannot take a kernel lock: flock(1) was not found in PATH");
    expect(stderr).toContain("apt install util-linux");
    expect(stderr).not.toContain("bug");
    expect(status).toBe(6);
  });

  test("a full standard output is named, and that the command may be done", ({ skip }) => {
    skip(!existsSync("/dev/full"), "this system has no /dev/full");
    const wire = makeWire();
    const full = runAfter('exec "$@" >/dev/full', wire, ["send", "hello", "a body", ...at(wire)]);
    expect(full.stderr).toContain("the output cannot be written: ENOSPC");
    expect(full.stderr).toContain("look before you repeat it");
    expect(full.stderr).not.toMatch(/^ +at /m);
    expect(full.status).toBe(6);
    expect(run(wire, ["sent", ...at(wire)]).stdout).toContain("hello");
  });

  test.each(["", "relative"])("no key goes below HOME=%j", (HOME) => {
    const wire = makeWire();
    const folder = join(wire.folder, "project");
    mkdirSync(folder);
    for (const words of [["keygen", "visitor"], ["init", "--me", "visitor"], ["doctor"]]) {
      const script = `cd ${folder} && exec "$@"`;
      const { status, stderr } = runAfter(script, wire, words, { HOME });
      expect(stderr).toContain("set HOME to your home folder, as an absolute path");
      expect(status).toBe(2);
    }
    expect(readdirSync(folder)).toEqual([]);
  });

  test("a wire in memory is lost at the next start: doctor warns", ({ skip }) => {
    const isTmpfs = spawnSync("stat", ["-f", "-c", "%T", "/dev/shm"]).stdout?.toString().trim();
    skip(isTmpfs !== "tmpfs", "/dev/shm is no tmpfs here");
    const wire = makeWire({ under: "/dev/shm" });
    const { troubles } = JSON.parse(run(wire, ["doctor", "--json", ...at(wire)]).stdout) as {
      troubles: { code: string; severity: string }[];
    };
    expect(troubles).toContainEqual(
      expect.objectContaining({ code: "wire_in_memory", severity: "warning" }),
    );
  });
});

describe("without a service manager", () => {
  test.each(["install", "start", "restart"])("`service %s` fails, and says what to run", (verb) => {
    const wire = makeWire();
    const args = ["service", verb, ...at(wire)];
    const { status, stdout } = run(wire, args, { PATH: pathOf(wire, ["sh"]) });
    expect(status).toBe(1);
    expect(stdout).toContain(`deaddrop daemon --detach --wire ${wire.dir} --as forge`);
    expect(stdout).toContain("run it in the foreground: ");
  });

  test("`daemon --detach` outlives its shell, is not started twice, and `service logs` shows its log", async () => {
    const wire = makeWire();
    const env = { PATH: pathOf(wire, ["sh", "tail", "flock"]) };
    const started = run(wire, ["daemon", "--detach", "--json", ...at(wire)], env);
    expect(started.stderr).toBe("");
    const { pid, log } = JSON.parse(started.stdout) as { pid: number; log: string };
    try {
      expect(started.status).toBe(0);
      const again = run(wire, ["daemon", "--detach", ...at(wire)], env);
      expect(again.stderr).toContain("the daemon of forge runs already");
      expect(again.status).toBe(5);
      expect(run(wire, ["service", "logs", ...at(wire)], env).stdout).toContain("the daemon runs");
      expect(readFileSync(log, "utf8")).toContain("the daemon runs");
      const words = `/proc/${pid}/cmdline`;
      // An older Node.js does not start with it; other systems do not show the words of a process here.
      if (existsSync(words)) {
        const isPassed = readFileSync(words, "utf8").includes("\0--disable-sigusr1\0");
        expect(isPassed).toBe(process.allowedNodeEnvironmentFlags.has("--disable-sigusr1"));
      }
    } finally {
      process.kill(pid);
    }
    await until("it has ended", () => !isRunning(pid));
    expect(run(wire, ["service", "logs", ...at(wire)], env).stdout).toContain("the daemon ends");
  });

  test("a daemon that cannot start is told with its log", () => {
    const wire = makeWire();
    writeFileSync(wire.paths("forge").mark, "no mark of a key");
    const { status, stderr } = run(wire, ["daemon", "--detach", ...at(wire)]);
    expect(status).toBe(1);
    expect(stderr).toContain("the daemon of forge ended with ");
    expect(stderr).toContain("look at what it said: tail ");
  });
});

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
