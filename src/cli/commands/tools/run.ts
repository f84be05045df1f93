import { Argument, Command } from "commander";
import { TOOLS, type Tool } from "../../../api/tool-sessions.ts";
import type { Cli, GlobalFlags } from "../../context.ts";
import { runTool } from "../../integrate/run-tool.ts";
import { example } from "../../output/example.ts";

/** `deaddrop run`: a coding tool, joined to the wire for this run. Spec 8.3. */
export function command(cli: Cli): Command {
  return new Command("run")
    .description(
      "Runs a coding tool in this terminal, joined to the wire as `integrate` joins it, for this run.\n" +
        "Starts the daemon if none runs, and ends it then. What comes after its name is for the tool.",
    )
    .addArgument(new Argument("<tool>", "which tool").choices(TOOLS))
    .argument("[args...]", "its arguments")
    .passThroughOptions()
    .addHelpText("after", example("deaddrop run --as forge claude", "deaddrop run codex resume"))
    .action((tool: Tool, args: string[], flags: GlobalFlags) => runTool(cli, tool, args, flags));
}
