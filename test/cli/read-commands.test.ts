import { describe, expect, it } from "vitest";
import type { InboxMessage, StatusView, Views } from "../../src/api/views.ts";
import { ID, NOW_MS, run, threadWith, whoami } from "./fake-cli.ts";

function mail(number: number, fields: Partial<InboxMessage["_meta"]> = {}): InboxMessage {
  return {
    timestamp: new Date(NOW_MS - 60_000).toISOString(),
    from: "scribe",
    type: "feedback",
    subject: `message ${number}`,
    body: "first line\nsecond \u001b[31mline",
    correlation_id: "thread-1",
    _meta: {
      id: `${number}`.padStart(64, "0"),
      received_at: "2026-11-21T11:59:00Z",
      tier: "VERIFIED",
      verified: true,
      thread: "thread-1",
      obligations: [],
      read: false,
      after_gap: false,
      ...fields,
    },
  };
}

const owed = {
  event_id: ID,
  correlation_id: "thread-1",
  type: "proposal",
  subject: "freeze \u202eit",
  from: "scribe",
  owed_by: "forge",
  due_at: "2026-11-21T12:05:00Z",
  overdue: false,
  since: "2026-11-21T11:00:00Z",
};

describe("inbox", () => {
  it.each([
    ["UNTRUSTED" as const, "[UNTRUSTED, unread]"],
    [null, "[of no tier, unread]"],
    ["VERIFIED" as const, "[unread]"],
  ])("shows a message with the tier of its author when that is %s", async (tier, note) => {
    const { stdout } = await run(["inbox"], { views: { inbox: [mail(1, { tier })] } });
    expect(stdout.split("\n")[0]).toContain(note);
  });

  it("prints one object a line with --json, and marks only when asked", async () => {
    const inbox = [mail(1), mail(2)];
    const { stdout, recording } = await run(["inbox", "--json"], { views: { inbox } });
    expect(
      stdout
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual(inbox);
    expect(recording.asked).toEqual([{ name: "inbox", args: {} }]);
    expect(recording.read).toEqual([]);
  });

  it("asks for what the flags say, and marks what it showed", async () => {
    const inbox = [mail(1, { read: true }), mail(2)];
    const flags = ["--unread", "--from", "scribe", "--thread", "t", "--limit", "5", "--mark-read"];
    const { recording } = await run(["inbox", ...flags], { views: { inbox } });
    expect(recording.asked).toEqual([
      { name: "inbox", args: { unread: true, limit: 5, from: "scribe", thread: "t" } },
    ]);
    expect(recording.read).toEqual([[mail(2)._meta.id]]);
  });

  it("shows a body behind a bar, so that no line of it can be taken for ours", async () => {
    const inbox = [mail(1, { verified: false, obligations: [owed] })];
    expect((await run(["inbox"], { views: { inbox } })).stdout).toBe(
      [
        "0000000000 scribe feedback 1 min ago [unread, not signed, forge owes an answer, due in 5 min]",
        "  message 1",
        "  │ first line",
        "  │ second \\x1b[31mline",
        "",
        "",
      ].join("\n"),
    );
  });

  it("prints the file to tail", async () => {
    expect((await run(["inbox", "--path"])).stdout).toBe("/state/inbox.jsonl\n");
    expect((await run(["inbox", "--path", "--json"])).stdout).toBe(
      '{"inbox_path":"/state/inbox.jsonl"}\n',
    );
  });

  it("says so when nothing is there", async () => {
    const views = { inbox: [], peers: [] };
    expect((await run(["inbox"], { views })).stdout).toBe("Nothing here.\n");
    expect((await run(["inbox", "--json"], { views: { inbox: [] } })).stdout).toBe("");
  });

  it("follows: each message once, in order, until it ends", async () => {
    const rounds = [[mail(1)], [mail(1)], [mail(1), mail(2), mail(3)], [mail(3), mail(4)]];
    let round = 0;
    const inbox = () => {
      const answer = rounds[round++];
      if (answer === undefined) throw new Error("the end of this scene");
      return answer;
    };
    const { stdout, recording } = await run(["inbox", "--follow", "--json"], {
      views: { inbox },
      viaDaemon: false,
    });
    const subjects = stdout
      .trimEnd()
      .split("\n")
      .map((line) => (JSON.parse(line) as InboxMessage).subject);
    expect(subjects).toEqual(["message 1", "message 2", "message 3", "message 4"]);
    expect(recording.ticks).toBe(4);
  });

  it("follows a burst that is longer than one look", async () => {
    const all = Array.from({ length: 120 }, (_, index) => mail(index + 1));
    let asked = 0;
    const inbox = () => {
      asked++;
      if (asked === 1) return all.slice(0, 1);
      if (asked === 2) return all.slice(-50);
      if (asked === 3) return all.slice(-100);
      if (asked === 4) return all;
      throw new Error("the end of this scene");
    };
    const { stdout, recording } = await run(["inbox", "--follow", "--json"], { views: { inbox } });
    expect(stdout.trimEnd().split("\n")).toHaveLength(120);
    expect(recording.asked.map(({ args }) => (args as { limit?: number }).limit)).toEqual([
      undefined,
      50,
      100,
      200,
      50,
    ]);
  });
});

describe("lists", () => {
  it("sent: a row for each recipient, with the proof so far", async () => {
    const sent: Views["sent"] = [
      {
        event_id: ID,
        timestamp: "2026-11-21T10:00:00Z",
        to: ["scribe", "mason"],
        type: "ship",
        subject: "done",
        correlation_id: "t",
        receipts: [
          { to: "scribe", state: "read", at: "2026-11-21T10:01:00Z" },
          { to: "mason", state: "refused", reason: "tier_refused", at: null },
        ],
      },
    ];
    expect((await run(["sent"], { views: { sent } })).stdout).toBe(
      [
        "4f2a91c700  2 h ago  ship  scribe  read                   done",
        "4f2a91c700  2 h ago  ship  mason   refused: tier_refused  done",
        "",
      ].join("\n"),
    );
  });

  it("pending: who owes whom, with a peer's words made harmless", async () => {
    const late = { ...owed, overdue: true, due_at: "2026-11-21T11:00:00Z" };
    expect((await run(["pending"], { views: { pending: [owed, late] } })).stdout).toBe(
      [
        "4f2a91c700  proposal  scribe → forge  due in 5 min      freeze \\u202eit",
        "4f2a91c700  proposal  scribe → forge  overdue, 1 h ago  freeze \\u202eit",
        "",
      ].join("\n"),
    );
  });

  it("proposals: what each party said last", async () => {
    const other = "b".repeat(64);
    const proposals: Views["proposals"] = [
      {
        proposal_id: ID,
        correlation_id: "t",
        proposer: "forge",
        subject: "freeze",
        required: ["a", "b", "c", "d"],
        status: "open",
        problem: null,
        waits_for: "an answer of d",
        decided_by: null,
        support: { a: ID, b: "rejected", c: other, d: null },
      },
    ];
    expect((await run(["proposals"], { views: { proposals } })).stdout).toContain(
      "a: agrees, b: rejects, c: for bbbbbbbbbb, d: -  waits for an answer of d",
    );
  });

  it.each([
    ["sent", { sent: [] }, "Nothing sent yet.\n"],
    ["pending", { pending: [] }, "Nothing is owed.\n"],
    ["proposals", { proposals: [] }, "No proposals.\n"],
    ["peers", { peers: [] }, "Nobody else is on this wire.\n"],
  ])("%s says so when it is empty", async (name, views, said) => {
    expect((await run([name], { views })).stdout).toBe(said);
    expect((await run([name, "--json"], { views })).stdout).toBe("[]\n");
  });

  it("thread: the conversation, refusals and corrections; exits 1 for an unknown one", async () => {
    const [thread] = threadWith("the \u0007 plan", { n: 1, s: "\u2028" });
    const message = thread?.messages[0];
    if (thread === undefined || message === undefined) throw new Error("no thread");
    message._meta.refused = "tier_refused";
    message._meta.corrections = ["c".repeat(64)];
    const { stdout, recording } = await run(["thread", "4f2a91"], { views: { thread: [thread] } });
    expect(recording.asked).toEqual([{ name: "thread", args: { id: "4f2a91" } }]);
    expect(stdout).toBe(
      [
        "thread thread-1: open; forge, scribe",
        "",
        "4f2a91c700 scribe feedback 4 min ago [refused: tier_refused, corrected by cccccccccc]",
        "  the \\x07 plan",
        "  │ {",
        '  │   "n": 1,',
        '  │   "s": "\\u2028"',
        "  │ }",
        "",
      ].join("\n"),
    );
    expect(await run(["thread", "x"], { views: { thread: [] } })).toMatchObject({ exitCode: 1 });
  });

  it("search asks with a limit", async () => {
    const views = { search: threadWith("x")[0]?.messages ?? [] };
    const { recording, stdout } = await run(["search", "the plan", "--limit", "3"], { views });
    expect(recording.asked).toEqual([{ name: "search", args: { text: "the plan", limit: 3 } }]);
    expect(stdout).toContain("4f2a91c700 scribe");
  });

  it("decisions: in force only, and says what it leaves out", async () => {
    const decisions: Views["decisions"] = {
      in_force: [record("freeze-4f2a91c7", "Frozen.")],
      pending: [],
      unproved: [{ decision: "By hand.\u001b[2J", detail: "not signed", proposer_tier: null }],
      superseded: [record("old-00000000", "Open.")],
    };
    const { stdout } = await run(["decisions"], { views: { decisions } });
    expect(stdout).toContain("in force freeze-4f2a91c7");
    expect(stdout).not.toContain("old-00000000");
    expect(stdout).toContain("0 not yet provable, 1 unproved");
    const all = await run(["decisions", "--all"], { views: { decisions } });
    expect(all.recording.asked).toEqual([{ name: "decisions", args: { all: true } }]);
    expect(all.stdout).toContain("superseded old-00000000");
    expect(all.stdout).toContain("unproved: nobody is bound by it (no id)");
    expect(all.stdout).toContain("│ By hand.\\x1b[2J");
  });
});

describe("notices", () => {
  const notice = {
    at: "2026-11-21T11:58:00Z",
    id: "n-0123456789ab",
    kind: "rejected" as const,
    about: ID,
    text: 'Your proposal "a\u001b[2J" is rejected by scribe.',
    read: false,
  };

  it("lists what the daemon says, harmless on a terminal, and marks what it has shown", async () => {
    const views = { agent_notices: [notice, { ...notice, id: "n-read", read: true }] };
    const { stdout, recording } = await run(["notices", "--mark-read"], { views });
    expect(stdout).toBe(
      [
        "n-0123456789ab notice 2 min ago [unread]",
        '  Your proposal "a\\x1b[2J" is rejected by scribe.',
        "n-read notice 2 min ago",
        '  Your proposal "a\\x1b[2J" is rejected by scribe.',
        "",
      ].join("\n"),
    );
    expect(recording.read).toEqual([["n-0123456789ab"]]);
  });

  it("asks for the unread ones alone, and prints them as they are", async () => {
    const views = { agent_notices: [notice] };
    const { stdout, recording } = await run(["notices", "--unread", "--json"], { views });
    expect(recording.asked).toEqual([{ name: "agent_notices", args: { unread: true } }]);
    expect(recording.read).toEqual([]);
    expect(JSON.parse(stdout)).toEqual([notice]);
    expect((await run(["notices"], { views: { agent_notices: [] } })).stdout).toBe("No notices.\n");
  });
});

describe("status", () => {
  const status: StatusView = {
    ...whoami("forge", "scribe"),
    peers: [
      {
        handle: "scribe",
        trust_tier: "VERIFIED",
        trusts_us: "ATTESTED",
        heartbeat_tier: "T1_active",
        presence: "online",
        state: "busy",
        last_seen_at: "2026-11-21T11:59:30Z",
        agent_last_seen: null,
        next_eta: null,
        held: true,
        inbox_unread_count: 0,
        foreign_lines: 0,
      },
    ],
    unread: 3,
    notices: 1,
    owed_to_me: [],
    owed_by_me: [owed],
    incidents: [],
    safe_mode: {
      active: true,
      since: "2026-11-21T11:00:00Z",
      author: "mason",
      incident_id: ID,
      escalation_id: ID,
      of: "scribe",
    },
    state: { state: "busy", last_action: "parsing", heads_down: true },
    next: "deaddrop inbox --unread",
  };

  it("says what others have written into a peer's log", async () => {
    const [peer] = status.peers;
    if (peer === undefined) throw new Error("the status names no peer");
    for (const [lines, text] of [
      [1, "agent -, busy; its log holds 1 line that it did not sign"],
      [3_000, "agent -, busy; its log holds 3000 lines that it did not sign"],
    ] as const) {
      const peers = [{ ...peer, foreign_lines: lines }];
      expect((await run([], { views: { status: { ...status, peers } } })).stdout).toContain(text);
      expect((await run(["peers"], { views: { peers } })).stdout).toContain(text);
    }
  });

  it("is one screen", async () => {
    expect((await run([], { views: { status } })).stdout).toBe(
      [
        "forge on / (busy, last: parsing, heads down); daemon running, process 42",
        "",
        "SAFE MODE since 1 h ago: scribe did not ack an incident of mason (4f2a91c700)",
        'Most messages are not sent; the operator of mason ends it for all with: deaddrop resume --reason "why it is safe to go on"; yours ends it for you alone with: deaddrop resume --here --reason "why it is safe to go on"',
        "",
        "Peers",
        "scribe  HELD  VERIFIED  heartbeat 30 s ago  agent -, busy",
        "",
        "Unread 3, and 1 notice: deaddrop notices --unread",
        "",
        "You owe",
        "4f2a91c700  proposal  scribe → forge  due in 5 min  freeze \\u202eit",
        "",
        "Next  deaddrop inbox --unread",
        "",
      ].join("\n"),
    );
  });

  it("sets state, last action and heads down, each by itself", async () => {
    const set = async (...args: string[]) =>
      (await run(["status", "set", ...args])).recording.status;
    expect(await set("--state", "busy")).toEqual([{ state: "busy" }]);
    expect(await set("--last-action", "x", "--heads-down")).toEqual([
      { lastAction: "x", headsDown: true },
    ]);
    expect(await set("--no-heads-down")).toEqual([{ headsDown: false }]);
  });

  it("refuses to set nothing, or a state that is none", async () => {
    expect(await run(["status", "set"])).toMatchObject({ exitCode: 1 });
    expect(await run(["status", "set", "--state", "asleep"])).toMatchObject({ exitCode: 1 });
  });
});

describe("whoami and stats", () => {
  it("are aligned", async () => {
    expect((await run(["whoami"])).stdout).toContain("layout   pairwise\nroster   forge, scribe\n");
    const stats: Views["stats"] = {
      days: 3,
      messages: 40,
      heartbeat_share: 0.254,
      by_type: { ack: 3, heartbeat: 10 },
      proposal_ack_pairs: 2,
      decisions: 2,
      incidents: 1,
      incidents_acked_in_time: 1,
      disagreements: 0,
    };
    const { stdout } = await run(["stats"], { views: { stats } });
    expect(stdout).toContain("heartbeats       25 %\nby type          heartbeat 10, ack 3\n");
  });
});

function record(decision_id: string, decision: string): Views["decisions"]["in_force"][number] {
  return {
    decision_id,
    ratified_at: "2026-11-21T11:00:00Z",
    proposer: "forge",
    acked_by: ["forge", "scribe"],
    decision,
    canonical: true,
    refs: [],
    affected_domains: [],
    domain_owners: {},
    correlation_id: "t",
    proposal_id: ID,
    ack_ids: [ID],
    ratified_by: ID,
    supersedes: null,
    recorded_by: "forge",
    event_id: ID,
    public_key_id: "forge:1a2b3c4d",
    signature: "",
    proposer_tier: "VERIFIED",
  };
}
