import type { Command } from "commander";
import { prepareAnswer, type Verdict } from "../../sending/answer.ts";
import { parentOf } from "../../sending/naming/parent.ts";
import { withClient, type Cli } from "../context.ts";
import { addWaitFlags, deliver, type SendFlags } from "./deliver.ts";

export interface AnswerFlags extends Pick<
  SendFlags,
  "wait" | "timeout" | "wire" | "as" | "json" | "peer"
> {
  reason?: string;
  anyway?: boolean;
}

export const ANYWAY = "also when what it answers has ended (it changes nothing then)";

export function addAnswerFlags(command: Command): Command {
  return addWaitFlags(command.option("--reason <text>", "why").option("--anyway", ANYWAY));
}

/** Signs the answer to a message, which `named` finds, to its author. Spec 3.3, 3.4. */
export async function answer(
  cli: Cli,
  id: string,
  flags: AnswerFlags,
  verdict: Verdict,
  named = parentOf,
): Promise<void> {
  await withClient(cli, flags, async (client) =>
    deliver(cli, flags, client, await prepareAnswer(client, id, verdict, flags, named)),
  );
}
