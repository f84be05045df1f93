import { mkdirSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { sandboxRuntime, toolOrSkip } from "../support/processes/coding-tool-cache.ts";
import { makeWire, removeWires, type LiveWire } from "../support/processes/live-wire.ts";
import { BIN, start, type Ended } from "../support/processes/real-processes.ts";

// Commands in the sandboxes that coding tools put them into: first as they are, then with the setting that
// `integrate --open-sandbox` writes.

afterEach(removeWires);

/** Runs a command of ours in a sandbox, and says what became of it. */
type InSandbox = (...args: readonly string[]) => Promise<Ended>;

function inside(wire: LiveWire, project: string, words: readonly string[]): InSandbox {
  // Into files: what Node gives a child for a pipe is a socket, which Codex lets nobody ask about.
  const said = join(wire.folder, "said");
  const script = '"$@" >"$0.out" 2>"$0.err"; code=$?; cat "$0.out"; cat "$0.err" >&2; exit $code';
  return (...args) => {
    const argv = [
      "-c",
      script,
      said,
      ...words,
      process.execPath,
      BIN,
      ...args,
      "--wire",
      wire.dir,
      "--as",
      "forge",
    ];
    const env = { ...wire.env, TERM: "xterm" };
    return start("sh", argv, { env, cwd: project, input: "" }).ended;
  };
}

async function wireWithDaemon(): Promise<{ wire: LiveWire; project: string }> {
  // Codex refuses a home below the folder for temporary files.
  const wire = makeWire({ cadenceSeconds: 60, under: homedir() });
  await wire.json("scribe", "send", "build is green");
  await wire.daemon("forge");
  const project = join(wire.folder, "project");
  mkdirSync(project);
  return { wire, project };
}

async function expectClosed(command: InSandbox, name: string): Promise<void> {
  const inbox = await command("inbox");
  expect(inbox, inbox.stderr).toMatchObject({ code: 0 });
  expect(inbox.stdout).toContain("build is green");
  expect(inbox.stderr).toContain(`this shell is sandboxed by ${name}`);
  const send = await command("send", "hello");
  expect(send.code).toBe(6);
  expect(send.stderr).toContain(`this shell is sandboxed by ${name}`);
}

async function expectOpen(command: InSandbox): Promise<void> {
  const send = await command("send", "hello");
  expect(send, send.stderr).toMatchObject({ code: 0 });
}

test("codex sandbox", async ({ skip }) => {
  const { program } = await toolOrSkip("codex", skip);
  const { wire, project } = await wireWithDaemon();
  const words = [program, "sandbox", "-c", 'sandbox_mode="workspace-write"'];
  await expectClosed(inside(wire, project, [...words, "--"]), "Codex");
  const opened = ["-c", "sandbox_workspace_write.network_access=true"];
  await expectOpen(inside(wire, project, [...words, ...opened, "--"]));
});

test("the sandbox of Claude Code", async ({ skip }) => {
  const program = sandboxRuntime();
  skip(program === undefined, "DEADDROP_CODING_TOOLS has no @anthropic-ai/sandbox-runtime");
  const { wire, project } = await wireWithDaemon();
  const settings = (allowAllUnixSockets: boolean): string => {
    const path = join(wire.folder, `srt-${allowAllUnixSockets}.json`);
    const network = { allowedDomains: [], deniedDomains: [], allowAllUnixSockets };
    const filesystem = { denyRead: [], allowWrite: ["."], denyWrite: [] };
    writeFileSync(path, JSON.stringify({ network, filesystem }));
    return path;
  };
  const words = (isOpen: boolean) => [program ?? "", "--settings", settings(isOpen)];
  await expectClosed(inside(wire, project, words(false)), "Claude Code");
  await expectOpen(inside(wire, project, words(true)));
});
