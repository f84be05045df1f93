import type { HoldsView, HoldView } from "../../agent/answers/holds.ts";
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

function rowsOf({ places, cause, detail, since, evidence }: HoldView): Cell[][] {
  const row = (name: string, text: string): Cell[] => [{ text: name, style: "dim" }, { text }];
  return [
    ...(places.length === 0 ? [row("lines", "all: held in the trust store")] : []),
    ...places.map(([, seq, id]) => row("line", `${seq ?? "-"} ${id}`)),
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
export function resetEffect(view: HoldsView, followed: string | undefined): string[] {
  const { peer, holds } = view;
  return [
    ...holds.map(({ cause, since, detail }) => `${cause} since ${moment(since)}: ${detail}`),
    ...holds.flatMap(({ evidence }) => evidence.map((path) => `evidence: ${path}`)),
    ...holds.map((hold) => consequenceOf(peer, hold, followed)),
    ...silenceOf(view),
  ];
}

function consequenceOf(
  peer: string,
  { cause, place }: HoldView,
  followed: string | undefined,
): string {
  if (cause === "clock_skew") return `What ${peer} has dated ahead is delivered as it is.`;
  if (cause !== "log_forked")
    return `The hold of ${peer} ends; a key that was stopped stays stopped.`;
  const line = followed ?? place?.[2];
  return line === undefined
    ? `None of these lines of ${peer} can be followed yet.`
    : `The chain of ${peer} goes on along the branch of ${line}; lines of other branches are never delivered.`;
}
