import type { TransportView } from "../../api/transport.ts";
import { sanitise } from "../../framing/sanitise.ts";
import { when } from "../../framing/when.ts";
import type { Paint } from "./output.ts";

/** How the wire is shared with other machines, in one row and what is wrong. Empty: by its folder alone. */
export function transportText(view: TransportView | null, nowMs: number, paint: Paint): string {
  if (view === null) return "";
  const { remote, branch, fetched_at: fetched, waiting, problem } = view;
  const last = fetched === null ? "not fetched yet" : `fetched ${when(fetched, nowMs)}`;
  const pushed = waiting === 0 ? "all pushed" : `${filesText(waiting)} to be pushed`;
  const rows = [
    `${paint("bold", "Remote")}  ${sanitise(remote)} (${sanitise(branch)}), ${last}, ${pushed}`,
    ...(problem === null ? [] : [paint("red", sanitise(`${problem.detail} → ${problem.hint}`))]),
  ];
  return rows.join("\n");
}

/** So many files of ours. */
export function filesText(count: number): string {
  return count === 1 ? "1 file" : `${count} files`;
}
