import { Command } from "commander";
import type { AcceptFlags } from "../../config/accept.ts";
import { addConsent } from "../../input/consent-flags.ts";
import type { Cli, GlobalFlags } from "../../context.ts";
import { example } from "../../output/example.ts";

/** `deaddrop config`: what the operator has chosen, and what the wire asks for. Spec 1.1, 8.6. */
export function command(cli: Cli): Command {
  const config = new Command("config").description(
    "Settings of this agent, and the wire's policy as you have accepted it. docs/settings.md\n" +
      "describes each setting.",
  );
  config
    .command("list")
    .description("all settings, and whether the wire's configuration is the accepted one")
    .action(async (_own: unknown, self: Command) => {
      const { list } = await import("../../config/settings.ts");
      list(cli, self.optsWithGlobals<GlobalFlags>());
    });
  config
    .command("get")
    .description("one setting, as JSON")
    .argument("<key>")
    .action(async (key: string, _own: unknown, self: Command) => {
      const { get } = await import("../../config/settings.ts");
      get(cli, key, self.optsWithGlobals<GlobalFlags>());
    });
  config
    .command("set")
    .description("change one setting; a running daemon takes it at once")
    .argument("<key>")
    .argument("<value>")
    .addHelpText("after", example("deaddrop config set guard.strict true"))
    .action(async (key: string, value: string, _own: unknown, self: Command) => {
      const { set } = await import("../../config/settings.ts");
      await set(cli, key, value, self.optsWithGlobals<GlobalFlags>());
    });
  config
    .command("unset")
    .description("put a setting's default back")
    .argument("<key>")
    .action(async (key: string, _own: unknown, self: Command) => {
      const { set } = await import("../../config/settings.ts");
      await set(cli, key, undefined, self.optsWithGlobals<GlobalFlags>());
    });
  config
    .command("edit")
    .description("open the settings in your editor")
    .action(async (_own: unknown, self: Command) => {
      const { edit } = await import("../../config/settings.ts");
      await edit(cli, self.optsWithGlobals<GlobalFlags>());
    });
  addConsent(config.command("accept"))
    .description("agree to the wire's config.json and tiers.json as they are now (operator)")
    .addHelpText("after", example("deaddrop config accept"))
    .action(async (_own: unknown, self: Command) => {
      const { accept } = await import("../../config/accept.ts");
      await accept(cli, self.optsWithGlobals<AcceptFlags>());
    });
  return config;
}
