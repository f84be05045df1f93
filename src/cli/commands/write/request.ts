import { Command } from "commander";
import { DeaddropError } from "../../../api/errors.ts";
import { prepareRequest } from "../../../sending/request.ts";
import { withClient, type Cli } from "../../context.ts";
import { addBodyFlags, readBody, readTextFile, type BodyFlags } from "../../input/body-input.ts";
import { example } from "../../output/example.ts";
import { addDeliveryFlags, deliver, extrasOf, type SendFlags } from "../../sending/deliver.ts";

interface Flags extends SendFlags, BodyFlags {
  subject?: string;
  plan?: string;
  planFile?: string;
  due?: string;
  state?: string;
}

/** `deaddrop request`: asks for a yes or a no that is tracked until it comes. Spec 3.8. */
export function command(cli: Cli): Command {
  const request = new Command("request")
    .description(
      "Asks agents to approve or reject something. Each of them answers for itself with\n" +
        "`deaddrop respond`; `deaddrop requests` shows what became of it.\n\n" +
        "  shutdown       asks an agent to finish; when it approves, its daemon parks\n" +
        "  plan_approval  submits a plan: do not begin before it is approved\n" +
        "  any other      a name of your own",
    )
    .argument("<type>", "shutdown, plan_approval, or a name of your own")
    .argument("[peer...]", "whom to ask (in a pair the peer)")
    .option("--subject <text>", "what it is about")
    .option("--plan <text>", "the plan to be approved")
    .option("--plan-file <file>", "the same, from a file")
    .option("--due <when>", "until when to answer: 30m, 4h, 2d or a time (else 24 hours)")
    .option("--state <line>", "the line of state that a long request opens with");
  return addBodyFlags(addDeliveryFlags(request))
    .addHelpText(
      "after",
      example(
        'deaddrop request shutdown scribe --body "The release is out."',
        'deaddrop request plan_approval lead --plan "1. measure 2. cut over" --wait answered',
      ),
    )
    .action((type: string, peers: string[], flags: Flags) => run(cli, type, peers, flags));
}

export async function run(
  cli: Cli,
  type: string,
  peers: readonly string[],
  flags: Flags,
): Promise<void> {
  const about = {
    type,
    to: peers.length === 0 ? undefined : peers,
    body: await readBody(cli, flags, undefined),
    subject: flags.subject,
    plan: planOf(cli, flags),
    due: flags.due,
    state: flags.state,
    extras: extrasOf(flags),
  };
  await withClient(cli, flags, async (client) =>
    deliver(cli, flags, client, await prepareRequest(client, about, cli.clock.nowMs())),
  );
}

function planOf(cli: Cli, { plan, planFile }: Flags): string | undefined {
  if (plan !== undefined && planFile !== undefined) {
    throw new DeaddropError("usage", "the plan is given twice", {
      hint: "with --plan or with --plan-file: one of them",
    });
  }
  return planFile === undefined ? plan : readTextFile(cli, "--plan-file", planFile);
}
