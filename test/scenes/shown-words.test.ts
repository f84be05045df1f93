import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { run as runCommand, type Answered } from "../cli/fake-cli.ts";
import { clientOf } from "../support/scenes/scene-cli.ts";
import { checkedScenes } from "../support/scenes/scene-checks.ts";
import { toolIn } from "../support/scenes/scene-mcp.ts";
import type { SimulatedWire } from "../support/scenes/simulated-wire.ts";
import { HOUR, MINUTE } from "../support/scripts/proposal-scene.ts";

// What screens say about deadlines, threads, references and ids is what is true, and can be read.
const sceneOf = checkedScenes("replay and audit");
const WHOLE_ID = /[0-9a-f]{64}/;

let project: string;
let wire: SimulatedWire;

beforeEach(async () => {
  project = mkdtempSync(join(tmpdir(), "deaddrop-words-"));
  mkdirSync(join(project, "_coordination"));
  wire = sceneOf(["forge", "scribe"]);
  await wire.start();
  await wire.pass(MINUTE);
});
afterEach(() => rmSync(project, { recursive: true }));

/** One command of an agent in the project, with all digits of ids as they are printed. */
async function run(handle: string, ...args: readonly string[]): Promise<Answered> {
  const answered = await runCommand(args, {
    cwd: project,
    env: { DEADDROP_WIRE: join(project, "_coordination"), DEADDROP_AS: handle },
    nowMs: wire.nowMs,
    openClient: async () => clientOf(wire, handle, join(project, "_coordination")),
  });
  await wire.pass(5_000);
  return answered;
}

/** The event id that a command which sends has printed. */
async function sent(handle: string, ...args: readonly string[]): Promise<string> {
  const { stdout, stderr } = await run(handle, ...args);
  const id = /^(?:sent|queued) ([0-9a-f]{10})/m.exec(stdout)?.[1];
  expect(stderr).toBe("");
  return id ?? expect.unreachable(stdout);
}

const shown = async (handle: string, ...args: readonly string[]): Promise<string> =>
  (await run(handle, ...args)).stdout;

test("a proposal that is has a due time is due then, before and after it is read", async () => {
  const atMs = wire.nowMs + 2 * HOUR;
  await sent("forge", "propose", "Use pnpm", "--due", "2h");
  const due = new Date((Math.floor(atMs / MINUTE) + 1) * MINUTE).toISOString();
  const pages: readonly (readonly string[])[] = [["inbox"], ["pending"], ["status"], ["catch-up"]];
  const everywhere = async (): Promise<void> => {
    for (const page of pages) {
      const said = await shown("scribe", ...page);
      expect([page, said]).toEqual([page, expect.stringContaining("due in 2 h")]);
      expect(said).not.toContain("after it is read");
    }
    for (const page of ["pending", "status"])
      expect(await shown("forge", page)).toContain("due in 2 h");
    expect(await toolIn(wire, "scribe", "read", { what: "pending" })).toContain(`due ${due}`);
  };
  await everywhere();
  await run("scribe", "inbox", "--unread", "--mark-read");
  await wire.pass(2 * MINUTE);
  await everywhere();
});

test("a proposal without one says how long there is once it is read", async () => {
  await sent("forge", "propose", "Use pnpm");
  const before = /due 30 min after it is read, else (in 24 h|\d{4}-)/;
  expect(await shown("scribe", "inbox")).toMatch(before);
  expect(await shown("scribe", "pending")).toMatch(before);
  expect(await shown("forge", "pending")).toMatch(before);
  expect(await toolIn(wire, "scribe", "read", { what: "pending" })).toContain(
    "due 30 min after it is read, else 2",
  );
  await run("scribe", "inbox", "--unread", "--mark-read");
  await wire.pass(2 * MINUTE);
  for (const handle of wire.roster) {
    const said = await shown(handle, "pending");
    expect(said).toMatch(/due in (28|29|30) min/);
    expect(said).not.toContain("after it is read");
  }
});

test("a name that no thread has is refused, and nothing is sent", async () => {
  const before = wire.lines("forge_to_scribe.jsonl").length;
  const { exitCode, stderr } = await run("forge", "send", "hello", "--thread", "zzzz");
  expect(exitCode).not.toBe(0);
  expect(stderr).toContain('not sent: no thread here is named "zzzz"');
  expect(stderr).toContain("to begin a new one, leave the thread out");
  const args = { subject: "hello", body: "x", reply_to: "zzzz" };
  expect(await toolIn(wire, "forge", "send", args)).toContain('no message is named "zzzz"');
  await wire.pass(MINUTE);
  const after = wire.lines("forge_to_scribe.jsonl").slice(before);
  expect(after.filter((line) => line.includes("hello"))).toEqual([]);

  const first = await sent("forge", "send", "a first word");
  const listed = JSON.parse(await shown("forge", "thread", first, "--json")) as unknown;
  const { correlation_id: name } = Array.isArray(listed) ? listed[0] : listed;
  await sent("forge", "send", "by its name", "--thread", name);
  await sent("forge", "send", "by a message", "--thread", first);
  const thread = await shown("scribe", "thread", first);
  for (const subject of ["a first word", "by its name", "by a message"]) {
    expect(thread).toContain(subject);
  }
});

test("a reference to what is not there is sent, and its sender is told", async () => {
  const git = (...args: string[]): string =>
    execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@example.org", ...args], {
      cwd: project,
      encoding: "utf8",
    }).trim();
  git("init", "--quiet");
  git("commit", "--quiet", "--allow-empty", "-m", "first");
  const head = git("rev-parse", "--short", "HEAD");
  mkdirSync(join(project, "src"));
  writeFileSync(join(project, "src/a.ts"), "a\n");
  const there = [
    "src/a.ts",
    "src/a.ts:12",
    "src/a.ts#L3",
    "src/*.ts",
    "src/",
    `git:${head}`,
    "https://example.org/x",
  ];
  const noted = await run("forge", "send", "s", ...there.flatMap((ref) => ["--ref", ref]));
  expect([noted.stdout, noted.exitCode]).toEqual([
    expect.not.stringMatching(/nothing|no commit/i),
    0,
  ]);

  const absent = ["src/a.ts", "nope/none.txt", "git:deadbeef", "git:main"];
  const { stdout, exitCode } = await run(
    "forge",
    "send",
    "s",
    ...absent.flatMap((ref) => ["--ref", ref]),
  );
  expect(exitCode).toBe(0);
  expect(stdout).toContain('Nothing is at "nope/none.txt" yet: paths begin at ');
  expect(stdout).toContain('No commit of this repository is named by "git:deadbeef", "git:main"');
  const args = { subject: "s", body: "b", refs: ["README.md", "nope/none.txt", "git:deadbeef"] };
  const said = await toolIn(wire, "forge", "send", args);
  expect(said).toMatch(/"note":"Nothing is at \\"nope\/none.txt\\" yet/);
  expect(said).toContain("No commit of this repository");
});

test("no screen shows all 64 digits of an id in a body", async () => {
  const inFolder = join(project, "out.txt");
  writeFileSync(inFolder, "built\n");
  const proposal = await sent("forge", "propose", "Use pnpm");
  await sent("scribe", "counter", proposal, "Use npm", "it is here already");
  const word = await sent("forge", "send", "a word", "with a mistake");
  await sent("forge", "correct", word, "without one");
  const other = await sent("forge", "propose", "Use yarn");
  await sent("forge", "correct", other, "--revert", "--body", "not now");
  const claim = await sent("forge", "claim", "src/");
  await sent("forge", "release", claim);
  const incident = await sent("forge", "incident", "raise", "main is broken", "--severity", "low");
  await sent("scribe", "incident", "ack", incident, "--reason", "on it");
  await sent("forge", "incident", "resolve", incident, "reverted");
  await sent("forge", "ship", "it", "--state", "green", "--ref", "out.txt");
  for (const handle of wire.roster) {
    for (const page of [
      ["catch-up"],
      ["status"],
      ["pending"],
      ["proposals"],
      ["incident", "list", "--all"],
    ]) {
      expect([page, await shown(handle, ...page)]).toEqual([
        page,
        expect.not.stringMatching(WHOLE_ID),
      ]);
    }
    // A digest is there to be compared.
    const inbox = (await shown(handle, "inbox", "--full")).replaceAll(/sha256:[0-9a-f]{64}/g, "");
    expect(inbox).not.toMatch(WHOLE_ID);
    expect(
      (await toolIn(wire, handle, "inbox")).replaceAll(/sha256:[0-9a-f]{64}/g, ""),
    ).not.toMatch(WHOLE_ID);
  }
  const inbox = await shown("scribe", "inbox", "--full");
  expect(inbox).toContain(`corrects: ${word}`);
  expect(inbox).toContain(`${other} is ended: not now`);
  expect(inbox).toContain(`resolves: ${incident}`);
  expect(await shown("forge", "inbox", "--full")).toContain(`counters: ${proposal}`);
});
