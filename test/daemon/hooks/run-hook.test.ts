import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { runHook, type HookEnd } from "../../../src/daemon/hooks/run-hook.ts";
import { until } from "../../support/processes/real-processes.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "deaddrop-hook-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function run(
  command: readonly string[],
  more: Partial<Parameters<typeof runHook>[0]> = {},
): Promise<HookEnd> {
  const { signal } = new AbortController();
  return runHook({ command, input: "", facts: {}, timeoutMs: 60_000, signal, ...more });
}

/** A script that notes its process id and one in the background, and then hangs. */
function hanging(): { readonly command: readonly string[]; pids(): Promise<number[]> } {
  const noted = join(folder, "pids");
  const text = `sleep 1000 & echo $$ > ${noted}.new; echo $! >> ${noted}.new; mv ${noted}.new ${noted}; wait`;
  return {
    command: ["sh", "-c", text],
    async pids() {
      await until("it runs", () => existsSync(noted));
      return readFileSync(noted, "utf8").trim().split("\n").map(Number);
    },
  };
}

it("hands over arguments as they are, the input, the facts and the home folder", async () => {
  const out = join(folder, "out");
  const text = `printf '%s\\n' "$1" "$FACT" "$PWD" > ${out}; cat >> ${out}`;
  const argument = "$(touch pwned); `id` 'x'";
  const end = await run(["sh", "-c", text, "sh", argument], {
    input: "line 1\nline 2\n",
    facts: { FACT: "a fact" },
  });
  expect(end).toEqual({ how: "done", detail: "exit code 0", said: "" });
  expect(readFileSync(out, "utf8")).toBe(`${argument}\na fact\n${homedir()}\nline 1\nline 2\n`);
});

it("keeps from the program what is between the daemon and the service manager", async () => {
  const before = process.env["NOTIFY_SOCKET"];
  process.env["NOTIFY_SOCKET"] = "/run/notify";
  try {
    const out = join(folder, "out");
    await run(["sh", "-c", `env > ${out}`]);
    expect(readFileSync(out, "utf8")).not.toContain("NOTIFY_SOCKET");
  } finally {
    if (before === undefined) delete process.env["NOTIFY_SOCKET"];
    else process.env["NOTIFY_SOCKET"] = before;
  }
});

it("says how it ended, with the end of what it said, in one safe row", async () => {
  const text = "head -c 100000 /dev/zero | tr '\\0' x >&2; printf 'a\\033[2Jb\\nlast' >&2; exit 3";
  const end = await run(["sh", "-c", text]);
  expect(end).toMatchObject({ how: "failed", detail: "exit code 3" });
  expect(end.said.length).toBeLessThan(300);
  expect(end.said).toMatch(/last$/);
  expect(end.said).not.toMatch(/\p{Cc}/u);
});

it("says that there is no such program, and that it may not be run", async () => {
  expect(await run(["/no/such/program"])).toMatchObject({ how: "not started" });
  const file = join(folder, "plain");
  writeFileSync(file, "text");
  expect(await run([file])).toMatchObject({ how: "not started" });
});

it("rejects what the system refuses at once", async () => {
  await expect(run(["true"], { facts: { FACT: "a\0b" } })).rejects.toThrow("null bytes");
});

it("does not mind a program that never reads its input", async () => {
  const end = await run(["true"], { input: "x".repeat(10_000_000) });
  expect(end).toMatchObject({ how: "done" });
});

/** A process that has ended and that nobody has asked about yet counts as gone. */
function isGone(pid: number): boolean {
  const { stdout } = spawnSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" });
  return stdout.trim() === "" || stdout.startsWith("Z");
}

it("ends what takes too long", async () => {
  expect(await run(["sleep", "1000"], { timeoutMs: 1 })).toMatchObject({ how: "timed out" });
});

it("ends the program with all that it has started", async () => {
  const { command, pids } = hanging();
  const stop = new AbortController();
  const ended = run(command, { signal: stop.signal });
  const running = await pids();
  expect(running.map(isGone)).toEqual([false, false]);
  stop.abort();
  expect(await ended).toMatchObject({ how: "stopped" });
  await until("both are gone", () => running.every(isGone));
});

it("kills what does not end when it is asked to", async () => {
  const noted = join(folder, "pid");
  const text = `trap '' TERM; echo $$ > ${noted}.new; mv ${noted}.new ${noted}; while :; do sleep 0.1; done`;
  const stop = new AbortController();
  const ended = run(["sh", "-c", text], { signal: stop.signal });
  await until("it runs", () => existsSync(noted));
  stop.abort();
  expect(await ended).toEqual({ how: "stopped", detail: "SIGKILL", said: "" });
});

it("kills what the program has started and does not end when it is asked to", async () => {
  const noted = join(folder, "pid");
  const stubborn = `trap '' TERM; echo $$ > ${noted}.new; mv ${noted}.new ${noted}; while :; do sleep 0.1; done`;
  const stop = new AbortController();
  const ended = run(["sh", "-c", `sh -c "${stubborn.replace("$$", "\\$\\$")}" & wait`], {
    signal: stop.signal,
  });
  await until("it runs", () => existsSync(noted));
  stop.abort();
  expect(await ended).toMatchObject({ how: "stopped", detail: "SIGTERM" });
  await until("it is gone", () => isGone(Number(readFileSync(noted, "utf8"))));
});

it("does not wait for what the program leaves in the background", async () => {
  const end = await run(["sh", "-c", "sleep 30 2>&2 & exit 0"]);
  expect(end).toMatchObject({ how: "done" });
});
