import type { Client } from "../../api/client.ts";
import { DeaddropError } from "../../api/errors.ts";
import type { IncidentView, IncidentAddressee, NoticeView, SafeModeView } from "../../api/views.ts";
import { safeJson } from "../../framing/sanitise.ts";
import { shortId } from "../../framing/short-id.ts";
import { when } from "../../framing/when.ts";
import { agentPaths } from "../../storage/paths.ts";
import { INCIDENTS_TOLD } from "../../store/told.ts";
import { ackIncident, raiseIncident, resolveIncident } from "../../verbs/incident.ts";
import { aboutParent, answerSubject, parentOf } from "../../verbs/naming/parent.ts";
import { peersOf } from "../../verbs/naming/recipients.ts";
import { define } from "../command.ts";
import { placesOf, withClient, type Cli, type GlobalFlags } from "../context.ts";
import { confirmOperator } from "../input/confirm.ts";
import { emit, emitTable, FOLLOW_PAUSE_MS, table, type Cell } from "../output/output.ts";
import { statusCell, severityCell } from "../output/text.ts";
import { deliver } from "../sending/deliver.ts";
import { verbCommand } from "../sending/verb-command.ts";

/** The operator ends safe mode, by a signed incident. Spec 3.5. */
const resume = define({
  about:
    "Ends safe mode: for all when the incident is your agent's, else for your agent alone. Without " +
    "it, safe mode ends when the silent agent acks the incident or its author resolves it. " +
    "An operator's command: it needs a terminal, or --yes with --reason.",
  options: {
    "--reason <text>": "why it is safe to go on; it is signed and sent",
    "--yes": "do not ask (needs --reason)",
  },
  examples: ['deaddrop incident resume --reason "scribe is back, by phone"'],
  async run(cli, flags) {
    const { reason } = flags;
    if (reason === undefined || reason.trim() === "") {
      throw new DeaddropError("usage", "resume needs --reason", {
        hint: "say why it is safe to go on; the peers will read it",
      });
    }
    await deliver(cli, flags, async ({ client }) => {
      const mode = await activeSafeMode(client);
      const isHere = mode.author !== client.handle;
      const parent = await parentOf(client, mode.incident_id);
      const { wire } = await client.view("whoami");
      const { wireDir, handle } = client;
      const paths = agentPaths(placesOf(cli.env), { wireDir, wireKey: wire, handle });
      const action = {
        action: "resume",
        target: mode.escalation_id,
        effect: [
          `${mode.of} did not ack incident ${shortId(mode.incident_id)} of ${mode.author}.`,
          `It is ${aboutParent(parent)}`,
          `Safe mode ends ${isHere ? `for ${handle} alone` : "for all"}; this is signed and sent.`,
        ],
        word: "resume",
      };
      await confirmOperator(cli, flags, action, paths.operatorJournal);
      const draft = {
        to: await peersOf(client),
        type: "incident",
        subject: answerSubject(isHere ? "resumed here" : "resumed", parent),
        body: { resumes: [...mode.escalations], reason },
        correlationId: parent.correlation_id,
      };
      return { draft, answers: parent };
    });
  },
});

/** Spec 3.5. */
export const incident = define({
  about:
    "Raises incidents, answers and settles them. An incident that is not acked in time escalates.",
  examples: ["deaddrop incident list"],
  bare: "list",
  default: "raise",
  commands: {
    raise: { ...verbCommand(raiseIncident), also: "create new add open report" },
    ack: { ...verbCommand(ackIncident), also: "acknowledge" },
    resolve: { ...verbCommand(resolveIncident), also: "close" },
    list: define({
      about: "Lists the incidents that are open, the oldest first.",
      options: {
        "--all": "also those resolved",
        "--follow": "go on, and show each as it comes or changes",
      },
      examples: ["deaddrop incident list --follow"],
      async run(cli, flags) {
        const wanted = ({ status }: IncidentView) => flags.all === true || status !== "resolved";
        await withClient(cli, flags, async (client) => {
          const listed = await client.view("incidents");
          if (flags.follow === true) return followIncidents(cli, flags, client, wanted);
          const nowMs = cli.clock.nowMs();
          const rowOf = (each: IncidentView) => incidentRow(each, nowMs, client.handle);
          emitTable(cli, flags, listed.filter(wanted), rowOf, "No open incidents.");
        });
      },
    }),
    notices: define({
      about:
        "Lists what your daemon noticed by itself: it asks nobody for an ack. `status --check` and " +
        "`doctor` count those that no operator has marked as read.",
      options: { "--mark-read": "mark all as read" },
      examples: ["deaddrop incident notices"],
      async run(cli, flags) {
        const notices = await withClient(cli, flags, async (client) => {
          const listed = await client.view("notices");
          if (flags.markRead === true) await client.ask("read", { ids: [INCIDENTS_TOLD] });
          return listed;
        });
        const nowMs = cli.clock.nowMs();
        emitTable(cli, flags, notices, (each) => noticeRow(each, nowMs), "Nothing noticed.");
      },
    }),
    resume,
  },
});

function incidentRow(each: IncidentView, nowMs: number, self: string): Cell[] {
  return [
    { text: shortId(each.event_id), style: "bold" },
    severityCell(each.severity),
    statusCell(each.status),
    { text: each.from, style: "cyan" },
    { text: when(each.raised_at, nowMs), style: "dim" },
    each.addressees.map((who) => addresseeText(who, nowMs, self)).join(", ") || "-",
    each.subject,
  ];
}

function addresseeText(who: IncidentAddressee, nowMs: number, self: string): string {
  if (who.acked) return `${who.handle}: acked`;
  if (who.escalated) return `${who.handle}: escalated`;
  // What is here has come here and may be read, whether or not a heartbeat of ours has said so.
  const isUnsaid = who.stage === "undelivered" || who.stage === "unread";
  if (who.handle === self && isUnsaid) return `${who.handle}: not acked`;
  const { stage, escalates_at: at } = who;
  const isRunning = stage === "read" && at !== null;
  const state = isRunning ? `escalates ${when(at, nowMs)}` : STAGE[stage ?? "unknown"];
  return `${who.handle}: ${state}`;
}

const STAGE: Record<NonNullable<IncidentAddressee["stage"]> | "unknown", string> = {
  undelivered: "not delivered yet",
  unread: "not read yet",
  busy: "read, but busy",
  read: "read",
  unknown: "not acked",
};

function noticeRow(each: NoticeView, nowMs: number): Cell[] {
  return [
    { text: when(each.at, nowMs), style: "dim" },
    { text: each.cause, style: "yellow" },
    { text: each.peer ?? "-", style: "cyan" },
    each.detail === "" ? each.subject : `${each.subject}: ${each.detail}`,
  ];
}

/** Shows each incident when it comes and whenever it changes, until it is interrupted. */
async function followIncidents(
  cli: Cli,
  flags: GlobalFlags,
  client: Client,
  wanted: (incident: IncidentView) => boolean,
): Promise<never> {
  let shown = new Map<string, string>();
  for (;;) {
    const now = new Map<string, string>();
    for (const each of await client.view("incidents")) {
      const facts = safeJson(each);
      now.set(each.event_id, facts);
      // One that was shown open is shown resolved too.
      const known = shown.get(each.event_id);
      if (known === facts || (known === undefined && !wanted(each))) continue;
      emit(cli, flags, each, (paint) =>
        table([incidentRow(each, cli.clock.nowMs(), client.handle)], paint, cli.stdout.columns),
      );
    }
    shown = now;
    await cli.clock.sleep(FOLLOW_PAUSE_MS);
    // Without a daemon nobody but us takes in what peers write.
    if (!client.viaDaemon) await client.ask("tick");
  }
}

async function activeSafeMode(client: Client): Promise<SafeModeView> {
  const mode = await client.view("safe_mode");
  if (mode === null || !mode.active) {
    throw new DeaddropError("refused", "there is no safe mode to end");
  }
  return mode;
}
