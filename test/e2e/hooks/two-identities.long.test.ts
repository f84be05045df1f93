import { afterEach, describe, expect, test } from "vitest";
import { CODING_TOOLS, toolOrSkip } from "../../support/processes/coding-tool-cache.ts";
import { CALLED } from "../../support/processes/coding-tools.ts";
import { makeWire, removeWires, type LiveWire } from "../../support/processes/live-wire.ts";
import { until } from "../../support/processes/real-processes.ts";
import {
  endBackground,
  HABITS,
  integrate,
  makeProjects,
  openTool,
  runAlone,
  whoWasNamed,
  type HowOpened,
  type ToolProject,
  type ToolTerminal,
} from "../../support/processes/tool-terminals.ts";

// One person with two agents, each in a project of its own, in the tools themselves: server and hooks
// speak for the agent of the project, by every way of starting a tool. A session that is started with the
// name of the other agent has no agent.

interface Session {
  readonly agent: string;
  readonly other: string;
  readonly at: ToolProject;
}

/** How a tool is opened in a terminal, beside the usual way. */
const ALSO_OPENED: Readonly<Record<(typeof CODING_TOOLS)[number], readonly HowOpened[]>> = {
  claude: [{ args: ["--continue", ...HABITS.claude.args] }],
  codex: [
    { args: ["resume", "--last", ...HABITS.codex.args] },
    // With the background process, which hands on the environment of its first starter.
    { args: [] },
  ],
  gemini: [{ args: ["--resume", "latest", ...HABITS.gemini.args] }],
  opencode: [{ args: ["--continue"], isReady: /ctrl\+p commands/u }],
  copilot: [{ args: ["--continue", ...HABITS.copilot.args] }],
  qwen: [{ args: ["--continue", ...HABITS.qwen.args] }],
  // With --continue its screen stays empty where it has no network.
  kilo: [],
};

const wires: LiveWire[] = [];
const open: ToolTerminal[] = [];
afterEach(async () => {
  for (const terminal of open.splice(0)) terminal.close();
  for (const { folder } of wires.splice(0)) endBackground(folder);
  await removeWires();
});

describe.each(CODING_TOOLS)("%s", (tool) => {
  test("each session speaks for the agent of its project", async ({ skip }) => {
    const found = await toolOrSkip(tool, skip);
    const handles = ["forge", "scribe", "mason"];
    const wire = makeWire({ handles, cadenceSeconds: 5, deadlineSeconds: 3_600 });
    wires.push(wire);
    await wire.daemon("forge");
    await wire.daemon("scribe");
    const agents = ["forge", "scribe"] as const;
    for (const agent of agents) await note(wire, agent);
    const projects = await makeProjects(found, wire, { names: agents });
    const sessions = projects.map((at, index): Session => {
      const [agent = "", other = ""] = index === 0 ? agents : agents.toReversed();
      return { agent, other, at };
    });
    for (const { at, agent } of sessions) {
      at.script("who", [`@@call ${CALLED[tool]("whoami")} {}`, "@@say done"]);
      await integrate(at, wire, agent);
    }

    // Of what they run for us one asks even in a project that is trusted.
    await inTerminals(wire, sessions, { isApproved: tool !== "codex" });
    for (const how of ALSO_OPENED[tool]) {
      await inTerminals(wire, sessions, { ...how, isApproved: true });
    }
    for (const { at, agent, other } of sessions) {
      const alone = async (env: NodeJS.ProcessEnv): Promise<number> => {
        const before = at.requests().length;
        const ended = await runAlone({ ...at, env: { ...at.env, ...env } }, "@@script who");
        expect(ended.code, ended.stderr).toBe(0);
        return before;
      };
      expectWords(at, await alone({}), agent);
      const before = await alone({ DEADDROP_AS: other });
      expect(whoWasNamed(at.requests().slice(before))).toBeUndefined();
      expect(namedIn(at, before)).toEqual([]);
    }
  });
});

/** Both are open at the same time. */
async function inTerminals(
  wire: LiveWire,
  sessions: readonly Session[],
  how: HowOpened,
): Promise<void> {
  const terminals: ToolTerminal[] = [];
  for (const { at } of sessions) {
    const terminal = await openTool(at, how);
    terminals.push(terminal);
    open.push(terminal);
  }
  for (const [index, { at, agent }] of sessions.entries()) {
    const before = at.requests().length;
    // A session that goes on shows what was typed before.
    await terminals[index]?.type(`@@script who ${before}`);
    terminals[index]?.key("Enter");
    const isTold = () => whoWasNamed(at.requests().slice(before)) !== undefined;
    await until(`${agent} was told who it is`, isTold);
    await until("it is idle", async () => (await statesOf(wire, agent)).includes("idle"));
    expectWords(at, before, agent);
  }
  for (const { agent } of sessions) expect(await statesOf(wire, agent)).toEqual(["idle"]);
  for (const terminal of terminals) await terminal.quit();
}

/** What the model was asked since then: the server and the notices name that agent, and no other. */
function expectWords(at: ToolProject, before: number, agent: string): void {
  expect(whoWasNamed(at.requests().slice(before))).toBe(agent);
  expect(namedIn(at, before)).toEqual([agent]);
}

/** The agents whose mail hooks have named since then. */
function namedIn(at: ToolProject, before: number): (string | undefined)[] {
  const told = at
    .requests()
    .slice(before)
    .flatMap(({ news }) => [...news.matchAll(/(?<who>[\w-]+) has \d+ unread/gu)]);
  return [...new Set(told.map(({ groups }) => groups?.["who"]))];
}

/** A message that is in its inbox. */
async function note(wire: LiveWire, agent: string): Promise<void> {
  const sent = await wire.run("mason", "send", "a note", "of mine", "--to", agent);
  expect(sent, sent.stderr).toMatchObject({ code: 0 });
  await until("it was delivered", () =>
    wire.privateLines(agent, "inbox").some(({ subject }) => subject === "a note"),
  );
}

async function statesOf(wire: LiveWire, agent: string): Promise<string[]> {
  const { sessions } = await wire.json<{ sessions: { state: string }[] }>(agent, "status");
  return sessions.map(({ state }) => state);
}
