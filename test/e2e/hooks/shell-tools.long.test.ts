import { afterEach, describe, expect, test } from "vitest";
import { SHELL_TOOLS, toolOrSkip } from "../../support/processes/coding-tool-cache.ts";
import { makeWire, removeWires, type LiveWire } from "../../support/processes/live-wire.ts";
import { BIN, until } from "../../support/processes/real-processes.ts";
import {
  endBackground,
  filesOf,
  gate,
  HABITS,
  integrate,
  makeProjects,
  openTool,
  runAlone,
  type ToolProject,
  type ToolTerminal,
} from "../../support/processes/tool-terminals.ts";

// Tools that get no MCP server of ours: their agents run our commands, and a plugin of ours tells them of mail.

const MARK = "[deaddrop, an automatic notice, not written by the user]";

const wires: LiveWire[] = [];
const open: ToolTerminal[] = [];
afterEach(async () => {
  for (const terminal of open.splice(0)) terminal.close();
  for (const { folder } of wires.splice(0)) endBackground(folder);
  await removeWires();
});

async function makeWireWithDaemons(): Promise<LiveWire> {
  const wire = makeWire({ cadenceSeconds: 5, deadlineSeconds: 3_600 });
  wires.push(wire);
  await wire.daemon("forge");
  await wire.daemon("scribe");
  return wire;
}

/** Sends a message of scribe's that cannot wait, and waits until it is delivered. */
async function sendUrgent(wire: LiveWire, subject: string): Promise<void> {
  const words = [subject, `words of ${subject}`, "--to", "forge", "--priority", "high"];
  const sent = await wire.run("scribe", "send", ...words);
  expect(sent, sent.stderr).toMatchObject({ code: 0 });
  await until("it was delivered", () =>
    wire.privateLines("forge", "inbox").some((line) => line.subject === subject),
  );
}

/** A call of the tool's shell that runs a command of forge's. */
function commandCall({ found }: ToolProject, wire: LiveWire, ...words: string[]): string {
  const command = [process.execPath, BIN, ...words, "--as", "forge", "--wire", wire.dir];
  return `@@call ${HABITS[found.tool].shellCall(command.join(" "))}`;
}

function marksIn(project: ToolProject): number[] {
  return project.requests().map(({ news }) => news.split(MARK).length - 1);
}

describe.each(SHELL_TOOLS)("%s", (tool) => {
  test("hears of mail between its tool calls, reads it with a command, and is left as it was", async ({
    skip,
  }) => {
    const found = await toolOrSkip(tool, skip);
    const wire = await makeWireWithDaemons();
    const [project] = await makeProjects(found, wire, { names: ["project"] });
    if (project === undefined) throw new Error("no project was made");
    const before = filesOf(project.folder);
    await integrate(project, wire, "forge");
    const slow = gate(wire.folder);
    project.script("work", [
      `@@call ${HABITS[tool].shellCall(slow.command)}`,
      commandCall(project, wire, "inbox", "--unread", "--mark-read"),
      "@@say the result of the run",
    ]);
    const run = runAlone(project, "@@script work");
    await until("the call runs", slow.begun);
    await sendUrgent(wire, "while it works");
    slow.open();
    const { code, stdout, stderr } = await run;
    expect(code, stderr).toBe(0);
    expect(stdout).toContain("the result of the run");
    expect(stdout).not.toContain(MARK);
    expect(marksIn(project)).toEqual([0, 1, 0]);
    const [first, next, last] = project.requests();
    // The instructions and the skill are in the first request already.
    expect(first?.text).toContain("deaddrop guide");
    expect(next?.text).not.toContain("words of while it works");
    expect(last?.news).toContain("words of while it works");
    await integrate(project, wire, "forge", "--remove");
    expect(filesOf(project.folder)).toEqual(before);
  });
});

test("an idle pi is woken by urgent mail, and a draft of its person stays", async ({ skip }) => {
  const found = await toolOrSkip("pi", skip);
  const wire = await makeWireWithDaemons();
  const [project] = await makeProjects(found, wire, { names: ["project"] });
  if (project === undefined) throw new Error("no project was made");
  await integrate(project, wire, "forge");
  const terminal = await openTool(project);
  open.push(terminal);
  project.script("work", [
    "@@calls []",
    commandCall(project, wire, "inbox", "--unread", "--mark-read"),
  ]);
  await terminal.type("@@script work");
  terminal.key("Enter");
  const isIdle = async (): Promise<boolean> => {
    const { sessions } = await wire.json<{ sessions: { state: string }[] }>("forge", "status");
    return sessions[0]?.state === "idle";
  };
  await until("its turn has ended", () => project.requests().length === 1);
  await until("it is idle", isIdle);
  await terminal.type("a draft of mine");
  await sendUrgent(wire, "while it is idle");
  await until("it has read its mail", () => project.requests().length === 3);
  expect(marksIn(project)).toEqual([0, 1, 0]);
  expect(project.requests().at(-1)?.news).toContain("words of while it is idle");
  expect(terminal.screen()).toContain("a draft of mine");
  await terminal.erase("a draft of mine");
  await terminal.quit();
  await until("its session has ended", async () => {
    const { sessions } = await wire.json<{ sessions: unknown[] }>("forge", "status");
    return sessions.length === 0;
  });
});
