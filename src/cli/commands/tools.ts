import { TOOLS } from "../../api/tool-sessions.ts";
import { define } from "../command.ts";
import { runTool } from "../integrate/run-tool.ts";

export { integrate } from "../integrate/run-integrate.ts";

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
