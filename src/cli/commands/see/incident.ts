import { Command, Option } from "commander";
import type { IncidentView } from "../../../api/views.ts";
import { prepareIncident, prepareResolution } from "../../../sending/incident.ts";
import { incidentNamed, MESSAGE_ID } from "../../../sending/naming/parent.ts";
import { INCIDENTS_TOLD } from "../../../agent/mark-read.ts";
import { withClient, type Cli, type GlobalFlags } from "../../context.ts";
import { addBodyFlags, readBody, type BodyFlags } from "../../input/body-input.ts";
import { addWords, wordsOf, type WordFlags } from "../../input/words.ts";
import { example } from "../../output/example.ts";
import { followIncidents, incidentRow, noticeRow } from "../../output/incident-text.ts";
import { emit, table } from "../../output/output.ts";
import { answer, type AnswerFlags } from "../../sending/answer.ts";
import {
  addSendFlags,
  addWaitFlags,
  deliver,
  extrasOf,
  type SendFlags,
} from "../../sending/deliver.ts";

interface RaiseFlags extends SendFlags, WordFlags {
  severity: IncidentView["severity"];
}

interface ListFlags extends GlobalFlags {
  follow?: boolean;
  all?: boolean;
}

/** `deaddrop incident raise|ack|resolve|list|notices`. Spec 3.5. */
export function command(cli: Cli): Command {
  const incident = new Command("incident").description(
    "Raises incidents, answers and settles them. An incident that is not acked in time escalates.",
  );
  incident.addCommand(raiseCommand(cli));
  incident.addCommand(ackCommand(cli));
  incident.addCommand(resolveCommand(cli));
  incident.addCommand(listCommand(cli));
  incident.addCommand(noticesCommand(cli));
  return incident.addHelpText("after", example("deaddrop incident list"));
}

function raiseCommand(cli: Cli): Command {
  const severity = new Option("--severity <level>", "how bad it is").default("medium");
  const raise = new Command("raise")
    .description(
      "Tells peers, and asks each for an ack within a heartbeat of reading it (default: all peers).\n" +
        "high and critical stop the wire: when a peer has read one and ten minutes later has not acked\n" +
        "it, all who trust you send little else (safe mode) until that peer acks it, you resolve it, or\n" +
        "an operator resumes. low and medium stop nobody.",
    )
    .addOption(severity.choices(["low", "medium", "high", "critical"]));
  return addSendFlags(addWords(raise, "what is wrong", "what there is to know"))
    .addHelpText(
      "after",
      example('deaddrop incident raise --severity high "main is broken" "4f2a91c lost a test."'),
    )
    .action(async (first?: string, second?: string) => {
      const flags: RaiseFlags = raise.optsWithGlobals();
      const { subject, body: said } = wordsOf(first, second, flags);
      const { severity, to } = flags;
      const body = await readBody(cli, flags, said);
      const about = { severity, subject, body, to, extras: extrasOf(flags) };
      await withClient(cli, flags, async (client) =>
        deliver(cli, flags, client, await prepareIncident(client, about)),
      );
    });
}

function ackCommand(cli: Cli): Command {
  const acknowledge = new Command("ack")
    .description("Acknowledges an incident to its author.")
    .argument("<id>", MESSAGE_ID)
    .option("--reason <text>", "what you do about it");
  return addWaitFlags(acknowledge)
    .addHelpText("after", example('deaddrop incident ack 4f2a91 --reason "reverting"'))
    .action((id: string, _own: unknown, self: Command) =>
      answer(cli, id, self.optsWithGlobals<AnswerFlags>(), "ack", incidentNamed),
    );
}

function resolveCommand(cli: Cli): Command {
  const resolve = new Command("resolve")
    .description("Says in the incident's thread that it is settled.")
    .argument("<id>", MESSAGE_ID)
    .argument("[body]", "how; - reads standard input");
  return addBodyFlags(addSendFlags(resolve))
    .addHelpText("after", example('deaddrop incident resolve 4f2a91 "Reverted; main is green."'))
    .action(async (id: string, argument: string | undefined, _own: unknown, self: Command) => {
      const flags: SendFlags & BodyFlags = self.optsWithGlobals();
      const body = await readBody(cli, flags, argument);
      const about = { body, to: flags.to, extras: extrasOf(flags) };
      await withClient(cli, flags, async (client) =>
        deliver(cli, flags, client, await prepareResolution(client, id, about)),
      );
    });
}

function listCommand(cli: Cli): Command {
  return new Command("list")
    .description("Lists the incidents that are open, the oldest first.")
    .option("--all", "also those resolved")
    .option("--follow", "go on, and show each as it comes or changes")
    .addHelpText("after", example("deaddrop incident list --follow"))
    .action(async (_own: unknown, self: Command) => {
      const flags: ListFlags = self.optsWithGlobals();
      const wanted = ({ status }: IncidentView) => flags.all === true || status !== "resolved";
      await withClient(cli, flags, async (client) => {
        const listed = await client.view("incidents");
        if (flags.follow === true) return followIncidents(cli, flags, client, wanted);
        const incidents = listed.filter(wanted);
        const rows = incidents.map((each) => incidentRow(each, cli.clock.nowMs(), client.handle));
        emit(cli, flags, incidents, (paint) =>
          rows.length === 0 ? "No open incidents." : table(rows, paint, cli.stdout.columns),
        );
      });
    });
}

function noticesCommand(cli: Cli): Command {
  return new Command("notices")
    .description(
      "Lists what your daemon noticed by itself: it asks nobody for an ack. `status --check` and\n" +
        "`doctor` count those that no operator has marked as read.",
    )
    .option("--mark-read", "mark all as read")
    .addHelpText("after", example("deaddrop incident notices"))
    .action(async (_own: unknown, self: Command) => {
      const flags: GlobalFlags & { markRead?: boolean } = self.optsWithGlobals();
      const notices = await withClient(cli, flags, async (client) => {
        const listed = await client.view("notices");
        if (flags.markRead === true) await client.ask("read", { ids: [INCIDENTS_TOLD] });
        return listed;
      });
      const rows = notices.map((each) => noticeRow(each, cli.clock.nowMs()));
      emit(cli, flags, notices, (paint) =>
        rows.length === 0 ? "Nothing noticed." : table(rows, paint, cli.stdout.columns),
      );
    });
}
