import { Command, Option } from "commander";
import type { AgentState, StatusChange } from "../../../api/client.ts";
import type { RoundView } from "../../../api/rounds.ts";
import type { NotWokenView, ToolSessionView } from "../../../api/tool-sessions.ts";
import type { ParkedView, StatusView } from "../../../api/views.ts";
import { safeModeEnd, type Reader } from "../../../protocol/escalations/safe-mode-end.ts";
import { DeaddropError } from "../../../api/errors.ts";
import { readerOf, withClient, type Cli, type GlobalFlags } from "../../context.ts";
import { example } from "../../output/example.ts";
import { EXIT_WRONG, liveTroubles } from "../../live/live-troubles.ts";
import { emit, table, type Cell, type Paint } from "../../output/output.ts";
import { peerRow } from "../../output/peer-text.ts";
import { unownedText } from "../../../storage/unowned-text.ts";
import { sanitise } from "../../../framing/sanitise.ts";
import { obligationRow, severityCell, waitingText } from "../../output/text.ts";
import { shortId } from "../../../framing/short-id.ts";
import { clockTime, when } from "../../../framing/when.ts";
import { troubleLine } from "../../live/trouble-text.ts";
import { transportText } from "../../output/transport-text.ts";
import { daemonText } from "./whoami.ts";

interface StatusFlags extends GlobalFlags {
  check?: boolean;
}

interface SetFlags extends GlobalFlags {
  state?: AgentState;
  lastAction?: string;
  headsDown?: boolean;
}

/** `deaddrop status`, which bare `deaddrop` is too: one screen. `status set`: 3.1. Spec 8.6. */
export function command(cli: Cli): Command {
  const status = new Command("status")
    .description("Everything on one screen: who, where, peers, unread, owed, incidents, what next.")
    .option("--check", "only what is wrong now, a line each; exit 0 when nothing is, else 1")
    .addHelpText("after", example("deaddrop status", "deaddrop status set --state busy"))
    .action((flags: StatusFlags) => (flags.check === true ? check(cli, flags) : run(cli, flags)));
  status
    .command("set")
    .description("Says what you are doing; it goes out with the next heartbeat.")
    .addOption(
      new Option("--state <state>", "what you are").choices(["idle", "busy", "blocked", "paused"]),
    )
    .option("--last-action <text>", "what you did last, in a few words")
    .option("--heads-down", "several edits at once: send heartbeats at the fastest tier")
    .option("--no-heads-down", "that is over")
    .addHelpText(
      "after",
      example('deaddrop status set --state busy --last-action "splitting the parser"'),
    )
    .action((_flags: SetFlags, self: Command) => set(cli, self.optsWithGlobals()));
  return status;
}

export async function run(cli: Cli, flags: GlobalFlags): Promise<void> {
  const view = await withClient(cli, flags, async (client): Promise<StatusView> => {
    const status = await client.view("status");
    // Only a daemon that runs knows of sessions, rounds and a transport.
    if (!client.viaDaemon) return status;
    const [sessions, rounds] = [await client.ask("sessions"), await client.ask("rounds")];
    return { ...status, sessions, rounds, transport: await client.ask("transport", {}) };
  });
  emit(cli, flags, view, (paint) => statusText(cli, view, paint));
}

/** `status --check`, for scripts and for people who look in the morning. Spec 8.6. */
async function check(cli: Cli, flags: GlobalFlags): Promise<void> {
  const troubles = await liveTroubles(cli, flags);
  emit(cli, flags, { ok: troubles.length === 0, troubles }, (paint) =>
    troubles.length === 0
      ? paint("green", "Nothing is wrong.")
      : troubles.map((trouble) => troubleLine(trouble, cli.clock.nowMs(), paint)).join("\n"),
  );
  if (troubles.length > 0) cli.exitCode = EXIT_WRONG;
}

async function set(cli: Cli, flags: SetFlags): Promise<void> {
  const change: StatusChange = {
    ...(flags.state === undefined ? {} : { state: flags.state }),
    ...(flags.lastAction === undefined ? {} : { lastAction: flags.lastAction }),
    ...(flags.headsDown === undefined ? {} : { headsDown: flags.headsDown }),
  };
  if (Object.keys(change).length === 0) {
    throw new DeaddropError("usage", "nothing to set", {
      hint: "give --state, --last-action or --heads-down",
    });
  }
  await withClient(cli, flags, (client) => client.ask("status", change));
  emit(cli, flags, { ok: true }, () => "Set; it goes out with the next heartbeat.");
}

function statusText(cli: Cli, view: StatusView, paint: Paint): string {
  const nowMs = cli.clock.nowMs();
  const width = cli.stdout.columns;
  const section = (title: string, rows: readonly Cell[][], more = 0, rest = ""): string => {
    if (rows.length === 0) return "";
    const left = more === 0 ? "" : ` (${more} more: ${rest})`;
    return `${paint("bold", title)}${left}\n${table(rows, paint, width)}`;
  };
  const { state, last_action, heads_down } = view.state;
  const says = view.parked === undefined || view.parked === null ? state : "parked";
  const doing = `${says}${last_action === null ? "" : `, last: ${last_action}`}${heads_down ? ", heads down" : ""}`;
  const parts = [
    `${paint("bold", view.handle)} on ${sanitise(view.wire_dir)} (${sanitise(doing)}); daemon ${daemonText(view)}`,
    safeModeText(view, readerOf(cli), paint, nowMs),
    parkedText(view, paint, nowMs),
    ...(view.stops ?? []).map(({ what, detail, end }) =>
      paint("red", sanitise(`${what === "clock" ? "CLOCK" : "NOT SENT"}: ${detail} → ${end}`)),
    ),
    storageText(view, paint, nowMs),
    unownedLogsText(view, paint),
    section(
      "Peers",
      view.peers.map((peer) => peerRow(peer, nowMs)),
    ),
    section(
      "Sessions",
      (view.sessions ?? []).map((session) => sessionRow(session, nowMs)),
    ),
    section("Rounds", (view.rounds ?? []).map(roundRow)),
    transportText(view.transport ?? null, nowMs, paint),
    `${paint("bold", "Unread")} ${view.unread}${unreadFromText(view)}${noticesText(view)}`,
    section(
      "You owe",
      view.owed_by_me.map((each) => obligationRow(each, nowMs)),
      view.left_out?.owed_by_me,
      "deaddrop pending",
    ),
    section(
      "Owed to you",
      view.owed_to_me.map((each) => obligationRow(each, nowMs)),
      view.left_out?.owed_to_me,
      "deaddrop pending",
    ),
    section(
      "Incidents",
      view.incidents.map((each) => [
        { text: shortId(each.event_id), style: "bold" },
        severityCell(each.severity),
        { text: each.status },
        { text: each.from },
        { text: each.subject },
      ]),
      view.left_out?.incidents,
      "deaddrop incident list",
    ),
    `${paint("bold", "Next")}  ${paint("green", sanitise(view.next))}`,
  ];
  return parts.filter((part) => part !== "").join("\n\n");
}

/** A session of a coding tool. Its name is the tool's own. */
function sessionRow(
  { tool, session, state, last_event: last, wake, is_second: isSecond, ...view }: ToolSessionView,
  nowMs: number,
): Cell[] {
  const usedUp = view.wakes_used_up?.map(usedUpText) ?? [];
  const woken = isSecond
    ? "not woken: another one is"
    : wake === null
      ? "not woken"
      : [`woken by ${wake}`, ...usedUp].join("; ");
  return [
    { text: tool, style: "bold" },
    { text: sanitise(session.slice(0, 12)) },
    { text: state },
    { text: `last event ${when(last, nowMs)}` },
    { text: woken },
  ];
}

function usedUpText({ peer, until, urgent_until: urgent }: NotWokenView): string {
  const rest = urgent === undefined ? ", except urgent ones" : "";
  return sanitise(`wakes used up until ${clockTime(until)} for messages of ${peer}${rest}`);
}

const STOP_HOOK: Record<ParkedView["stop_hook"], string> = {
  waiting: "a stop hook, if one is set, runs once the daemon does",
  running: "the stop hook runs",
  done: "the stop hook has run",
  failed: "the stop hook did not work: deaddrop incident notices",
  none: "there is no stop hook",
};

function parkedText({ parked }: StatusView, paint: Paint, nowMs: number): string {
  if (parked === undefined || parked === null) return "";
  const { since, peer, stop_hook } = parked;
  const words = `PARKED since ${when(since, nowMs)}: you approved the shutdown that ${peer} asked for; ${STOP_HOOK[stop_hook]}.`;
  return `${paint("yellow", sanitise(words))}\nNothing new is begun; deaddrop wake ends that.`;
}

/** Where several authors have unread messages: one who writes very much hides no other. */
function unreadFromText({ unread_from: from }: StatusView): string {
  if (from.length < 2) return "";
  return ` (${from.map(({ handle, count }) => `${count} of ${handle}`).join(", ")})`;
}

function noticesText({ notices }: StatusView): string {
  if (notices === 0) return "";
  return `, ${notices === 1 ? "1 notice" : `${notices} notices`}`;
}

function unownedLogsText({ unowned_logs: logs }: StatusView, paint: Paint): string {
  const names = logs === undefined ? undefined : unownedText(logs);
  return names === undefined ? "" : paint("yellow", sanitise(`Not read, of no member: ${names}`));
}

function storageText({ storage }: StatusView, paint: Paint, nowMs: number): string {
  if (storage === undefined || storage.troubles.length === 0) return "";
  const lines = storage.troubles.map(
    ({ area, detail, hint, since }) =>
      `STORAGE TROUBLE since ${when(since, nowMs)}, tried again by itself: ${area}: ${detail}; ${hint}`,
  );
  const { waiting } = storage;
  const wait = waiting === 0 ? [] : [waitingText(waiting)];
  return [...lines, ...wait].map((line) => paint("red", sanitise(line))).join("\n");
}

function safeModeText(
  { safe_mode: mode, handle }: StatusView,
  reader: Reader,
  paint: Paint,
  nowMs: number,
): string {
  if (mode === null || !mode.active) return "";
  const words = `SAFE MODE since ${when(mode.since, nowMs)}: ${mode.of} did not ack an incident of ${mode.author} (${shortId(mode.incident_id)})`;
  const end = `Most messages are not sent; ${safeModeEnd(mode, handle, reader)}`;
  return `${paint("red", sanitise(words))}\n${sanitise(end)}`;
}

function roundRow({ folder, participant, phase, is_turn, detail }: RoundView): Cell[] {
  return [
    { text: sanitise(folder) },
    { text: sanitise(participant) },
    { text: phase ?? "unreadable", style: phase === null ? "red" : undefined },
    { text: is_turn ? "YOUR TURN" : sanitise(detail), style: is_turn ? "yellow" : "dim" },
  ];
}
