import type { PeerView } from "../../api/views.ts";
import type { Cell } from "./output.ts";
import { presenceCell } from "./text.ts";
import { when } from "../../framing/when.ts";
import { linesBeforeKey } from "../../setup/checks/log-checks.ts";

/** One peer as a table row. A hold is shown everywhere, before anything else. Spec 3. */
export function peerRow(peer: PeerView, nowMs: number): Cell[] {
  const state = peer.state === null ? "" : `, ${peer.state}`;
  return [
    { text: peer.handle, style: "bold" },
    peer.held ? { text: "HELD", style: "red" } : presenceCell(peer.presence),
    { text: peer.trust_tier ?? "no tier" },
    { text: `heartbeat ${when(peer.last_seen_at, nowMs)}` },
    { text: `agent ${when(peer.agent_last_seen, nowMs)}${state}${foreignText(peer)}` },
    ...(peer.waits ?? []).map(({ because, detail, since }): Cell => {
      const end = because === "ahead" ? ` → deaddrop peer reset ${peer.handle} delivers it` : "";
      return { text: `waits since ${when(since, nowMs)}: ${detail}${end}`, style: "yellow" };
    }),
  ];
}

/** What others have written into its logs is not its word, and is shown as such. Spec 2.4. */
function foreignText({ foreign_lines: lines, unpinned_lines: early = 0 }: PeerView): string {
  const unpinned = early === 0 ? "" : `; ${linesBeforeKey(early)}`;
  if (lines === 0) return unpinned;
  return `${unpinned}; its log holds ${lines} ${lines === 1 ? "line" : "lines"} that it did not sign`;
}
