import { JOINABLE, SCOPES } from "../../agents/integrate/integration.ts";
import { DeaddropError } from "../../api/errors.ts";
import { TOOLS } from "../../api/tool-sessions.ts";
import { define } from "../command.ts";
import { removeEverywhere, runIntegrate } from "../integrate/run-integrate.ts";
import { runTool } from "../integrate/run-tool.ts";

/** Joins a coding tool to a wire, and takes it out again. Spec 8.3. */
export const integrate = define({
  about:
    "Joins a coding tool to the wire: its MCP server, its hooks, the skill, a block in the file of " +
    "instructions that it reads. Shows what it changes, and asks. Your other settings stay as they are; " +
    "unless you say --scope project, git leaves what is written out of commits.",
  args: { "[tool]": { about: "which tool", choices: JOINABLE } },
  options: {
    "--scope <scope>": {
      about: "whose files: yours, the project's to share, or yours in it (default local)",
      choices: SCOPES,
    },
    "--dry-run": "show what would change, and change nothing",
    "--yes": "ask nobody",
    "--remove": "take all of it out again",
    "--all": "with --remove: every tool that an agent of yours is joined in",
    "--allow-commands": "claude: allow the tools that only read without a question",
    "--open-sandbox": "claude, codex: let commands in its sandbox connect to the daemon",
  },
  examples: ["deaddrop integrate claude --as forge", "deaddrop integrate claude --remove"],
  run(cli, flags, { tool }) {
    if (tool !== undefined && flags.all !== true) return runIntegrate(cli, tool, flags);
    if (tool === undefined && flags.all === true && flags.remove === true) {
      return removeEverywhere(cli, flags);
    }
    throw new DeaddropError("usage", "name one tool, or give --remove --all", {
      hint: `deaddrop integrate <${JOINABLE.join("|")}>`,
    });
  },
});

/** A coding tool, joined to the wire for this run. Spec 8.3. */
export const run = define({
  about:
    "Runs a coding tool in this terminal, joined to the wire as `integrate` joins it, for this run. " +
    "Starts the daemon if none runs, and ends it then. What comes after its name is for the tool.",
  args: { "<tool>": { about: "which tool", choices: TOOLS }, "[args...]": "its arguments" },
  passThrough: true,
  examples: ["deaddrop run --as forge claude", "deaddrop run codex resume"],
  run: (cli, flags, { tool, args }) => runTool(cli, tool, args, flags),
});

/**
 * What `integrate` has a tool run. The program runs it without this (bin/deaddrop.js); here it is for its
 * help. Spec 8.3.
 */
export const hook = define({
  about:
    "Run by a coding tool, at each step of an agent: reads the event on standard input, and prints what " +
    "the tool takes. It names unread mail by count, handle and id, and exits 0 whatever happens. " +
    "`deaddrop integrate` writes it into the settings of the tool.",
  args: { "<tool>": { about: "which tool", choices: TOOLS } },
  options: {
    "--project <folder>": "stay silent in a linked work tree of this project",
    "--wait": "wait in the background, and exit 2 when the agent is to be woken",
  },
  examples: ["deaddrop hook claude --as forge --wire ./_coordination"],
  async run(_cli, { as, wire, project, wait: waits }, { tool }) {
    const { main } = await import("../../agents/hooks/main.ts");
    const given = Object.entries({ "--as": as, "--wire": wire, "--project": project });
    const flags = given.flatMap(([flag, value]) => (value === undefined ? [] : [flag, value]));
    await main([tool, ...flags, ...(waits === true ? ["--wait"] : [])]);
  },
});
