import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import {
  CODING_TOOLS,
  toolOrSkip,
  type CodingTool,
} from "../../support/processes/coding-tool-cache.ts";
import { CALLED } from "../../support/processes/coding-tools.ts";
import { makeWire, removeWires, type LiveWire } from "../../support/processes/live-wire.ts";
import { BIN, start, until } from "../../support/processes/real-processes.ts";
import {
  endBackground,
  filesOf,
  gate,
  HABITS,
  integrate,
  makeProject,
  makeProjects,
  openTool,
  ourProcesses,
  runAlone,
  type HowOpened,
  type ToolProject,
  type ToolTerminal,
} from "../../support/processes/tool-terminals.ts";

// The tools that agents run in, as a person has them: in a terminal, joined by `integrate`, each with a
// model behind it that follows a script.

const MARK = "[deaddrop, an automatic notice, not written by the user]";
/** What the tools themselves write into a project: the servers that Claude Code was allowed, packages. */
const BY_TOOLS =
  /^\.claude\/settings\.local\.json$|^\.opencode\/(?!plugins)|^\.kilo\/(?!$|plugins|kilo\.json)/u;
const DRAFT = "a draft of mine";
/** Keys would add to a draft, so such a tool is woken when it was erased. */
const WOKEN_BY_KEYS_ALONE = ["gemini", "copilot"];

/** A tool, and how it is opened. */
const WAYS: readonly (readonly [string, CodingTool, HowOpened])[] = [
  ...CODING_TOOLS.map((tool) => [tool, tool, {}] as const),
  // Codex as it is by itself: its sessions are run by a process that outlives their terminals.
  ["codex in the background", "codex", { args: [] }],
];

const wires: LiveWire[] = [];
const open: ToolTerminal[] = [];
afterEach(async () => {
  for (const terminal of open.splice(0)) terminal.close();
  for (const { folder } of wires.splice(0)) endBackground(folder);
  await removeWires();
});

describe.each(WAYS)("%s", (_name, tool, how) => {
  test("hears of mail while it works, is woken when it is idle, answers, and is left as it was", async ({
    skip,
  }) => {
    const found = await toolOrSkip(tool, skip);
    const wire = makeWire({ cadenceSeconds: 5, deadlineSeconds: 3_600 });
    wires.push(wire);
    await wire.daemon("forge");
    await wire.daemon("scribe");
    const at = await makeProject(found, wire);
    const before = filesOf(at.folder);
    await integrate(at, wire, "forge");
    const asks = HABITS[tool].asks !== undefined;
    expect(await unapproved(at, wire)).toBe(asks);

    const terminal = await openTool(at, how);
    open.push(terminal);
    expect(await unapproved(at, wire)).toBe(false);
    expect((await tools(at)).replaceAll("\n", " ")).toMatch(/deaddrop.*mcp --as forge/u);
    await atWork(at, wire, terminal);
    await whenIdle(at, wire, terminal);

    await terminal.quit();
    await until("nothing of ours is left", () => ourProcesses(wire).length === 0);
    await integrate(at, wire, "forge", "--remove");
    const own = Object.entries(filesOf(at.folder)).filter(([name]) => !BY_TOOLS.test(name));
    expect(Object.fromEntries(own)).toEqual(before);
  });
});

/** No person has reviewed the hooks here. */
const UNREVIEWED: { readonly [T in CodingTool]?: readonly string[] } = {
  codex: ["--dangerously-bypass-hook-trust", "-o", "result"],
};

describe.each(CODING_TOOLS)("%s without a person", (tool) => {
  test("hears of urgent mail while it works, and its result is that of its own turn", async ({
    skip,
  }) => {
    const found = await toolOrSkip(tool, skip);
    const wire = makeWire({ cadenceSeconds: 5, deadlineSeconds: 3_600 });
    wires.push(wire);
    await wire.daemon("forge");
    await wire.daemon("scribe");
    const [at] = await makeProjects(found, wire, { names: ["project"] });
    if (at === undefined) throw new Error("no project was made");
    await integrate(at, wire, "forge");
    const [slow, slower] = [gate(wire.folder, "first"), gate(wire.folder, "second")];
    at.script("work", [
      `@@call ${HABITS[tool].shellCall(slow.command)}`,
      `@@call ${HABITS[tool].shellCall(slower.command)}`,
      "@@say the result of the run",
    ]);
    const run = runAlone(at, "@@script work", UNREVIEWED[tool]);
    await until("a call runs", slow.begun);
    await urgent(wire, "while it works");
    slow.open();
    await until("the next call runs", slower.begun);
    await urgent(wire, "before it ends");
    slower.open();
    const { code, stdout, stderr } = await run;
    expect(code, stderr).toBe(0);
    expect(at.requests().map(({ news }) => news.split(MARK).length - 1)).toEqual([0, 1, 1]);
    const result =
      tool === "codex" ? readFileSync(join(at.folder, "result"), "utf8") : stdout.trim();
    expect(result).toContain("the result of the run");
    expect(stdout).not.toContain(MARK);
    expect(await unread(wire)).not.toBe("");
    if (["opencode", "kilo"].includes(tool))
      expect(stderr).toContain("forge has 2 unread messages");
  });
});

/** Tools whose `/new` runs no hook. */
const AFTER_NEW: readonly (readonly [string, CodingTool, HowOpened])[] = [
  ["codex in the background", "codex", { args: [] }],
  ["codex", "codex", {}],
  ["opencode", "opencode", {}],
  ["kilo", "kilo", {}],
];

describe.each(AFTER_NEW)("after /new in %s", (name, tool, how) => {
  test("no turn runs that its person does not see", async ({ skip }) => {
    const found = await toolOrSkip(tool, skip);
    const wire = makeWire({ cadenceSeconds: 5, deadlineSeconds: 3_600 });
    wires.push(wire);
    await wire.daemon("forge");
    await wire.daemon("scribe");
    const at = await makeProject(found, wire);
    await integrate(at, wire, "forge");
    const terminal = await openTool(at, how);
    open.push(terminal);
    at.script("work", ["@@say done"]);
    const write = async (): Promise<void> => {
      const before = at.requests().length;
      await terminal.type("@@script work");
      terminal.key("Enter");
      await until("it has answered", () => at.requests().length > before);
      await until("it can be woken", async () => (await waysOf(wire)).at(-1) !== null);
      await until("it is idle", () => isIdle(wire));
    };
    await write();
    await terminal.type("/new");
    await until("a new conversation is shown", () => {
      terminal.key("Enter");
      return !terminal.screen().includes("@@script work");
    });
    const before = at.requests().length;
    await urgent(wire, "after new");
    if (name === "codex in the background") {
      // Nothing tells which conversation is shown, but that the one that could be woken is not.
      await until("nobody is woken", async () => (await waysOf(wire)).every((by) => by === null));
      await beats(wire, 2);
      expect(at.requests().length).toBe(before);
      await write();
      expect(terminal.screen()).toContain("@@script work");
      return;
    }
    await until("it is woken", () => at.requests().length > before);
    await until("its person sees it", () => terminal.screen().includes(MARK.slice(0, 40)));
  });
});

async function waysOf(wire: LiveWire): Promise<readonly (string | null)[]> {
  const status = await wire.json<{ sessions: { wake: string | null }[] }>("forge", "status");
  return status.sessions.map(({ wake }) => wake);
}

/** Mail comes while a call runs: it is named with the next request, and once at the end of the turn. */
async function atWork(at: ToolProject, wire: LiveWire, terminal: ToolTerminal): Promise<void> {
  const { tool } = at.found;
  const called = CALLED[tool];
  const slow = gate(wire.folder);
  const answering = [
    `@@call ${called("inbox")} {"bodies":true}`,
    `@@call ${called("send")} {"reply_to":"@@shown","body":"seen by forge"}`,
  ];
  at.script("work", [
    `@@call ${HABITS[tool].shellCall(slow.command)}`,
    // The end of a turn, after which it is asked to go on.
    "@@calls []",
    `@@call ${called("inbox")} {"bodies":true}`,
    `@@call ${called("mark")} {"ids":["@@shown"]}`,
    // The end of a turn, after which it is woken.
    "@@calls []",
    ...answering,
    // It is woken once more.
    "@@calls []",
    ...answering,
  ]);
  await terminal.type("@@script work");
  terminal.key("Enter");
  await until("the call runs", slow.begun);
  await urgent(wire, "while it works");
  slow.open();
  await until("it has read its mail", async () => (await unread(wire)) === "");
  await until("it is idle", () => isIdle(wire));
  const turns = at.requests();
  // The call's own result is there, and what came meanwhile is named beside it, without its words.
  expect(turns.map(({ news }) => news.split(MARK).length - 1)).toEqual([0, 1, 1, 0, 0]);
  const [, next, asked, shown] = turns;
  expect(next?.news).toContain("slept");
  expect(asked?.text).not.toContain("words of while it works");
  expect(shown?.news).toContain("│ words of while it works");
}

/** Beats and mail that was read wake nobody; an urgent message does, and a draft stays. */
async function whenIdle(at: ToolProject, wire: LiveWire, terminal: ToolTerminal): Promise<void> {
  const idle = at.requests().length;
  await beats(wire, 2);
  expect(at.requests().length).toBe(idle);
  await woken(at, wire, "while it is idle");
  await terminal.type(DRAFT);
  if (!WOKEN_BY_KEYS_ALONE.includes(at.found.tool)) {
    await woken(at, wire, "behind words of its person");
    expect(terminal.screen()).toContain(DRAFT);
    await terminal.erase(DRAFT);
    return;
  }
  const drafted = at.requests().length;
  await woken(at, wire, "when those words are gone", async () => {
    await beats(wire, 2);
    expect(at.requests().length).toBe(drafted);
    expect(terminal.screen()).toContain(DRAFT);
    await terminal.erase(DRAFT);
  });
}

/** An urgent message wakes it, and it answers. `meanwhile`: what has to be done before. */
async function woken(
  at: ToolProject,
  wire: LiveWire,
  subject: string,
  meanwhile?: () => Promise<void>,
): Promise<void> {
  const before = at.requests().length;
  const answers = said(wire).length;
  let sinceMs = await urgent(wire, subject);
  if (meanwhile !== undefined) {
    await meanwhile();
    sinceMs = Date.now();
  }
  await until("it has answered", () =>
    JSON.stringify(said(wire).slice(answers)).includes("seen by forge"),
  );
  await until("it is idle again", () => isIdle(wire));
  const turns = at.requests().slice(before);
  expect(turns.map(({ news }) => news.split(MARK).length - 1)).toEqual([1, 0, 0]);
  const wokenMs = (turns[0]?.atMs ?? 0) - sinceMs;
  console.log(`${at.found.tool}, ${subject}: it was woken after ${wokenMs} ms`);
}

/** A message of scribe's that cannot wait, delivered. When it was stored, Unix time in ms. */
async function urgent(wire: LiveWire, subject: string): Promise<number> {
  const words = [subject, `words of ${subject}`, "--to", "forge", "--priority", "high"];
  const sent = await wire.run("scribe", "send", ...words);
  expect(sent, sent.stderr).toMatchObject({ code: 0 });
  const storedMs = Date.now();
  await until("it was delivered", () =>
    wire.privateLines("forge", "inbox").some((line) => line.subject === subject),
  );
  return storedMs;
}

/** Waits for so many more beats of scribe's. */
async function beats(wire: LiveWire, count: number): Promise<void> {
  const seen = (): number =>
    wire.lines("scribe_to_forge.jsonl").filter(({ type }) => type === "heartbeat").length;
  const before = seen();
  await until(`${count} beats`, () => seen() >= before + count);
}

/** The servers that the tool itself lists. */
async function tools({ found, env, folder }: ToolProject): Promise<string> {
  const at = { env: { ...env, PATH: process.env["PATH"] }, cwd: folder, input: "" };
  // One of them lists names alone.
  const words = found.tool === "copilot" ? ["mcp", "get", "deaddrop"] : ["mcp", "list"];
  const { stdout, stderr } = await start(found.program, words, at).ended;
  return stdout + stderr;
}

/** Whether `doctor` says that the tool's person has to approve something. */
async function unapproved(at: ToolProject, wire: LiveWire): Promise<boolean> {
  const args = [BIN, "doctor", "--as", "forge", "--wire", wire.dir];
  const { stdout } = await start(process.execPath, args, { env: at.env, cwd: at.folder }).ended;
  return stdout.includes("does not run what joins it");
}

async function unread(wire: LiveWire): Promise<string> {
  return (await wire.run("forge", "inbox", "--unread", "--json")).stdout;
}

async function isIdle(wire: LiveWire): Promise<boolean> {
  const { sessions } = await wire.json<{ sessions: { state: string }[] }>("forge", "status");
  return sessions[0]?.state === "idle";
}

function said(wire: LiveWire): unknown[] {
  return wire.lines("forge_to_scribe.jsonl").map(({ body }) => body);
}
