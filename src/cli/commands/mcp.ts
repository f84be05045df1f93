import { readFileSync } from "node:fs";
import { oneIdentity, type Identity } from "../../agents/mcp/identity.ts";
import { runMcp } from "../../agents/mcp/run-mcp.ts";
import { readSkill } from "../../agents/skill/skill-text.ts";
import { define } from "../command.ts";
import { findWire, UnclearIdentity, whoHere, type Cli, type GlobalFlags } from "../context.ts";
import { skillPath, version } from "../../setup/program.ts";

/** The tools of one agent, over standard input and output. Spec 8.1. */
export const mcp = define({
  about:
    "Serves the Model Context Protocol on standard input and output, for tools that agents run in. " +
    "It speaks for one agent, and ends when standard input ends or the tool that started it does.",
  examples: ["claude mcp add deaddrop -- deaddrop mcp --as forge"],
  async run(cli, flags) {
    const look = (): Identity => {
      refuseOtherAgent(cli, flags);
      const { handle, by } = whoHere(cli, flags);
      const place = { wireDir: findWire(cli, flags), handle, env: cli.env };
      return { by, place: flags.peer === undefined ? place : { ...place, peers: flags.peer } };
    };
    const parts = {
      identity: oneIdentity(look, (place) => cli.openClient(place)),
      version: version(),
      skill: readSkill(readFileSync(skillPath(), "utf8")),
      nowMs: () => cli.clock.nowMs(),
    };
    const { stdin: input, stdout: output, stderr: errors } = process;
    await runMcp(parts, { input, output, errors });
  },
});

/** The shell and the hooks of such a session are those of another agent: it would be two. Spec 8.1. */
function refuseOtherAgent({ env }: Cli, { as }: GlobalFlags): void {
  const asked = env["DEADDROP_AS"] ?? "";
  if (as === undefined || asked === "" || asked === as) return;
  throw new UnclearIdentity(
    "config",
    `the session was started as ${asked} (DEADDROP_AS), and this server was made for ${as}`,
    {
      hint: `start the tool without DEADDROP_AS; or for one entry that serves both: deaddrop integrate <tool> --remove, then deaddrop integrate <tool> --scope project`,
    },
  );
}
