import { Argument, Command } from "commander";
import { TOOLS } from "../../../api/tool-sessions.ts";
import type { Cli } from "../../context.ts";
import { example } from "../../output/example.ts";

/**
 * `deaddrop hook`: what `integrate` has a tool run. The program runs it without this (bin/deaddrop.js);
 * here it is for its help. Spec 8.3.
 */
export function command(_cli: Cli): Command {
  return new Command("hook")
    .description(
      "Run by a coding tool, at each step of an agent: reads the event on standard input, and prints what\n" +
        "the tool takes. It names unread mail by count, handle and id, and exits 0 whatever happens.\n" +
        "`deaddrop integrate` writes it into the settings of the tool.",
    )
    .addArgument(new Argument("<tool>", "which tool").choices(TOOLS))
    .option("--project <folder>", "stay silent in a linked work tree of this project")
    .option("--wait", "wait in the background, and exit 2 when the agent is to be woken")
    .addHelpText("after", example("deaddrop hook claude --as forge --wire ./_coordination"))
    .action(async (tool: string, { wait }: { wait?: boolean }, self: Command) => {
      const { main } = await import("../../../agents/hooks/main.ts");
      const { as, wire, project } =
        self.optsWithGlobals<Record<"as" | "wire" | "project", string>>();
      const identity = [
        ["--as", as] as const,
        ["--wire", wire] as const,
        ["--project", project] as const,
      ];
      const given = identity.flatMap(([flag, value]) => (value === undefined ? [] : [flag, value]));
      await main([tool, ...given, ...(wait === true ? ["--wait"] : [])]);
    });
}
