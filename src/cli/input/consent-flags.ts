import type { Command } from "commander";

/** The flags with which an operator agrees without a terminal (confirm.ts). Spec 8.6. */
export function addConsent(command: Command): Command {
  return command
    .option("--yes", "confirm without a terminal; needs --reason")
    .option("--reason <text>", "why; recorded in your private operator journal");
}
