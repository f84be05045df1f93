import type { PeerView } from "../../src/api/views.ts";

/** What `peers` says of one that is online, with what a test changes. */
export function peerView(change: Partial<PeerView> = {}): PeerView {
  return {
    handle: "scribe",
    trust_tier: "VERIFIED",
    trusts_us: null,
    heartbeat_tier: null,
    presence: "online",
    state: null,
    last_action: null,
    last_seen_at: null,
    agent_last_seen: null,
    next_eta: null,
    held: false,
    inbox_unread_count: null,
    foreign_lines: 0,
    unpinned_lines: 0,
    waits: [],
    ...change,
  };
}
