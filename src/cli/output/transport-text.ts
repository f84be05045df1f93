import type { TransportView } from "../../api/transport.ts";
import { sanitise } from "../../framing/sanitise.ts";
import { when } from "../../framing/when.ts";
import type { Paint } from "./output.ts";

/** How the wire is shared with other machines, in one row and what is wrong. Empty: by its folder alone. */
export function transportText(view: TransportView | null, nowMs: number, paint: Paint): string {
  if (view === null) return "";
  const { remote, branch, fetched_at: fetched, waiting, held_logs: held, problem } = view;
  const last = fetched === null ? "not fetched yet" : `fetched ${when(fetched, nowMs)}`;
  const rest =
    held.length > 0
      ? `${held.join(", ")} held back until what is missing is there`
      : waiting === 0
        ? "all pushed"
        : `${waiting} files wait to be pushed`;
  const row = `${paint("bold", "Remote")}  ${sanitise(remote)} (${sanitise(branch)}), ${last}, ${rest}`;
  if (problem === null) return row;
  return `${row}\n${paint("red", sanitise(`${problem.detail} → ${problem.hint}`))}`;
}
