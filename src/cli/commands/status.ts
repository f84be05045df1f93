import { definedFields } from "../../wire/defined-fields.ts";
import { DeaddropError } from "../../api/errors.ts";
import type { RoundView } from "../../api/rounds.ts";
import type { NotWokenView, ToolSessionView } from "../../api/tool-sessions.ts";
import type {
  ParkedView,
  StatusView,
  PeerView,
  ObligationView,
  TeamMemberView,
} from "../../api/views.ts";
import { sanitise } from "../../framing/sanitise.ts";
import { shortId } from "../../framing/short-id.ts";
import { clockTime, when } from "../../framing/when.ts";
import { safeModeEnd, type Reader } from "../../protocol/escalations/safe-mode-end.ts";
import { closest } from "../../wire/suggest.ts";
import { valueNamed } from "../../verbs/other-names.ts";
import { define } from "../command.ts";
import { readerOf, withClient, type Cli, type GlobalFlags } from "../context.ts";
import {
  counted,
  dueCell,
  growthText,
  obligationRow,
  presenceCell,
  severityCell,
  transportText,
  waitingText,
} from "../output/text.ts";
import { EXIT_WRONG, liveTroubles, troubleLine } from "../live/troubles.ts";
import { emit, factsTable, table, type Cell, type Paint } from "../output/output.ts";
import { daemonText, wake } from "./identity.ts";

const STATES = ["idle", "busy", "blocked", "paused"] as const;
type State = (typeof STATES)[number];

/** The record of a wire. Spec 8.6. */
const stats = define({
  about: "Counts what happened on this wire: messages, decisions, incidents.",
  examples: ["deaddrop status stats --json"],
  async run(cli, flags) {
    const stats = await withClient(cli, flags, (client) => client.view("stats"));
    const byType = Object.entries(stats.by_type).sort(([, a], [, b]) => b - a);
    emit(cli, flags, stats, (paint) =>
      factsTable(
        [
          ["days", String(stats.days)],
          ["messages", String(stats.messages)],
          ["heartbeats", `${Math.round(stats.heartbeat_share * 100)} %`],
          ["by type", byType.map(([type, number]) => `${type} ${number}`).join(", ") || "-"],
          ["proposals acked", String(stats.proposal_ack_pairs)],
          ["decisions", String(stats.decisions)],
          ["incidents", `${stats.incidents}, acked in time ${stats.incidents_acked_in_time}`],
          ["disagreements", String(stats.disagreements)],
          ...(stats.growth ?? []).map((each) => [`size: ${each.what}`, growthText(each)] as const),
        ],
        paint,
      ),
    );
  },
});

/** One screen; bare `deaddrop` is this, too. Spec 3.1, 8.6. */
export const status = define({
  about: "Everything on one screen: who, where, peers, unread, owed, incidents, what next.",
  options: { "--check": "only what is wrong now, a line each; exit 1 when any is an error" },
  examples: ["deaddrop status", "deaddrop status set busy"],
  async run(cli, flags) {
    if (flags.check === true) return check(cli, flags);
    const view = await withClient(cli, flags, async (client): Promise<StatusView> => {
      const status = await client.view("status");
      // Only a daemon that runs knows of sessions, rounds and a transport.
      if (!client.viaDaemon) return status;
      const [sessions, rounds] = [await client.ask("sessions"), await client.ask("rounds")];
      return { ...status, sessions, rounds, transport: await client.ask("transport", {}) };
    });
    emit(cli, flags, view, (paint) => statusText(cli, view, paint));
  },
  default: "set",
  commands: {
    set: define({
      about: "Says what you are doing; it goes out with the next heartbeat.",
      args: {
        "[state]": "idle, busy, blocked or paused; other words say what you do",
        "[last-action]": { about: "what you do, in a few words", isText: true },
      },
      options: {
        "--state <state>": { about: "the state, in place of the argument", choices: STATES },
        "--last-action <text>": "what you do, in place of the argument",
        "--heads-down": "several edits at once: send heartbeats at the fastest tier",
        "--no-heads-down": "that is over",
      },
      examples: ['deaddrop status set busy "splitting the parser"'],
      async run(cli, flags, args) {
        const { headsDown } = flags;
        const { state = flags.state, lastAction = flags.lastAction } = saidOf(args);
        const change = definedFields({ state, lastAction, headsDown });
        if (Object.keys(change).length === 0) {
          throw new DeaddropError("usage", "nothing to set", {
            hint: 'say a state or what you do: deaddrop status set busy "splitting the parser"',
          });
        }
        await withClient(cli, flags, (client) => client.ask("status", change));
        emit(cli, flags, { ok: true }, () => "Set; it goes out with the next heartbeat.");
      },
    }),
    wake,
    stats,
  },
});

/** A first word that is no state begins what the agent does. Throws Misread for one that stands alone. */
function saidOf(args: {
  readonly state?: string | undefined;
  readonly lastAction?: string | undefined;
}): {
  readonly state: State | undefined;
  readonly lastAction: string | undefined;
} {
  const [first, rest] = [args.state, args.lastAction];
  const state = valueNamed(first ?? "", STATES);
  if (state !== undefined) return { state, lastAction: rest };
  const words = [first, rest].filter((each) => each !== undefined).join(" ");
  if (words !== "" && !words.includes(" ")) {
    const better = closest(words, STATES);
    throw new DeaddropError("usage", `"${words}" is no state: ${STATES.join(", ")}`, {
      hint: 'to say what you do: deaddrop status set busy "splitting the parser"',
      instead: better === undefined ? undefined : { given: words, meant: [better] },
    });
  }
  return { state: undefined, lastAction: words === "" ? undefined : words };
}

/** Who is what, doing what, waiting for what. Spec 3.8. */
export const team = define({
  about: "Shows all agents of the wire: what each does, waits for and owes.",
  examples: ["deaddrop peers team"],
  async run(cli, flags) {
    const team = await withClient(cli, flags, (client) => client.view("team"));
    const nowMs = cli.clock.nowMs();
    const { columns } = cli.stdout;
    emit(cli, flags, team, (paint) => {
      const rows = team.map((member) => memberRow(member, nowMs));
      const waits = team.flatMap((member) => {
        const rows = waitRows(member, nowMs);
        const title = paint("bold", `${member.handle} waits for`);
        return rows.length === 0 ? [] : [`\n${title}\n${table(rows, paint, columns)}`];
      });
      return [table(rows, paint, columns), ...waits].join("\n");
    });
  },
});

/** `status --check`, for scripts and for people who look in the morning. Spec 8.6. */
async function check(cli: Cli, flags: GlobalFlags): Promise<void> {
  const troubles = await liveTroubles(cli, flags);
  const ok = troubles.every(({ severity }) => severity === "warning");
  emit(cli, flags, { ok, troubles }, (paint) =>
    troubles.length === 0
      ? paint("green", "Nothing is wrong.")
      : troubles.map((each) => troubleLine(cli, each, paint)).join("\n"),
  );
  if (!ok) cli.exitCode = EXIT_WRONG;
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
    ...view.troubles.map((each) => troubleLine(cli, each, paint)),
    view.waiting === 0 ? "" : paint("red", waitingText(view.waiting)),
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
        each.status,
        each.from,
        each.subject,
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
    sanitise(session.slice(0, 12)),
    state,
    `last event ${when(last, nowMs)}`,
    woken,
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
  return `${paint("yellow", sanitise(words))}\nNothing new is begun; deaddrop status wake ends that.`;
}

/** Where several authors have unread messages: one who writes very much hides no other. */
function unreadFromText({ unread_from: from }: StatusView): string {
  if (from.length < 2) return "";
  return ` (${from.map(({ handle, count }) => `${count} of ${handle}`).join(", ")})`;
}

function noticesText({ notices }: StatusView): string {
  if (notices === 0) return "";
  return `, ${counted(notices, "notice")}`;
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
    sanitise(folder),
    sanitise(participant),
    { text: phase ?? "unreadable", style: phase === null ? "red" : undefined },
    { text: is_turn ? "YOUR TURN" : sanitise(detail), style: is_turn ? "yellow" : "dim" },
  ];
}

/** One peer as a table row. A hold is shown everywhere, before anything else. Spec 3. */
export function peerRow(peer: PeerView, nowMs: number): Cell[] {
  const state = peer.state === null ? "" : `, ${peer.state}`;
  return [
    { text: peer.handle, style: "bold" },
    peer.held ? { text: "HELD", style: "red" } : presenceCell(peer.presence),
    peer.trust_tier ?? "no tier",
    `heartbeat ${when(peer.last_seen_at, nowMs)}`,
    `agent ${when(peer.agent_last_seen, nowMs)}${state}${foreignText(peer)}`,
    ...peer.waits.map(({ detail, end, since }): Cell => ({
      text: `${detail}, since ${when(since, nowMs)} → ${end}`,
      style: "yellow",
    })),
  ];
}

/** What others have written into its files is not its word, and is shown as such. Spec 2.4. */
function foreignText({ foreign_lines: lines, unpinned_lines: early }: PeerView): string {
  const unpinned = early === 0 ? "" : `; ${linesBeforeKey(early)}`;
  if (lines === 0) return unpinned;
  return `${unpinned}; its files hold ${counted(lines, "line")} that it did not sign`;
}

/** What is known of lines that an agent wrote with an earlier key, which is not pinned here. */
function linesBeforeKey(lines: number): string {
  const are = lines === 1 ? "1 line is" : `${lines} lines are`;
  return `${are} from before its key was pinned here, signed with a key that is not pinned`;
}

function memberRow(member: TeamMemberView, nowMs: number): Cell[] {
  const { handle, is_self, presence, state, last_action, agent_last_seen, owes_in_all } = member;
  return [
    { text: is_self ? `${handle} (you)` : handle, style: "bold" },
    presenceCell(presence),
    state ?? "-",
    `agent ${when(agent_last_seen, nowMs)}`,
    owes_in_all === 0 ? "owes nothing" : `owes ${owes_in_all}`,
    last_action ?? "",
  ];
}

function waitRows({ waits_for, waits_for_in_all }: TeamMemberView, nowMs: number): Cell[][] {
  const rows = waits_for.map((each) => waitRow(each, nowMs));
  const more = waits_for_in_all - waits_for.length;
  return more === 0 ? rows : [...rows, [{ text: `and ${more} more: deaddrop pending` }]];
}

function waitRow(owed: ObligationView, nowMs: number): Cell[] {
  return [
    { text: shortId(owed.event_id), style: "dim" },
    { text: owed.owed_by, style: "cyan" },
    owed.type,
    dueCell(owed, nowMs),
    owed.subject,
  ];
}
