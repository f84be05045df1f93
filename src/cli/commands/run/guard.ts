import { Command, Option } from "commander";
import type { Cli, GlobalFlags } from "../../context.ts";
import { install, status, uninstall, type InstallFlags } from "../../guard/manage-hooks.ts";
import { runCheck, type CheckFlags } from "../../guard/run-check.ts";
import { example } from "../../output/example.ts";

/** `deaddrop guard`: hooks of git that ask what `deaddrop check` asks. Spec 3.6. */
export function command(cli: Cli): Command {
  const guard = new Command("guard").description(
    "Guards a git repository: a commit or push that changes another agent's files without a decision,\n" +
      "or lines of the wire's logs, is blocked. ALLOW_HOTPATH=1 lets it through (ALLOW_HOTPATH_REASON\n" +
      "says why); that is recorded, and the agents that it concerns are told.",
  );
  guard
    .command("install")
    .description("write the hooks pre-commit and pre-push; hooks that are there run first")
    .option("--shared", "also in a folder of hooks that several repositories use")
    .action((_own: unknown, self: Command) => install(cli, self.optsWithGlobals<InstallFlags>()));
  guard
    .command("uninstall")
    .description("remove them, and put back what was there before")
    .action((_own: unknown, self: Command) => uninstall(cli, self.optsWithGlobals<GlobalFlags>()));
  guard
    .command("status")
    .description("say whether it is installed, who is asked, and the last overrides")
    .action((_own: unknown, self: Command) => status(cli, self.optsWithGlobals<GlobalFlags>()));
  guard
    .command("check")
    .description("what the hooks run: judge what is staged, or with --pre-push what is pushed")
    .argument("[remote]", "with --pre-push: its name, as git gives it to the hook")
    .argument("[url]", "its address")
    .option("--pre-push", "read the hook's lines about refs from standard input")
    .addOption(new Option("--settings <file>", "settings to ask when the wire is gone").hideHelp())
    .action((_remote: unknown, _url: unknown, _own: unknown, self: Command) =>
      runCheck(cli, self.optsWithGlobals<CheckFlags>()),
    );
  return guard.addHelpText("after", example("deaddrop guard install", "deaddrop guard status"));
}
