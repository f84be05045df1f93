import { Argument, Command, Option } from "commander";
import { SCOPES } from "../../../agents/integrate/integration.ts";
import { TOOLS, type Tool } from "../../../api/tool-sessions.ts";
import type { Cli } from "../../context.ts";
import { runIntegrate, type IntegrateFlags } from "../../integrate/run-integrate.ts";
import { example } from "../../output/example.ts";

/** `deaddrop integrate`: joins a coding tool to a wire, and takes it out again. Spec 8.3. */
export function command(cli: Cli): Command {
  const scope = new Option("--scope <scope>", "whose files: yours, the project's, or yours in it");
  return new Command("integrate")
    .description(
      "Joins a coding tool to the wire: its MCP server, its hooks, the skill, a block in the file of\n" +
        "instructions that it reads. Shows what it changes. Your other settings stay as they are.",
    )
    .addArgument(new Argument("<tool>", "which tool").choices(TOOLS))
    .addOption(scope.choices(SCOPES))
    .option("--print", "show what would change, and change nothing")
    .option("--remove", "take all of it out again")
    .addHelpText(
      "after",
      example("deaddrop integrate claude --as forge", "deaddrop integrate claude --remove"),
    )
    .action((tool: Tool, flags: IntegrateFlags) => runIntegrate(cli, tool, flags));
}
