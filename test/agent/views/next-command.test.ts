import { expect, test } from "vitest";
import { nextCommand } from "../../../src/agent/views/next-command.ts";
import type { ObligationView, StatusView } from "../../../src/api/views.ts";
import { peerView } from "../../support/peer-view.ts";

const ID = "4f2a91c7".padEnd(64, "0");

const QUIET: Omit<StatusView, "next"> = {
  handle: "forge",
  wire: "w",
  wire_dir: "/w",
  wire_id: "w",
  key_id: "forge:1a2b3c4d",
  layout: "pairwise",
  roster: ["forge", "scribe"],
  daemon: { running: true, pid: 42 },
  inbox_path: "/inbox",
  in_use: null,
  peers: [],
  unread: 0,
  notices: 0,
  owed_to_me: [],
  owed_by_me: [],
  incidents: [],
  safe_mode: null,
  state: { state: "idle", last_action: null, heads_down: false },
};

const owed = (type: string): ObligationView => ({
  event_id: ID,
  correlation_id: "t",
  type,
  subject: "s",
  from: "scribe",
  request_id: null,
  request_type: null,
  action: null,
  decision: null,
  owed_by: "forge",
  due_at: null,
  overdue: false,
  since: "2026-11-21T11:00:00Z",
});

test("the most urgent comes first, and goes away when it is done", () => {
  const wrong = {
    ...QUIET,
    daemon: { running: false },
    peers: [peerView({ held: true })],
    unread: 2,
    notices: 1,
    owed_by_me: [owed("proposal"), owed("incident")],
  };
  const stop = (end: string) => [{ what: "sending" as const, detail: "", end, since: null }];
  const running = { ...wrong, daemon: { running: true } };
  expect(nextCommand(wrong, stop("deaddrop reclaim"))).toBe("deaddrop service install");
  expect(nextCommand(running, stop("deaddrop reclaim"))).toBe("deaddrop reclaim");
  expect(nextCommand(running, stop("make room on the disk"))).toBe("deaddrop status --check");
  const steps: [Partial<StatusView>, string][] = [
    [{ daemon: { running: true } }, "deaddrop peer show scribe"],
    [{ peers: [peerView({})] }, "deaddrop inbox --unread --mark-read"],
    [{ unread: 0 }, "deaddrop notices --unread --mark-read"],
    [{ notices: 0 }, "deaddrop incident ack 4f2a91c70000"],
    [
      { owed_by_me: [owed("proposal")] },
      "deaddrop thread 4f2a91c70000, then accept, reject or counter it: deaddrop help accept",
    ],
    [{ owed_by_me: [owed("request")] }, "deaddrop reply 4f2a91c70000"],
    [{ owed_by_me: [owed("ship")] }, "deaddrop ack 4f2a91c70000"],
    [
      { owed_by_me: [], peers: [peerView({ trust_tier: "UNTRUSTED" })] },
      "deaddrop trust sas scribe",
    ],
    [{ peers: [peerView({})] }, "deaddrop inbox --follow"],
  ];
  let view: Omit<StatusView, "next"> = wrong;
  for (const [change, next] of steps) {
    view = { ...view, ...change };
    expect(nextCommand(view, [])).toBe(next);
  }
});

test("nothing is agreed to, and nothing unread is answered", () => {
  const waiting = { ...QUIET, unread: 1, owed_by_me: [owed("proposal"), owed("incident")] };
  expect(nextCommand(waiting, [])).toBe("deaddrop inbox --unread --mark-read");
  const read = nextCommand({ ...QUIET, owed_by_me: [owed("proposal")] }, []);
  expect(read).not.toMatch(/deaddrop (ack|accept)\b(?! 4)/u);
  expect(read).not.toContain("deaddrop ack");
});
