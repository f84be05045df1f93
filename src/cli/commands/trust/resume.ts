import { Command } from "commander";
import type { Client } from "../../../api/client.ts";
import type { SafeModeView } from "../../../api/views.ts";
import { DeaddropError } from "../../../api/errors.ts";
import { agentPaths } from "../../../storage/paths.ts";
import { confirmOperator, type ConsentFlags } from "../../input/confirm.ts";
import { placesOf, withClient, type Cli, type GlobalFlags } from "../../context.ts";
import { example } from "../../output/example.ts";
import {
  aboutParent,
  answerSubject,
  parentOf,
  type Parent,
} from "../../../sending/naming/parent.ts";
import { peersOf } from "../../../sending/naming/recipients.ts";
import { deliver } from "../../sending/deliver.ts";
import { shortId } from "../../../framing/short-id.ts";

type Flags = GlobalFlags & ConsentFlags;

/** `deaddrop resume`: the operator ends safe mode, by a signed incident. Spec 3.5. */
export function command(cli: Cli): Command {
  return new Command("resume")
    .description(
      "Ends safe mode: for all when the incident is your agent's, else for your agent alone. Without\n" +
        "it, safe mode ends when the silent agent acks the incident or its author resolves it.\n" +
        "An operator's command: it needs a terminal, or --yes with --reason.",
    )
    .option("--reason <text>", "why it is safe to go on; it is signed and sent")
    .option("--yes", "do not ask (needs --reason)")
    .addHelpText("after", example('deaddrop resume --reason "scribe is back, by phone"'))
    .action((flags: Flags) => run(cli, flags));
}

export async function run(cli: Cli, flags: Flags): Promise<void> {
  if (flags.reason === undefined || flags.reason.trim() === "") {
    throw new DeaddropError("usage", "resume needs --reason", {
      hint: "say why it is safe to go on; the peers will read it",
    });
  }
  const reason = flags.reason;
  await withClient(cli, flags, async (client) => {
    const mode = await activeSafeMode(client);
    const here = mode.author !== client.handle;
    const incident = await parentOf(client, mode.incident_id);
    await consent(cli, flags, client, { mode, here, incident });
    const draft = {
      to: await peersOf(client),
      type: "incident",
      subject: answerSubject(here ? "resumed here" : "resumed", incident),
      body: { resumes: [...mode.escalations], reason },
      correlationId: incident.correlation_id,
    };
    await deliver(cli, flags, client, { draft, answers: incident });
  });
}

async function activeSafeMode(client: Client): Promise<SafeModeView> {
  const mode = await client.view("safe_mode");
  if (mode === null || !mode.active) {
    throw new DeaddropError("refused", "there is no safe mode to end");
  }
  return mode;
}

async function consent(
  cli: Cli,
  flags: Flags,
  client: Client,
  {
    mode,
    here,
    incident,
  }: { readonly mode: SafeModeView; readonly here: boolean; readonly incident: Parent },
): Promise<void> {
  const { wire } = await client.view("whoami");
  const { wireDir, handle } = client;
  const paths = agentPaths(placesOf(cli.env), { wireDir, wireKey: wire, handle });
  const action = {
    action: "resume",
    target: mode.escalation_id,
    effect: [
      `${mode.of} did not ack incident ${shortId(mode.incident_id)} of ${mode.author}.`,
      `It is ${aboutParent(incident)}`,
      `Safe mode ends ${here ? `for ${handle} alone` : "for all"}; this is signed and sent.`,
    ],
    word: "resume",
  };
  await confirmOperator(cli, flags, action, paths.operatorJournal);
}
