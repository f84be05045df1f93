import { afterEach, describe, expect, test } from "vitest";
import { CODING_TOOLS, programOf } from "../../support/processes/coding-tools.ts";
import { makeWire, removeWires, type LiveWire } from "../../support/processes/live-wire.ts";
import { BIN, start, until } from "../../support/processes/real-processes.ts";
import {
  filesOf,
  HABITS,
  makeProject,
  openTool,
  ourProcesses,
  type ToolTerminal,
} from "../../support/processes/tool-terminals.ts";

// The tools that agents run in, as a person has them: in a terminal, joined by `integrate`, each with a
// model behind it that follows a script. DEADDROP_CODING_TOOLS names the folder that they are in.

const MARK = "[deaddrop, an automatic notice, not written by the user]";
/** What the tools themselves write into a project: the servers that Claude Code was allowed, packages. */
const BY_TOOLS = /^\.claude\/settings\.local\.json$|^\.opencode\/(?!plugins)/u;
const BODY = "only the inbox shows this text";

const open: ToolTerminal[] = [];
afterEach(async () => {
  for (const terminal of open.splice(0)) terminal.close();
  await removeWires();
});

/** A message of scribe's that cannot wait. */
async function urgent(wire: LiveWire, subject: string): Promise<void> {
  const sent = await wire.run(
    "scribe",
    "send",
    subject,
    BODY,
    "--to",
    "forge",
    "--priority",
    "high",
  );
  expect(sent, sent.stderr).toMatchObject({ code: 0 });
}

/** How many requests of the model hold our words in their last part, and what they say. */
function told(terminal: ToolTerminal): string[] {
  return terminal.requests().filter((text) => text.includes(MARK));
}

describe.each(CODING_TOOLS)("%s", (tool) => {
  test("hears of mail while it works, is woken when it is idle, and is left as it was", async ({
    skip,
  }) => {
    skip(programOf(tool) === undefined, "it is not in DEADDROP_CODING_TOOLS");
    const wire = makeWire({ cadenceSeconds: 5, deadlineSeconds: 3_600 });
    await wire.daemon("forge");
    await wire.daemon("scribe");
    const at = await makeProject(tool, wire);
    const before = filesOf(at.project);
    await integrate(tool, wire, at.project);

    const terminal = await openTool(tool, at);
    open.push(terminal);
    await terminal.type(`@@call ${HABITS[tool].slowCall}`);
    terminal.key("Enter");
    await until("the model was asked", () =>
      terminal.requests().some((text) => text.includes("@@call")),
    );
    await urgent(wire, "while it works");
    // The call's own result is there, and what came meanwhile is named beside it.
    await until("the call ended", () => told(terminal).some((text) => text.includes("slept")));
    await until("it was asked to go on", () => told(terminal).length >= 2);
    await wire.run("forge", "inbox", "--unread", "--mark-read");

    const idle = terminal.requests().length;
    await until("it is idle", async () => (await sessions(wire))[0]?.state === "idle");
    if (tool !== "gemini") await terminal.type("a draft of mine");
    await urgent(wire, "while it is idle");
    await until("it is woken", () => terminal.requests().length > idle);
    if (tool !== "gemini") expect(terminal.screen()).toContain("a draft of mine");
    for (const text of terminal.requests()) expect(text).not.toContain(BODY);

    for (let at = 0; at < 15; at += 1) terminal.key("BSpace");
    await until("it is idle again", async () => (await sessions(wire))[0]?.state === "idle");
    await terminal.quit();
    await until("nothing of ours is left", () => ourProcesses(wire).length === 0);
    await integrate(tool, wire, at.project, "--remove");
    const own = Object.entries(filesOf(at.project)).filter(([name]) => !BY_TOOLS.test(name));
    expect(Object.fromEntries(own)).toEqual(before);
  });
});

async function integrate(
  tool: string,
  wire: LiveWire,
  project: string,
  ...flags: readonly string[]
): Promise<void> {
  const args = [BIN, "integrate", tool, "--scope", "project", "--as", "forge", "--wire", wire.dir];
  const run = start(process.execPath, [...args, ...flags], { env: wire.env, cwd: project });
  const ended = await run.ended;
  expect(ended, ended.stderr).toMatchObject({ code: 0 });
}

async function sessions(wire: LiveWire): Promise<readonly { readonly state: string }[]> {
  const { sessions: all } = await wire.json<{ sessions: { state: string }[] }>("forge", "status");
  return all;
}
