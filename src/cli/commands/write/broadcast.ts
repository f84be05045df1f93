import { Command } from "commander";
import type { Cli } from "../../context.ts";
import { example } from "../../output/example.ts";
import { addDeliveryFlags } from "../../sending/deliver.ts";
import { addMessageFlags, run, type Flags } from "./send.ts";

/** `deaddrop broadcast`: `send` to everybody. */
export function command(cli: Cli): Command {
  const broadcast = new Command("broadcast").description(
    "Sends a message to every peer, as `deaddrop send all` does.",
  );
  return addMessageFlags(addDeliveryFlags(broadcast))
    .addHelpText("after", example('deaddrop broadcast "main is frozen until 17:00 UTC"'))
    .action((subject: string | undefined, body: string | undefined, flags: Flags) =>
      run(
        cli,
        [subject, body].filter((word) => word !== undefined),
        { ...flags, to: ["*"] },
      ),
    );
}
