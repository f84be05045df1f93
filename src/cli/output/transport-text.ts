import type { TransportView } from "../../api/transport.ts";
import { sanitise } from "../../framing/sanitise.ts";
import { when } from "../../framing/when.ts";
import type { Paint } from "./output.ts";

/** How the wire is shared with other machines, in one row and what is wrong. Empty: by its folder alone. */
export function transportText(view: TransportView | null, nowMs: number, paint: Paint): string {
  if (view === null) return "";
  const { remote, branch, fetched_at: fetched, waiting, held_logs: held, problem } = view;
  const last = fetched === null ? "not fetched yet" : `fetched ${when(fetched, nowMs)}`;
  const rest = waiting === 0 ? "all else is pushed" : `${filesText(waiting)} to be pushed`;
  const pushed = waiting === 0 && held.length === 0 ? "all pushed" : rest;
  const rows = [
    `${paint("bold", "Remote")}  ${sanitise(remote)} (${sanitise(branch)}), ${last}, ${pushed}`,
    ...heldText(held).map((text) => paint("red", sanitise(text))),
    ...(problem === null ? [] : [paint("red", sanitise(`${problem.detail} → ${problem.hint}`))]),
  ];
  return rows.join("\n");
}

/** Of each log of ours that is not pushed, why, and what shows more. */
export function heldText(logs: readonly string[]): string[] {
  return logs.map(
    (log) =>
      `${log} is not pushed: it lacks lines that the remote has, or waits for its repair → deaddrop doctor`,
  );
}

/** So many files of ours. */
export function filesText(count: number): string {
  return count === 1 ? "1 file" : `${count} files`;
}
