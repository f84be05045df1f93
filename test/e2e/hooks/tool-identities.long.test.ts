import { delimiter, dirname } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import {
  CODING_TOOLS,
  toolOrSkip,
  type FoundTool,
} from "../../support/processes/coding-tool-cache.ts";
import { ALONE, CALLED } from "../../support/processes/coding-tools.ts";
import { makeWire, removeWires } from "../../support/processes/live-wire.ts";
import { BIN, start, until } from "../../support/processes/real-processes.ts";
import {
  integrate,
  makeProjects,
  openTool,
  processesOf,
  type ToolProject,
  type ToolTerminal,
} from "../../support/processes/tool-terminals.ts";

// A session of a real tool speaks for the agent that its project was joined to, or that it was run as.
// Its environment names the other one: a tool may hand on that of somebody else's session.

const HANDLES = ["forge", "scribe"] as const;
type Handle = (typeof HANDLES)[number];
const OTHER = { forge: "scribe", scribe: "forge" } as const;

const open: ToolTerminal[] = [];
const folders: string[] = [];
afterEach(async () => {
  for (const terminal of open.splice(0)) terminal.close();
  for (const folder of folders.splice(0)) {
    // Codex leaves its background process to its next session.
    for (const pid of processesOf(folder, /codex/u)) process.kill(pid, "SIGKILL");
  }
  await removeWires();
});

/** Both agents have a message, and a project each. */
async function makeSides(found: FoundTool) {
  const wire = makeWire({ cadenceSeconds: 5, deadlineSeconds: 3_600 });
  folders.push(wire.folder);
  for (const handle of HANDLES) await wire.daemon(handle);
  for (const handle of HANDLES) await wire.json(handle, "send", "news", "a body");
  for (const handle of HANDLES) {
    await until("it was delivered", () => wire.privateLines(handle, "inbox").length > 0);
  }
  const [forge, scribe] = await makeProjects(found, wire, { names: HANDLES });
  if (forge === undefined || scribe === undefined) throw new Error("no projects were made");
  return { wire, projects: { forge, scribe } };
}

/** What reached the model is the mail of this agent alone, and the server says that it speaks for it. */
function expectSaid(at: ToolProject, from: number, handle: Handle): void {
  const [first, called] = at.requests().slice(from);
  expect(first?.text).toContain(`${handle} has 1 unread message (1 from ${OTHER[handle]})`);
  expect(called?.text).not.toContain(`${OTHER[handle]} has 1 unread`);
  expect(called?.news).toMatch(new RegExp(`you_are\\W+${handle}`, "u"));
}

function plan(at: ToolProject): string {
  at.script("who", [`@@call ${CALLED[at.found.tool]("whoami")} {}`]);
  return "@@script who";
}

function misled(at: ToolProject, handle: Handle): NodeJS.ProcessEnv {
  const PATH = `${dirname(at.found.program)}${delimiter}${process.env["PATH"]}`;
  return { ...at.env, PATH, DEADDROP_AS: OTHER[handle], DEADDROP_WIRE: "/nowhere" };
}

describe.each(CODING_TOOLS)("%s", (tool) => {
  test("without a person, joined or run, it speaks for the agent that was named", async ({
    skip,
  }) => {
    const { wire, projects } = await makeSides(await toolOrSkip(tool, skip));
    const { forge, scribe } = projects;
    const { argv, input } = ALONE[tool](plan(forge));
    await integrate(forge, wire, "forge");
    const joined = { env: misled(forge, "forge"), cwd: forge.folder, input };
    const first = await start(forge.found.program, argv, joined).ended;
    expect(first, first.stderr).toMatchObject({ code: 0 });
    expectSaid(forge, 0, "forge");

    const from = forge.requests().length;
    const words = [BIN, "run", "--as", "scribe", "--wire", wire.dir, tool, ...argv];
    const ran = { env: misled(scribe, "scribe"), cwd: scribe.folder, input };
    const second = await start(process.execPath, words, ran).ended;
    expect(second, second.stderr).toMatchObject({ code: 0 });
    expectSaid(scribe, from, "scribe");
  });
});

test("two sessions of codex in its background process speak for an agent each", async ({
  skip,
}) => {
  const { wire, projects } = await makeSides(await toolOrSkip("codex", skip));
  for (const handle of HANDLES) await integrate(projects[handle], wire, handle);
  let asked = 0;
  // The background process has the environment of the first session, which is the second one's name.
  for (const handle of HANDLES) {
    const at = { ...projects[handle], env: misled(projects[handle], handle) };
    const terminal = await openTool(at, []);
    open.push(terminal);
    await terminal.type(plan(at));
    terminal.key("Enter");
    await until("the model was shown who it is", () => at.requests().length >= asked + 2);
    expectSaid(at, asked, handle);
    asked = at.requests().length;
  }
  expect(processesOf(wire.folder, /--managed-daemon/u)).toHaveLength(1);
});
