import type { HoldsView, HoldView } from "../../api/holds.ts";
import { table, type Cell, type Paint } from "../output/output.ts";
import { sanitise } from "../../framing/sanitise.ts";
import { moment } from "../../framing/when.ts";

/** What is held of a peer, for a person. */
export function holdsText(view: HoldsView, paint: Paint): string {
  const { peer, holds } = view;
  const notes = notesOf(view);
  if (holds.length === 0) return [`nothing of ${peer} is held`, ...notes].join("\n");
  const blocks = holds.map((hold) => table(rowsOf(hold), paint, undefined));
  const next = `when you have found out why: ${paint("bold", `deaddrop peer reset ${peer}`)}`;
  return [`${paint("red", "held")} ${peer}`, ...blocks, ...notes, next].join("\n\n");
}

function rowsOf({ log, cause, detail, since, evidence }: HoldView): Cell[][] {
  const row = (name: string, text: string): Cell[] => [{ text: name, style: "dim" }, { text }];
  return [
    row(log === null ? "all logs" : "log", log ?? "held in the trust store"),
    [
      { text: "cause", style: "dim" },
      { text: cause, style: "yellow" },
    ],
    row("since", moment(since)),
    row("detail", detail),
    ...evidence.map((path) => row("evidence", path)),
  ];
}

function notesOf({ peer, holds, blocked, can_speak, evidence }: HoldsView): string[] {
  const shown = new Set(holds.flatMap((hold) => hold.evidence));
  const earlier = evidence.filter((path) => !shown.has(path));
  return [
    ...(earlier.length === 0 ? [] : [`evidence of before:\n${earlier.map(sanitise).join("\n")}`]),
    ...silenceOf({ peer, blocked, can_speak }),
  ];
}

/** What keeps a peer silent although nothing holds it. */
export function silenceOf({
  peer,
  blocked,
  can_speak,
}: Pick<HoldsView, "peer" | "blocked" | "can_speak">): string[] {
  const notes: string[] = [];
  if (!can_speak) {
    notes.push(
      `every key of ${peer} is stopped: nothing that it writes is believed until you pin another: deaddrop trust pin ${peer} <key>`,
    );
  }
  if (blocked)
    notes.push(`${peer} is blocked: its lines are refused until: deaddrop trust unblock ${peer}`);
  return notes;
}

/** What a reset will do, in lines for the operator to agree to. */
export function resetEffect(view: HoldsView): string[] {
  const { peer, holds } = view;
  return [
    ...holds.map(({ cause, since, detail }) => `${cause} since ${moment(since)}: ${detail}`),
    ...holds.flatMap(({ evidence }) => evidence.map((path) => `evidence: ${path}`)),
    ...holds.map((hold) => consequenceOf(peer, hold)),
    ...silenceOf(view),
  ];
}

function consequenceOf(peer: string, { log, cause, taken_from }: HoldView): string {
  if (log === null) return `The hold of ${peer} ends; a key that was stopped stays stopped.`;
  if (taken_from === "beginning") {
    return `${log} is read again from its beginning: new lines in it are delivered, lines that you have had already are not.`;
  }
  if (cause === "clock_skew") {
    return `${log} is taken as it is now: what is dated ahead in it is delivered, marked with how far.`;
  }
  return cause === "log_gap"
    ? `${log} is taken from where it begins; lines before that are taken if they come.`
    : `${log} is taken again after the line that forked it: what waits there is delivered, that line is not.`;
}
