import type { PeerView } from "../../api/views.ts";
import type { Cell } from "./output.ts";
import { presenceCell } from "./text.ts";
import { when } from "../../framing/when.ts";

/** One peer as a table row. A hold is shown everywhere, before anything else. Spec 3. */
export function peerRow(peer: PeerView, nowMs: number): Cell[] {
  const state = peer.state === null ? "" : `, ${peer.state}`;
  return [
    { text: peer.handle, style: "bold" },
    peer.held ? { text: "HELD", style: "red" } : presenceCell(peer.presence),
    { text: peer.trust_tier ?? "no tier" },
    { text: `heartbeat ${when(peer.last_seen_at, nowMs)}` },
    { text: `agent ${when(peer.agent_last_seen, nowMs)}${state}${foreignText(peer)}` },
    ...peer.waits.map(({ because, detail, since }): Cell => {
      const end = because === "ahead" ? ` → deaddrop peer reset ${peer.handle} delivers it` : "";
      return { text: `waits since ${when(since, nowMs)}: ${detail}${end}`, style: "yellow" };
    }),
  ];
}

/** What others have written into its files is not its word, and is shown as such. Spec 2.4. */
function foreignText({ foreign_lines: lines, unpinned_lines: early }: PeerView): string {
  const unpinned = early === 0 ? "" : `; ${linesBeforeKey(early)}`;
  if (lines === 0) return unpinned;
  return `${unpinned}; its files hold ${lines} ${lines === 1 ? "line" : "lines"} that it did not sign`;
}

/** What is known of lines that an agent wrote with an earlier key, which is not pinned here. */
function linesBeforeKey(lines: number): string {
  const are = lines === 1 ? "1 line is" : `${lines} lines are`;
  return `${are} from before its key was pinned here, signed with a key that is not pinned`;
}
