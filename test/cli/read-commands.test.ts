import { describe, expect, it } from "vitest";
import type { InboxMessage, InboxPage, StatusView, Views } from "../../src/api/views.ts";
import { ID, NOW_MS, PLACE, resolved, run, threadWith, whoami } from "./fake-cli.ts";

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
      place: ["scribe", number, `${number}`.padStart(64, "0")],
      received_at: "2026-11-21T11:59:00Z",
      tier: "VERIFIED",
      verified: true,
      thread: "thread-1",
      priority: "medium",
      obligations: [],
      read: false,
      after_gap: false,
      ...fields,
    },
  };
}

const owed = {
  event_id: ID,
  place: PLACE,
  correlation_id: "thread-1",
  type: "proposal",
  subject: "freeze \u202eit",
  from: "scribe",
  request_id: null,
  request_type: null,
  action: null,
  decision: null,
  owed_by: "forge",
  due_at: "2026-11-21T12:05:00Z",
  overdue: false,
  since: "2026-11-21T11:00:00Z",
};

/** A page of it, with what it leaves out. */
function page(messages: readonly InboxMessage[], more: number | null = 0, next = "9.9"): InboxPage {
  return { messages: [...messages], more, next };
}

/** Pages that are answered one after the other; then the scene ends. */
function pages(...answers: readonly InboxPage[]): () => InboxPage {
  let at = 0;
  return () => {
    const answer = answers[at++];
    if (answer === undefined) throw new Error("the end of this scene");
    return answer;
  };
}

describe("inbox", () => {
  it.each([
    ["UNTRUSTED" as const, "[UNTRUSTED, unread]"],
    [null, "[of no tier, unread]"],
    ["VERIFIED" as const, "[unread]"],
  ])("shows a message with the tier of its author when that is %s", async (tier, note) => {
    const views = { inbox: page([mail(1, { tier })]) };
    expect((await run(["inbox"], { views })).stdout.split("\n")[0]).toContain(note);
  });

  it("prints all there is with --json, page after page, and marks only when asked", async () => {
    const all = [mail(1), mail(2), mail(3)];
    const inbox = pages(page(all.slice(0, 2), null, "5.6"), page(all.slice(2), 0, "7.8"));
    const { stdout, recording } = await run(["inbox", "--json"], { views: { inbox } });
    const printed = stdout.trimEnd().split("\n");
    expect(printed.map((line) => JSON.parse(line) as unknown)).toEqual(all);
    expect(recording.asked.map(({ args }) => args)).toEqual([{}, { after: "5.6" }]);
    expect(recording.read).toEqual([]);
  });

  it("leaves out what only machines verify with --json --brief", async () => {
    const signed = {
      ...mail(1),
      event_id: ID,
      signature: "x",
      seq: 4,
      prev: ID,
      refs: [],
      log: "l",
    };
    const inbox = page([signed, { ...mail(2), refs: ["a.md"] }]);
    const { stdout } = await run(["inbox", "--json", "--brief", "--limit", "2"], {
      views: { inbox },
    });
    const [first, second] = stdout.split("\n").map((line) => JSON.parse(line || "{}") as object);
    expect(Object.keys(first ?? {})).toEqual(["_meta", "from", "type", "subject", "body"]);
    expect(second).toMatchObject({ refs: ["a.md"] });
    expect((await run(["inbox", "--brief"])).stderr).toContain("add --json");
  });

  it("shows the oldest unread first, marks no more than it showed, and says how many remain", async () => {
    const inbox = page([mail(1, { read: true }), mail(2)], 12);
    const flags = ["--unread", "--from", "scribe", "--thread", "t", "--limit", "2"];
    const marking = await run(["inbox", ...flags, "--mark-read"], { views: { inbox } });
    expect(marking.recording.asked).toEqual([
      { name: "inbox", args: { unread: true, limit: 2, from: "scribe", thread: "t" } },
    ]);
    expect(marking.recording.read).toEqual([[mail(2)._meta.id]]);
    expect(marking.stdout).toMatch(/\n12 more unread: run this again\n$/);
    const looking = await run(["inbox", ...flags], { views: { inbox } });
    expect(looking.recording.read).toEqual([]);
    expect(looking.stdout).toMatch(
      /\n12 more unread: add --mark-read and run this again, or --limit 14\n$/,
    );
  });

  it("shows the newest when all are meant, and says how many older ones there are", async () => {
    const { stdout, recording } = await run(["inbox"], {
      views: { inbox: page([mail(8), mail(9)], 7) },
    });
    expect(recording.asked).toEqual([
      { name: "inbox", args: { limit: 20, newest: true } },
      { name: "agent_notices", args: { unread: true } },
    ]);
    expect(stdout).toMatch(/\n7 older not shown: deaddrop inbox --limit 9\n$/);
  });

  it("shows one message by its id", async () => {
    const views = { resolve_id: resolved("feedback"), inbox: page([mail(1)]) };
    const { recording } = await run(["inbox", "4f2a91", "--full"], { views });
    expect(recording.asked.at(-1)).toEqual({
      name: "inbox",
      args: { limit: 20, newest: true, id: ID },
    });
    const none = await run(["inbox", "4f2a91"], { views: { ...views, inbox: page([]) } });
    expect(none.stdout).toBe(`${ID} is not in your inbox: deaddrop thread ${ID} --event\n`);
  });

  it("shows a body behind a bar, so that no line of it can be taken for ours", async () => {
    const views = { inbox: page([mail(1, { verified: false, obligations: [owed] })]) };
    expect((await run(["inbox"], { views })).stdout).toBe(
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

  it("cuts a body at 2,000 characters, and names the command that shows the rest", async () => {
    const long = { ...mail(1), body: `${"é".repeat(2_000)}${"x".repeat(345)}` };
    const views = { inbox: page([long]) };
    const cut = (await run(["inbox"], { views })).stdout.split("\n");
    expect(cut[2]).toBe(`  │ ${"é".repeat(2_000)}`);
    expect(cut[3]).toBe("  345 more characters: deaddrop inbox 0000000000 --full");
    const full = (await run(["inbox", "--full"], { views })).stdout.split("\n");
    expect(full[2]).toBe(`  │ ${long.body}`);
    expect((await run(["inbox", "--json", "--limit", "1"], { views })).stdout).toContain(long.body);
  });

  it("shows that a message is urgent, also when only its subject says so", async () => {
    const urgent = { ...mail(1, { priority: "high" }), subject: "urgent: main is red" };
    const { stdout } = await run(["inbox"], { views: { inbox: page([urgent]) } });
    expect(stdout.split("\n").slice(0, 2)).toEqual([
      "0000000000 scribe feedback high 1 min ago [unread]",
      "  urgent: main is red",
    ]);
  });

  it.each([
    ["ack", { acks: ID }, ["has seen 4f2a91c700"]],
    ["ack", { acks: ID, approve: true }, ["agrees to 4f2a91c700"]],
    ["ack", { acks: ID, approve: false, reason: "no\ntime" }, ["rejects 4f2a91c700: no", "time"]],
    ["ack", { acks: ID, approve: true, extra: 1 }, ["agrees to 4f2a91c700", "extra: 1"]],
    ["ack", { other: ["a", "b"] }, ["other: a, b"]],
    [
      "agent_card",
      { handle: "scribe", issued_at: "2026-05-05" },
      ["the card of scribe, of 2026-05-05"],
    ],
    [
      "trust_tier_announcement",
      { about: "forge", tier: "VERIFIED" },
      ["forge has the tier VERIFIED at the sender"],
    ],
    ["heartbeat", { state: "busy", last_action: "parsing", heads: {} }, ["busy, last: parsing"]],
    [
      "proposal",
      { decision: "freeze it", required: ["forge"], n: { a: 1 } },
      ["decides: freeze it", "required: forge", 'n: {"a":1}'],
    ],
    ["request", { state: "stuck", text: "one\ntwo" }, ["state: stuck", "one", "two"]],
    ["feedback", [1, "a"], ['[1,"a"]']],
    ["feedback", null, []],
  ])("shows the body of %s %j in words", async (type, body, rows) => {
    const views = { inbox: page([{ ...mail(1), type, body }]) };
    const shown = (await run(["inbox"], { views })).stdout.split("\n").slice(2, -2);
    expect(shown).toEqual(rows.map((row) => `  │ ${row}`));
  });

  it("prints the file to tail", async () => {
    expect((await run(["inbox", "--path"])).stdout).toBe("/state/inbox.jsonl\n");
    expect((await run(["inbox", "--path", "--json"])).stdout).toBe(
      '{"inbox_path":"/state/inbox.jsonl"}\n',
    );
  });

  it("says so when nothing is there", async () => {
    const views = { inbox: page([]), peers: [] };
    expect((await run(["inbox"], { views })).stdout).toBe("Nothing here.\n");
    expect((await run(["inbox", "--json"], { views })).stdout).toBe("");
  });

  it("follows: from where the last page ended, and looks itself without a daemon", async () => {
    const inbox = pages(
      page([mail(1)], 0, "1.1"),
      page([], 0, "1.1"),
      page([mail(2), mail(3)], null, "3.3"),
      page([mail(4)], 0, "4.4"),
      page([], 0, "4.4"),
    );
    const { stdout, recording } = await run(["inbox", "--follow", "--json", "--unread"], {
      views: { inbox },
      viaDaemon: false,
    });
    const subjects = stdout
      .trimEnd()
      .split("\n")
      .map((line) => (JSON.parse(line) as InboxMessage).subject);
    expect(subjects).toEqual(["message 1", "message 2", "message 3", "message 4"]);
    expect(recording.asked.map(({ args }) => (args as { after?: string }).after)).toEqual([
      ...[undefined, "1.1", "1.1", "3.3", "4.4", "4.4"],
    ]);
    expect(recording.ticks).toBe(2);
  });
});

const STATUS: StatusView = {
  ...whoami("forge", "scribe"),
  peers: [
    {
      handle: "scribe",
      trust_tier: "VERIFIED",
      trusts_us: "ATTESTED",
      heartbeat_tier: "T1_active",
      presence: "online",
      state: "busy",
      last_action: null,
      last_seen_at: "2026-11-21T11:59:30Z",
      agent_last_seen: null,
      next_eta: null,
      held: true,
      inbox_unread_count: 0,
      foreign_lines: 0,
      unpinned_lines: 0,
      waits: [],
    },
  ],
  unread: 3,
  unread_from: [{ handle: "scribe", count: 3 }],
  notices: 1,
  owed_to_me: [],
  owed_by_me: [owed],
  incidents: [],
  left_out: { owed_to_me: 0, owed_by_me: 0, incidents: 0 },
  troubles: [],
  waiting: 0,
  parked: null,
  safe_mode: {
    active: true,
    since: "2026-11-21T11:00:00Z",
    author: "mason",
    incident_id: ID,
    escalation_id: ID,
    of: "scribe",
    place: ["mason", 3, ID],
    escalations: [["mason", 4, ID]],
  },
  state: { state: "busy", last_action: "parsing", heads_down: true },
  next: "deaddrop inbox --unread",
};

describe("inbox --from", () => {
  const empty = { inbox: page([]) };

  it("says who is on the wire when there is nothing of a handle that is not", async () => {
    const unknown = await run(["inbox", "--from", "scrib"], { views: empty });
    expect(unknown).toMatchObject({ exitCode: 1, stdout: "" });
    expect(unknown.stderr).toBe(
      'deaddrop: "scrib" is not on this wire\n  did you mean scribe?\n    deaddrop inbox --from scribe\n',
    );
  });

  it("shows what there is of one that is no longer on the wire", async () => {
    const inbox = page([mail(1)]);
    const { stdout } = await run(["inbox", "--from", "mason"], { views: { inbox } });
    expect(stdout).not.toBe("");
  });
});

describe("lists", () => {
  it("sent: a row for each recipient, with the proof so far", async () => {
    const sent: Views["sent"] = [
      {
        event_id: ID,
        place: ["forge", 3, ID],
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
    const rows = [
      "4f2a91c700  2 h ago  ship  scribe  read                   done",
      "4f2a91c700  2 h ago  ship  mason   refused: tier_refused  done",
      "",
    ];
    const shown = async (status: StatusView) =>
      (await run(["sent"], { views: { sent, status } })).stdout;
    expect(await shown(STATUS)).toBe(rows.join("\n"));
    // What is queued is in no log yet, and is not missing.
    const queued = await shown({ ...STATUS, waiting: 2 });
    expect(queued).toContain(
      "2 of your lines are stored but not published yet; publishing is retried\n",
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
        place: ["forge", 3, ID],
        proposal_id: ID,
        correlation_id: "t",
        proposer: "forge",
        subject: "freeze",
        required: ["a", "b", "c", "d"],
        status: "open",
        problem: null,
        decision: "Frozen until May.",
        waits_for: "an answer of d",
        decided_by: null,
        replaced_by: null,
        support: { a: ID, b: "rejected", c: other, d: null },
        reason: null,
        unproved: false,
        unproved_by_name: [],
      },
    ];
    expect((await run(["proposals"], { views: { proposals } })).stdout).toContain(
      "a: agrees, b: rejects, c: for bbbbbbbbbb, d: -  waits for an answer of d  freeze\n" +
        "  │ decides: Frozen until May.\n",
    );
  });

  it.each([
    ["sent", { sent: [], status: STATUS }, "Nothing sent yet.\n"],
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
    const known = { refused: "tier_refused", corrections: ["c".repeat(64)] };
    const messages = [{ ...message, _meta: { ...message._meta, ...known } }];
    const views = { thread: [{ ...thread, messages }] };
    const { stdout, recording } = await run(["thread", "4f2a91"], { views });
    expect(recording.asked).toEqual([{ name: "thread", args: { id: "4f2a91" } }]);
    expect(stdout).toBe(
      [
        "thread thread-1: open; forge, scribe",
        "",
        "4f2a91c700 scribe feedback 4 min ago [refused: tier_refused, corrected by cccccccccc]",
        "  the \\x07 plan",
        "  │ n: 1",
        "  │ s: \\u2028",
        "",
      ].join("\n"),
    );
    expect(await run(["thread", "x"], { views: { thread: [] } })).toMatchObject({ exitCode: 1 });
  });

  it("search asks with a limit, and page by page until there is no more", async () => {
    const messages = threadWith("x")[0]?.messages ?? [];
    const views = { search: { messages, next: null } };
    const { recording, stdout } = await run(["search", "the plan", "--limit", "3"], { views });
    expect(recording.asked).toEqual([{ name: "search", args: { text: "the plan", limit: 3 } }]);
    expect(stdout).toContain("4f2a91c700 scribe");
  });

  it("decisions: in force only, and says what it leaves out", async () => {
    const decisions: Views["decisions"] = {
      in_force: [record("freeze-4f2a91c7", "Frozen.")],
      pending: [],
      unproved: [
        { decision: "By hand.\u001b[2J", detail: "not signed", place: null, proposer_tier: null },
      ],
      superseded: [record("old-00000000", "Open.")],
    };
    const { stdout } = await run(["decisions"], { views: { decisions } });
    expect(stdout).toContain("in force freeze-4f2a91c7");
    expect(stdout).not.toContain("old-00000000");
    expect(stdout).toContain("0 not yet provable, 1 unproved");
    const all = await run(["decisions", "--all"], { views: { decisions } });
    expect(all.recording.asked).toEqual([{ name: "decisions", args: undefined }]);
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

  it("are shown beside messages by the inbox, and marked with them", async () => {
    const views = { agent_notices: [notice], inbox: page([]) };
    const { stdout, recording } = await run(["inbox", "--unread", "--mark-read"], { views });
    expect(stdout).toBe(
      'n-0123456789ab notice 2 min ago [unread]\n  Your proposal "a\\x1b[2J" is rejected by scribe.\n\n',
    );
    expect(recording.read).toEqual([["n-0123456789ab"]]);
    for (const args of [["--from", "scribe"], ["--json"], ["4f2a91"]]) {
      const other = { ...views, resolve_id: resolved("feedback") };
      const alone = await run(["inbox", ...args], { views: other });
      expect(alone.stdout).not.toContain("n-0123456789ab");
    }
  });

  it("and messages are not marked from the shell of a sub-agent of Codex, which may read them", async () => {
    const env = { CODEX_SESSION_ID: "01a2", CODEX_THREAD_ID: "01a3" };
    const views = { agent_notices: [notice], notices: [], inbox: page([]) };
    for (const words of ["inbox", "inbox --follow", "notices", "incident notices"]) {
      const marking = await run([...words.split(" "), "--mark-read"], { env, views });
      expect([marking.exitCode, marking.recording.read]).toEqual([1, []]);
      expect(marking.stderr).toContain("a sub-agent marks no mail as read");
    }
    expect((await run(["inbox"], { env, views })).stdout).toContain("n-0123456789ab");
    const same = { CODEX_SESSION_ID: "01a2", CODEX_THREAD_ID: "01a2" };
    const marked = await run(["inbox", "--mark-read"], { env: same, views });
    expect(marked.recording.read).toEqual([["n-0123456789ab"]]);
  });

  it("are shown twenty at a time, and no more are marked", async () => {
    const many = Array.from({ length: 23 }, (_, n) => ({ ...notice, id: `n-${n}` }));
    const views = { agent_notices: many, inbox: page([]) };
    const { stdout, recording } = await run(["inbox", "--mark-read"], { views });
    expect(stdout).toContain("3 more notices: deaddrop inbox notices --unread\n");
    expect(recording.read).toEqual([many.slice(0, 20).map(({ id }) => id)]);
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
  it("says what others have written into a peer's log", async () => {
    const [peer] = STATUS.peers;
    if (peer === undefined) throw new Error("the status names no peer");
    for (const [lines, text] of [
      [1, "agent -, busy; its files hold 1 line that it did not sign"],
      [3_000, "agent -, busy; its files hold 3000 lines that it did not sign"],
    ] as const) {
      const peers = [{ ...peer, foreign_lines: lines }];
      expect((await run([], { views: { status: { ...STATUS, peers } } })).stdout).toContain(text);
      expect((await run(["peers"], { views: { peers } })).stdout).toContain(text);
    }
  });

  it("is one screen", async () => {
    expect((await run([], { views: { status: STATUS } })).stdout).toBe(
      [
        "forge on / (busy, last: parsing, heads down); daemon running, process 42",
        "",
        "SAFE MODE since 1 h ago: scribe did not ack an incident of mason (4f2a91c700)",
        "Most messages are not sent; it ends when scribe acknowledges incident 4f2a91c700, when mason resolves it, or, for forge alone, when your operator resumes sending",
        "",
        "Peers",
        "scribe  HELD  VERIFIED  heartbeat 30 s ago  agent -, busy",
        "",
        "Unread 3, 1 notice",
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
    expect((await run(["whoami"])).stdout).toContain("roster   forge, scribe\n");
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
      growth: [
        { what: "logs", files: 2, bytes: 5_767_168 },
        { what: "inbox", files: 6, bytes: 400 * 1_048_576, advice: "read it" },
      ],
    };
    const { stdout } = await run(["stats"], { views: { stats } });
    expect(stdout).toContain("heartbeats       25 %\nby type          heartbeat 10, ack 3\n");
    expect(stdout).toMatch(
      /^size: logs +5\.5 MiB in 2 files\nsize: inbox +400 MiB in 6 files; read it\n$/m,
    );
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
    proposal: ["forge", 3, ID],
    acks: [["scribe", 4, ID]],
    close: ["forge", 5, ID],
    place: ["forge", 3, ID],
    beside: [],
    supersedes: null,
    recorded_by: "forge",
    event_id: ID,
    public_key_id: "forge:1a2b3c4d",
    signature: "",
    proposer_tier: "VERIFIED",
  };
}
