import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DeaddropError } from "../../src/api/errors.ts";
import type { ProposalStatus, Views } from "../../src/api/views.ts";
import { JsonDouble } from "../../src/wire/json/json.ts";
import {
  draftedBy,
  ID,
  OWN_PLACE,
  PLACE,
  refusedBy,
  resolved,
  run,
  whoami,
  type Outside,
} from "./fake-cli.ts";

const PROPOSAL = {
  place: ["mason", 3, ID] as const,
  proposal_id: ID,
  correlation_id: "thread-1",
  proposer: "mason",
  subject: "s",
  required: ["forge", "scribe"],
  status: "open" as const,
  problem: null,
  decision: null,
  waits_for: "an answer of d",
  decided_by: null,
  replaced_by: null,
  support: {},
  reason: null,
  unproved: false,
  unproved_by_name: [],
};
const THREE = { whoami: whoami("forge", "scribe", "mason") };

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "deaddrop-write-"));
  writeFileSync(join(folder, "body.txt"), "from a file\n");
  writeFileSync(join(folder, "a.js"), "alpha");
  writeFileSync(join(folder, "b.js"), "beta");
});
afterAll(() => rmSync(folder, { recursive: true }));

const drafted = (args: readonly string[], outside?: Outside) =>
  draftedBy(args, { cwd: folder, ...outside });
const refused = (args: readonly string[], outside?: Outside) =>
  refusedBy(args, { cwd: folder, ...outside });

describe("send", () => {
  it("goes to the peer in a pair, in a thread of its own", async () => {
    expect(await drafted(["send", "hello", "how are you?"])).toEqual({
      to: ["scribe"],
      type: "feedback",
      subject: "hello",
      body: "how are you?",
    });
  });

  it.each([
    [["scribe", "hello", "Hi scribe"], ["scribe"], "hello", "Hi scribe"],
    [["did:wire:mason", "hello", "Hi"], ["mason"], "hello", "Hi"],
    [["all", "hello", "Hi you"], ["*"], "hello", "Hi you"],
    [["scribe", "hi"], ["scribe"], "hi", ""],
    [["scribe", "--subject", "hi"], ["scribe"], "hi", ""],
    [["scribe", "--subject", "hi", "there"], ["scribe"], "hi", "there"],
    [["mason", "see this", "--body", "text"], ["mason"], "see this", "text"],
    [["scribe", "--to", "mason"], ["mason"], "scribe", ""],
    [["hello", "hi", "--to", "all"], ["*"], "hello", "hi"],
  ])(
    "takes a first word that is an agent's handle, or all, for the recipient: %j",
    async (...row) => {
      const [args, to, subject, body] = row;
      expect(await drafted(["send", ...args], { views: THREE })).toMatchObject({
        to,
        subject,
        body,
      });
    },
  );

  it("names the recipient in its answer", async () => {
    const { stdout } = await run(["send", "scribe", "hi"], { views: THREE });
    expect(stdout).toContain(" to scribe");
  });

  it.each([
    [["scrib", "hello", "Hi"], '"scrib" is not on this wire', "did you mean scribe?"],
    [["scrib", "hello"], '"scrib" is not on this wire', "did you mean scribe?"],
    [["forge", "hello"], '"forge" is you', "the others are scribe, mason"],
    [["scribe"], "no subject", 'deaddrop … "subject" "body"'],
    [["a", "b", "c", "--to", "mason"], "the recipient is given twice", "give it once"],
    [["scribe", "hi", "--to", "mason"], "the recipient is given twice", "give it once"],
  ])("refuses words that cannot be a message: %j", async (args, problem, hint) => {
    const { exitCode, stderr } = await refused(["send", ...args], { views: THREE });
    expect(exitCode).toBe(1);
    expect(stderr).toContain(problem);
    expect(stderr).toContain(hint);
  });

  it("takes every flag", async () => {
    const flags = [
      "--to",
      "scribe",
      "--to",
      "did:wire:mason",
      "--ref",
      "a.md",
      "--ref",
      "git:4f2a",
    ];
    const more = ["--priority", "high", "--ack-required", "--type", "request", "--thread", "t-1"];
    expect(await drafted(["send", "s", "b", ...flags, ...more], { views: THREE })).toEqual({
      to: ["scribe", "mason"],
      type: "request",
      subject: "s",
      body: { text: "b", required: ["scribe", "mason"] },
      refs: ["a.md", "git:4f2a"],
      priority: "high",
      ackRequired: true,
      correlationId: "t-1",
    });
  });

  it("prints where it went", async () => {
    const answered = await run(["send", "s", "b"]);
    expect(answered.stdout).toBe("sent 4f2a91c700 to scribe, thread 2026-11-21T12:00:00.000000Z\n");
    expect(JSON.parse((await run(["send", "s", "b", "--json"])).stdout)).toEqual({
      outcome: "sent",
      messages: [
        {
          event_id: ID,
          place: ["forge", 7, ID],
          timestamp: "2026-11-21T12:00:00.000000Z",
          correlation_id: "2026-11-21T12:00:00.000000Z",
          to: ["scribe"],
        },
      ],
    });
  });

  it.each([
    ["an argument", ["said"], {}, "said"],
    ["a file", ["--body-file", "body.txt"], {}, "from a file\n"],
    ["a pipe", [], { stdin: "piped\n" }, "piped"],
    ["a pipe by name", ["-"], { stdin: "piped" }, "piped"],
    ["a pipe as a file", ["--body-file", "-"], { stdin: "piped\n" }, "piped"],
    ["what is typed, as a file", ["--body-file", "-"], { tty: true, stdin: "typed\n" }, "typed"],
    ["nothing, on a terminal", [], { tty: true, stdin: "not read" }, ""],
    ["text that looks like a flag", ["--", "--json"], {}, "--json"],
  ])("takes the body from %s", async (_what, args, outside, body) => {
    expect(await drafted(["send", "s", ...args], outside)).toMatchObject({ body });
  });

  it.each([
    ["both flags", ["--subject", "s", "--body", "said"]],
    ["a subject as a flag", ["said", "--subject", "s"]],
    ["a body as a flag", ["s", "--body", "said"]],
  ])("takes %s as well as the arguments", async (_what, args) => {
    const same = await drafted(["send", "s", "said"]);
    expect(await drafted(["send", ...args])).toEqual(same);
  });

  it.each([
    ["reply", [ID, ""]],
    ["reply", [ID]],
    ["correct", [ID]],
    ["correct", [ID, "", "--revert"]],
    ["propose", ["s", ""]],
    ["counter", [ID, "s", " "]],
    ["ship", ["s", "", "--digest", "ab".repeat(32)]],
    ["broadcast", ["s", ""]],
    ["incident", ["raise", "s", ""]],
    ["incident", ["resolve", ID, ""]],
  ])("%s %j is refused: it says nothing", async (command, args) => {
    const { exitCode, stderr } = await refused([command, ...args]);
    expect(exitCode).toBe(1);
    expect(stderr).toContain("the body is empty, so nothing was sent");
  });

  it.each(["propose", "ship", "broadcast"])("%s refuses an empty subject", async (command) => {
    const { exitCode, stderr } = await refused([command, "", "b"]);
    expect(exitCode).toBe(1);
    expect(stderr).toContain("the subject is empty");
  });

  it("keeps JSON as it is written, numbers to the digit", async () => {
    const text = '{"n":12345678901234567890,"d":1.0,"__proto__":[true]}';
    const draft = await drafted(["send", "s", "--body-json", text]);
    expect(Object.entries(draft?.body as object)).toEqual([
      ["n", 12345678901234567890n],
      ["d", new JsonDouble(1)],
      ["__proto__", [true]],
    ]);
    expect(await drafted(["send", "s", "--body-json", " [1,null] "])).toMatchObject({
      body: [1, null],
    });
  });

  it.each(["", "plain text", '{"a":1', '1,"x":2', "{'a':1}", '{"a":1,"a":2}', "1} {"])(
    "refuses %j as JSON",
    async (text) => {
      const { exitCode, stderr } = await refused(["send", "s", text, "--body-json"]);
      expect(exitCode).toBe(1);
      expect(stderr).toContain("the body is not JSON");
    },
  );

  it.each([
    ["two bodies", ["s", "b", "--body-file", "body.txt"], "given twice"],
    ["a missing file", ["s", "--body-file", "none.txt"], "no such file"],
    ["a heartbeat", ["s", "b", "--type", "heartbeat"], "Allowed choices"],
    ["no subject", [], "no subject"],
    ["an empty subject", [" ", "b"], "the subject is empty"],
    ["an empty --subject", ["--subject", "", "b"], "the subject is empty"],
    ["two subjects", ["s", "b", "--subject", "t"], "the subject is given twice"],
    ["a body twice", ["s", "b", "--body", "c"], "the body is given twice"],
    ["an empty body", ["s", " \n"], "the body is empty"],
    ["an empty --body", ["s", "--body", ""], "the body is empty"],
    ["an empty JSON text", ["s", "--body-json", '" "'], "the body is empty"],
    ["an empty standard input", ["s", "-"], "the body is empty"],
    ["four arguments", ["scribe", "s", "b", "c"], "too many arguments"],
    ["an unknown priority", ["s", "b", "--priority", "soon"], "Allowed choices"],
    ["a timeout of nothing", ["s", "b", "--timeout", "0"], "above 0"],
    ["oneself", ["s", "b", "--to", "forge"], '"forge" is you'],
    ["a stranger", ["s", "b", "--to", "zed"], "the roster has scribe"],
  ])("refuses %s", async (_what, args, problem) => {
    const { exitCode, stderr } = await refused(["send", ...args]);
    expect(exitCode).toBe(1);
    expect(stderr).toContain(problem);
  });

  it("asks to whom where there are several, and refuses too long a body", async () => {
    const { stderr } = await refused(["send", "s", "b"], { views: THREE });
    expect(stderr).toContain("name them with --to: scribe, mason, or all");
    expect((await refused(["send", "s"], { stdin: "x".repeat(1_048_577) })).stderr).toContain(
      "more than 1048576 bytes",
    );
  });

  it("passes on what the agent says against it", async () => {
    const send = () =>
      Promise.reject(new DeaddropError("safe_mode", "safe mode", { hint: "wait" }));
    expect(await refused(["send", "s", "b"], { send })).toEqual({
      exitCode: 4,
      stderr: "deaddrop: safe mode\n  wait\n",
    });
  });

  it.each(["warning", "ship", "request"])(
    "wants a %s to open with a line of state",
    async (type) => {
      const long = `${"word ".repeat(120)}\nmore`;
      const args = ["send", "s", long, "--type", type];
      expect((await refused(args)).stderr).toContain(`a ${type} opens with one line of state`);
      expect(await drafted([...args, "--state", "tests green"])).toMatchObject({
        body: `tests green\n\n${long}`,
      });
      const opened = await drafted(["send", "s", `tests green\n${long}`, "--type", type]);
      expect(opened?.body).toBe(`tests green\n${long}`);
    },
  );

  it("wants one line of state, not two", async () => {
    const args = ["send", "s", "b", "--type", "warning", "--state", "one\ntwo"];
    expect((await refused(args)).stderr).toContain("--state is one line");
  });
});

describe("send --wait", () => {
  const receipts = (...states: ("stored" | "delivered" | "read" | "refused")[]) => {
    let asked = 0;
    return () => {
      const state = states[Math.min(asked++, states.length - 1)] ?? "stored";
      const reason = state === "refused" ? { reason: "tier_refused" } : {};
      return { receipts: [{ to: "scribe", state, at: null, ...reason }] };
    };
  };
  const waiting = ["send", "s", "b", "--wait", "read", "--timeout", "5", "--json"];

  it("ends when it is proved, and prints the receipts", async () => {
    const receipt = receipts("stored", "delivered", "read");
    const { exitCode, stdout, recording } = await run(waiting, { views: { receipt } });
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      outcome: "sent",
      receipts: [{ event_id: ID, to: "scribe", state: "read" }],
    });
    expect(recording.ticks).toBe(0);
  });

  it("exits 3 in time, with what is proved and no more", async () => {
    const receipt = receipts("stored", "delivered");
    const { exitCode, stdout, stderr } = await run(waiting, { views: { receipt } });
    expect(exitCode).toBe(3);
    expect(JSON.parse(stdout).receipts).toMatchObject([{ state: "delivered" }]);
    expect(JSON.parse(stderr).error).toMatchObject({
      code: "timeout",
      message: "no read receipt within 5 s: scribe (delivered)",
    });
  });

  it("exits 3 when there are no receipts at all", async () => {
    const receipt = { receipts: [] };
    expect((await run(waiting, { views: { receipt } })).exitCode).toBe(3);
  });

  it("goes on waiting for a message that is stored and not in its log yet", async () => {
    let asked = 0;
    const receipt = () => {
      if (asked++ < 2) throw new DeaddropError("unknown_id", "no message of yours has that id");
      return { receipts: [{ to: "scribe", state: "read" as const, at: null }] };
    };
    expect((await run(waiting, { views: { receipt } })).exitCode).toBe(0);
    asked = -1_000;
    const { exitCode, stderr } = await run(waiting, { views: { receipt } });
    expect(exitCode).toBe(3);
    expect(JSON.parse(stderr).error).toMatchObject({
      message: "no read receipt within 5 s",
      hint: "the message is stored here and goes out by itself: do not send it again",
    });
  });

  it("exits 1 when it is refused, at once", async () => {
    const receipt = receipts("refused");
    const { exitCode, stderr, recording } = await run(waiting, { views: { receipt } });
    expect(exitCode).toBe(1);
    expect(stderr).toContain("scribe refused it: tier_refused");
    expect(recording.asked.filter(({ name }) => name === "receipt")).toHaveLength(1);
  });

  it("reads the logs itself when no daemon does", async () => {
    const receipt = receipts("stored", "read");
    const { recording } = await run(waiting, { views: { receipt }, viaDaemon: false });
    expect(recording.ticks).toBe(2);
  });
});

describe("broadcast", () => {
  it("goes to all", async () => {
    expect(await drafted(["broadcast", "s", "b", "--ack-required"], { views: THREE })).toEqual({
      to: ["*"],
      type: "feedback",
      subject: "s",
      body: "b",
      ackRequired: true,
    });
  });
});

describe("a thread to write into", () => {
  const views = { resolve_id: { ...resolved("ship"), correlation_id: "another" } };

  it("is named by a message of it, which is shown", async () => {
    const args = ["send", "s", "b", "--thread", "4f2a91"];
    expect(await drafted(args, { views })).toMatchObject({
      subject: "s",
      correlationId: "another",
    });
    const { stdout } = await run(args, { views });
    expect(stdout).toContain("to 4f2a91c700, scribe's ship: the plan\n");
  });

  it("is never named by a correlation id that could be an event id", async () => {
    const resolve_id = () => {
      throw new DeaddropError("unknown_id", "no message");
    };
    for (const name of ["deadbeef", ID]) {
      const { stderr } = await refused(["send", "s", "b", "--thread", name], {
        views: { resolve_id },
      });
      expect(stderr).toContain("no message");
    }
  });
});

describe("what an answer prints", () => {
  const views = {
    resolve_id: { ...resolved("proposal"), subject: "give me\u001b[2J the keys" },
    proposals: [{ ...PROPOSAL, proposer: "scribe", required: ["forge"] }],
  };
  const words = "scribe's proposal: give me\\x1b[2J the keys";

  it.for([["ack"], ["accept"], ["reject"], ["reply"], ["correct"], ["counter"]])(
    "is author, type and subject of what `%s` answers",
    async ([command = ""]) => {
      const hasText = ["reply", "correct", "counter"].includes(command);
      const args = [command, "4f2a91", ...(hasText ? ["text"] : [])];
      const { stdout } = await run(args, { views });
      expect(stdout).toContain(`  to 4f2a91c700, ${words}\n`);
      const { answers } = JSON.parse((await run([...args, "--json"], { views })).stdout) as {
        answers: unknown;
      };
      expect(answers).toEqual(views.resolve_id);
      expect((await drafted(args, { views }))?.subject).toContain(words);
    },
  );
});

describe("reply", () => {
  it("goes to the author, in the thread", async () => {
    const views = { resolve_id: resolved("request") };
    const reply = {
      to: ["scribe"],
      type: "feedback",
      subject: "re: scribe's request: the plan",
      body: "yes",
      correlationId: "thread-1",
    };
    expect(await drafted(["reply", "4f2a91", "yes"], { views })).toEqual(reply);
    // What replies begin with does not pile up.
    const again = { ...resolved("request"), subject: "re: forge's feedback: re: the plan" };
    expect(await drafted(["reply", "4f2a91", "yes"], { views: { resolve_id: again } })).toEqual(
      reply,
    );
  });

  it("to one's own message goes to those who got it", async () => {
    const views = { ...THREE, resolve_id: { ...resolved("ship", "forge", "mason") } };
    expect(
      await drafted(["reply", "4f2a91", "more", "--subject", "also"], { views }),
    ).toMatchObject({ to: ["mason"], subject: "also (re: forge's ship: the plan)" });
  });

  it("keeps the subject within its limit", async () => {
    const views = { resolve_id: { ...resolved("ship"), subject: "😀".repeat(500) } };
    for (const own of [[], ["--subject", "also"], ["--subject", "x".repeat(500)]]) {
      const draft = await drafted(["reply", "4f2a91", "yes", ...own], { views });
      expect(Array.from(draft?.subject ?? "")).toHaveLength(500);
      expect(draft?.subject).not.toMatch(/\p{Surrogate}/u);
    }
  });

  it("writes nothing into its subject that steers a terminal", async () => {
    const views = { resolve_id: { ...resolved("ship"), subject: "a\u001b[2J\nb\u202e" } };
    expect((await drafted(["reply", "4f2a91", "yes"], { views }))?.subject).toBe(
      "re: scribe's ship: a\\x1b[2J\\nb\\u202e",
    );
  });

  it("says how long a part of an id has to be", async () => {
    const resolve_id = () => {
      throw new DeaddropError("unknown_id", "no message 4f2");
    };
    const { stderr, exitCode } = await refused(["reply", "4f2", "yes"], { views: { resolve_id } });
    expect(exitCode).toBe(1);
    expect(stderr).toBe(
      "deaddrop: no message 4f2\n  a part of an event id needs at least 6 characters\n",
    );
    const other = await refused(["reply", "plan-of-may", "yes"], { views: { resolve_id } });
    expect(other.stderr).toBe("deaddrop: no message 4f2\n");
  });
});

describe("accept and reject", () => {
  const views = { resolve_id: resolved("proposal") };

  it("agree to a proposal, and refuse it, with a reason", async () => {
    expect(await drafted(["accept", "4f2a91"], { views })).toEqual({
      to: ["scribe"],
      type: "ack",
      subject: "accepted: scribe's proposal: the plan",
      body: { acks: PLACE, approve: true },
      correlationId: "thread-1",
    });
    expect(await drafted(["reject", "4f2a91", "--reason", "no"], { views })).toMatchObject({
      subject: "rejected: scribe's proposal: the plan",
      body: { acks: PLACE, approve: false, reason: "no" },
    });
  });

  it("say yes and no to a request", async () => {
    const request = { resolve_id: resolved("request") };
    const yes = await drafted(["accept", "4f2a91"], { views: request });
    expect(yes?.body).toEqual({ answers: PLACE, approve: true });
    const no = await drafted(["reject", "4f2a91"], { views: request });
    expect(no?.body).toEqual({ answers: PLACE, approve: false });
  });

  it.each(["ship", "incident"])("refuse a %s, and name what answers it", async (type) => {
    const { stderr, exitCode } = await refused(["accept", "4f2a91"], {
      views: { resolve_id: resolved(type) },
    });
    expect(exitCode).toBe(1);
    expect(stderr).toContain(`a ${type} asks for nothing that can be accepted or rejected`);
    const seen = type === "incident" ? "deaddrop incident ack" : "deaddrop ack";
    expect(stderr).toContain(`deaddrop reply 4f2a91c700; or that you have seen it: ${seen} 4f2a91`);
  });
});

describe("an answer to a proposal that has ended", () => {
  const ended = (status: ProposalStatus) => ({
    ...PROPOSAL,
    proposer: "scribe",
    required: ["forge"],
    status,
    waits_for: null,
    decided_by: "b".repeat(64),
  });
  const viewsOf = (status: ProposalStatus) => ({
    resolve_id: resolved("proposal"),
    proposals: [ended(status)],
  });
  const late: [string, string[]][] = [
    ["ack", ["ack", "4f2a91"]],
    ["accept", ["accept", "4f2a91"]],
    ["reject", ["reject", "4f2a91"]],
    ["counter", ["counter", "4f2a91", "s", "--required", "scribe"]],
  ];

  it.each(late)("is refused by `%s` with what became of it", async (_name, args) => {
    for (const status of ["ratified", "rejected", "reverted", "superseded", "withdrawn"] as const) {
      const { stderr, exitCode } = await refused(args, { views: viewsOf(status) });
      expect(exitCode).toBe(1);
      expect(stderr).toContain(
        `not sent: scribe's proposal has ended: it was ${status} (by bbbbbbbbbb)\n`,
      );
      expect(stderr).toContain("--anyway sends the answer, which changes nothing");
    }
  });

  it.each(late)("is sent by `%s` with --anyway", async (_name, args) => {
    expect(await drafted([...args, "--anyway"], { views: viewsOf("reverted") })).toBeDefined();
  });

  it("names what is open instead, or what was decided", async () => {
    const another = { ...PROPOSAL, proposal_id: "c".repeat(64), proposer: "scribe" };
    const superseded = viewsOf("superseded");
    const views = { ...superseded, proposals: [...superseded.proposals, another] };
    expect((await refused(["accept", "4f2a91"], { views })).stderr).toContain(
      "open in its thread is cccccccccc: read it first",
    );
    expect((await refused(["accept", "4f2a91"], { views: viewsOf("ratified") })).stderr).toContain(
      "`deaddrop decisions` shows what was decided",
    );
  });
});

describe("what an answer does not do", () => {
  const noteOf = async (args: readonly string[], views: Outside["views"]) => {
    const { stdout } = await run([...args, "--json"], views === undefined ? {} : { views });
    return (JSON.parse(stdout) as { note?: string }).note;
  };
  const open = { ...PROPOSAL, proposer: "scribe", required: ["forge"] };

  it("is said of an ack of a proposal: it is agreement", async () => {
    const views = { resolve_id: resolved("proposal"), proposals: [open] };
    expect(await noteOf(["ack", "4f2a91"], views)).toContain("means `deaddrop accept`");
    expect(await noteOf(["accept", "4f2a91"], views)).toBeUndefined();
    expect((await run(["ack", "4f2a91"], { views })).stdout).toContain("means `deaddrop accept`");
  });

  it("is said of a reply to a proposal or an incident, with the command that does it", async () => {
    const views = { resolve_id: resolved("proposal"), proposals: [open] };
    expect(await noteOf(["reply", "4f2a91", "x"], views)).toBe(
      "A reply neither agrees nor disagrees. One of these does: deaddrop accept 4f2a91c700, " +
        "deaddrop reject 4f2a91c700, deaddrop counter 4f2a91c700",
    );
    expect(await noteOf(["reply", "4f2a91", "x"], { resolve_id: resolved("incident") })).toBe(
      "A reply does not acknowledge the incident; this does: deaddrop incident ack 4f2a91c700",
    );
    for (const type of ["request", "feedback"]) {
      const other = { resolve_id: resolved(type) };
      expect(await noteOf(["reply", "4f2a91", "x"], other)).toBeUndefined();
    }
    const own = { resolve_id: resolved("proposal", "forge", "scribe") };
    expect(await noteOf(["reply", "4f2a91", "x"], own)).toBeUndefined();
  });

  it("is said where the proposal needs others", async () => {
    const views = {
      ...THREE,
      resolve_id: resolved("proposal", "mason"),
      proposals: [{ ...PROPOSAL, required: ["scribe"] }],
    };
    expect(await noteOf(["accept", "4f2a91"], views)).toBe(
      "The proposal does not need you, so your answer decides nothing: it needs scribe.",
    );
  });

  it("is said of an ack of the incident by which there is safe mode", async () => {
    const mode = {
      active: true,
      since: "2026-11-21T11:00:00Z",
      author: "scribe",
      incident_id: ID,
      escalation_id: "e".repeat(64),
      of: "forge",
      place: PLACE,
      escalations: [],
    };
    const views = { resolve_id: resolved("incident"), safe_mode: mode };
    expect(await noteOf(["incident", "ack", "4f2a91"], views)).toBe(
      "Safe mode ends with this, for each peer as soon as it arrives there.",
    );
    const ofMason = { ...views, safe_mode: { ...mode, of: "mason" } };
    expect(await noteOf(["incident", "ack", "4f2a91"], ofMason)).toBe(
      "Safe mode goes on: it ends when mason acknowledges incident 4f2a91c700, when scribe resolves it, or, for forge alone, when your operator resumes sending.",
    );
    const other = { ...views, safe_mode: { ...mode, incident_id: "f".repeat(64) } };
    expect(await noteOf(["incident", "ack", "4f2a91"], other)).toBeUndefined();
  });

  it("is that a reply comes after the end", async () => {
    const views = {
      resolve_id: resolved("proposal"),
      proposals: [{ ...open, status: "rejected" as const, decided_by: null }],
    };
    expect(await noteOf(["reply", "4f2a91", "x"], views)).toBe(
      "Note: scribe's proposal has ended: it was rejected.",
    );
  });
});

describe("ack", () => {
  const views = { resolve_id: resolved("proposal") };

  it("names the message by its event id, to its author", async () => {
    expect(await drafted(["ack", "4f2a91"], { views })).toEqual({
      to: ["scribe"],
      type: "ack",
      subject: "ack: scribe's proposal: the plan",
      body: { acks: PLACE, approve: true },
      correlationId: "thread-1",
    });
  });

  it("agrees to proposals alone", async () => {
    const ship = { resolve_id: resolved("ship") };
    const draft = await drafted(["ack", "4f2a91"], { views: ship });
    expect(draft?.body).toEqual({ about: PLACE });
    expect((await refused(["ack", "4f2a91", "--reject"], { views: ship })).stderr).toContain(
      "a ship asks for nothing that can be accepted or rejected",
    );
  });

  it("rejects with a reason", async () => {
    expect(await drafted(["ack", "4f2a91", "--reject", "--reason", "no"], { views })).toMatchObject(
      {
        subject: "rejected: scribe's proposal: the plan",
        body: { acks: PLACE, approve: false, reason: "no" },
      },
    );
  });

  it("refuses one's own message", async () => {
    const own = { resolve_id: resolved("proposal", "forge", "scribe") };
    expect((await refused(["ack", "4f2a91"], { views: own })).stderr).toContain("is your own");
  });
});

describe("ship", () => {
  it("takes the digest of the referenced files as sha256sum does", async () => {
    const sha = (text: string) => createHash("sha256").update(text).digest("hex");
    const listing = `${sha("alpha")}  a.js\n${sha("beta")}  b.js\n`;
    const refs = ["--ref", "a.js", "--ref", "git:4f2a", "--ref", "b.js"];
    expect(await drafted(["ship", "done", "--state", "green", ...refs])).toEqual({
      to: ["scribe"],
      type: "ship",
      subject: "done",
      body: { state: "green", manifest_digest: `sha256:${sha(listing)}` },
      refs: ["a.js", "git:4f2a", "b.js"],
    });
  });

  it("takes the digest given", async () => {
    const digest = `sha256:${"ab".repeat(32)}`;
    expect(await drafted(["ship", "done", "green", "--digest", digest])).toMatchObject({
      body: { text: "green", manifest_digest: digest },
    });
    const json = JSON.stringify({ state: "green", manifest_digest: digest, n: 1 });
    expect(await drafted(["ship", "done", json, "--body-json"])).toMatchObject({
      body: { state: "green", manifest_digest: digest, n: 1 },
    });
  });

  it.each([
    ["no digest", ["done", "green"], "names what it ships by a digest"],
    ["no digest but a commit", ["done", "green", "--ref", "git:4f2a"], "by a digest"],
    ["a digest that is none", ["done", "green", "--digest", "latest"], "lower-case hex"],
    ["a missing file", ["done", "green", "--ref", "none.js"], "no file to take the digest of"],
    ["a folder", ["done", "green", "--ref", "."], "no file to take the digest of"],
    ["no state", ["done", "--ref", "a.js"], "opens with one line of state"],
  ])("refuses %s", async (_what, args, problem) => {
    expect((await refused(["ship", ...args])).stderr).toContain(problem);
  });
});

describe("propose", () => {
  it.each([
    ["4h", "2026-11-21T16:01:00.000Z"],
    ["2m", "2026-11-21T12:03:00.000Z"],
    ["30d", "2026-12-21T12:00:00.000Z"],
    ["2026-11-22T08:00:00Z", "2026-11-22T08:00:00.000Z"],
  ])("--due %s asks for an answer until %s", async (when, due) => {
    const draft = await drafted(["propose", "s", "why", "--due", when]);
    expect(draft?.body).toEqual({ text: "why", decision: "s", due, required: ["scribe"] });
  });

  it.each(["1m", "119s", "31d", "2026-11-21T12:01:00Z", "2027-01-01T00:00:00Z"])(
    "--due %s is too soon or too far away",
    async (when) => {
      const { stderr } = await refused(["propose", "s", "why", "--due", when]);
      expect(stderr).toContain("in 2 minutes at the earliest and in 30 days at the latest");
    },
  );

  it("--due soon is neither a span of time nor a time", async () => {
    const { stderr } = await refused(["propose", "s", "why", "--due", "soon"]);
    expect(stderr).toContain('due "soon" is neither a span of time nor a time');
  });

  it("needs the peer in a pair, and its subject is the decision", async () => {
    expect(await drafted(["propose", "Frozen until May.", "others build on it"])).toEqual({
      to: ["scribe"],
      type: "proposal",
      subject: "Frozen until May.",
      body: { text: "others build on it", decision: "Frozen until May.", required: ["scribe"] },
      ackRequired: true,
    });
  });

  it("takes every flag", async () => {
    const flags = ["--required", "scribe", "--required", "mason", "--domain", "prose"];
    const more = ["--path", "docs/**", "--decision", "D.", "--decision-id", "d-1"];
    const args = ["propose", "s", "why", ...flags, ...more, "--supersedes", "d-0", "--ref", "x"];
    const old = { decision_id: "d-0", proposal: ["forge", 2, ID], acked_by: ["forge", "scribe"] };
    const decisions = { in_force: [old], pending: [], unproved: [], superseded: [] };
    const views = { ...THREE, decisions: decisions as unknown as Views["decisions"] };
    expect(await drafted(args, { views })).toEqual({
      to: ["scribe", "mason"],
      type: "proposal",
      subject: "s",
      body: {
        text: "why",
        domains: ["prose"],
        paths: ["docs/**"],
        decision: "D.",
        decision_id: "d-1",
        supersedes: "d-0",
        required: ["scribe", "mason"],
      },
      refs: ["x"],
      ackRequired: true,
    });
  });

  it("writes each required party by its handle", async () => {
    expect(await drafted(["propose", "s", "--required", "*"], { views: THREE })).toMatchObject({
      to: ["scribe", "mason"],
      body: { required: ["scribe", "mason"] },
    });
  });

  it("goes to more than it needs when told so", async () => {
    const args = ["propose", "s", "--required", "scribe", "--to", "*"];
    expect(await drafted(args, { views: THREE })).toMatchObject({
      to: ["*"],
      body: { required: ["scribe"] },
    });
  });

  it.each([
    ["a stranger", ["s", "--required", "scrib"], "did you mean scribe?"],
    ["oneself", ["s", "--required", "forge"], "is you"],
    ["a list as body", ["s", "[1]", "--body-json"], "text or a JSON object"],
  ])("refuses %s", async (_what, args, problem) => {
    expect((await refused(["propose", ...args])).stderr).toContain(problem);
  });
});

describe("counter", () => {
  it("needs the proposer and whom the proposer needed", async () => {
    const views = { ...THREE, resolve_id: resolved("proposal", "mason"), proposals: [PROPOSAL] };
    expect(await drafted(["counter", "4f2a91", "until March", "earlier"], { views })).toEqual({
      to: ["mason", "scribe"],
      type: "proposal",
      subject: "until March (counter: mason's proposal: the plan)",
      body: {
        text: "earlier",
        decision: "until March",
        decision_id: "until-march",
        required: ["mason", "scribe"],
        counters: ["mason", 3, ID],
      },
      correlationId: "thread-1",
      ackRequired: true,
    });
  });

  it("refuses what is no proposal, and one's own", async () => {
    const ship = { resolve_id: resolved("ship"), proposals: [] };
    expect((await refused(["counter", ID, "s"], { views: ship })).stderr).toContain("a ship, not");
    const own = {
      resolve_id: resolved("proposal", "forge", "scribe"),
      proposals: [{ ...PROPOSAL, proposer: "forge", required: ["scribe"] }],
    };
    expect((await refused(["counter", ID, "s"], { views: own })).stderr).toContain("is your own");
  });
});

describe("correct", () => {
  it("names what it corrects, to those who got it", async () => {
    const views = { ...THREE, resolve_id: resolved("ship", "forge", "mason") };
    expect(await drafted(["correct", "4f2a91", "8443, not 8433"], { views })).toEqual({
      to: ["mason"],
      type: "correction",
      subject: "correction: forge's ship: the plan",
      body: { corrects: OWN_PLACE, text: "8443, not 8433" },
      correlationId: "thread-1",
    });
  });

  it("of somebody else's, which may be forged, goes to its author and all who got it", async () => {
    const to = async (addressees: readonly string[]) => {
      const resolve_id = { ...resolved("ship", "scribe"), to: [...addressees] };
      const draft = await drafted(["correct", "4f2a91", "x"], { views: { ...THREE, resolve_id } });
      return draft?.to;
    };
    expect(await to(["forge"])).toEqual(["scribe"]);
    expect(await to(["mason", "forge"])).toEqual(["scribe", "mason"]);
    expect(await to(["*"])).toEqual(["*"]);
  });

  it("of a proposal that was ratified says that the decision stays", async () => {
    const views = {
      resolve_id: resolved("proposal", "forge", "scribe"),
      proposals: [{ ...PROPOSAL, proposer: "forge", status: "ratified" as const, waits_for: null }],
    };
    const { stdout } = await run(["correct", "4f2a91", "8443"], { views });
    expect(stdout).toContain("The decision stays as it was agreed.");
    expect(stdout).toContain('deaddrop propose "…" --supersedes 4f2a91c700');
  });

  it("reverts a proposal of one's own, and nothing else", async () => {
    const views = { resolve_id: resolved("proposal", "forge", "scribe") };
    expect(await drafted(["correct", "4f2a91", "--revert"], { views, tty: true })).toMatchObject({
      subject: "reverted: forge's proposal: the plan",
      body: { decides: OWN_PLACE, outcome: "ended", answers: [], reason: "taken back" },
    });
    for (const status of ["ratified", "rejected", "replaced"] as const) {
      const proposals = [{ ...PROPOSAL, proposer: "forge", status, waits_for: null }];
      const { stderr, exitCode } = await refused(["correct", "4f2a91", "--revert"], {
        views: { ...views, proposals },
      });
      expect(exitCode).toBe(1);
      expect(stderr).toContain(`not sent: forge's proposal has ended: it was ${status}`);
      expect(stderr.includes('deaddrop propose "…" --supersedes 4f2a91c700')).toBe(
        status === "ratified",
      );
    }
    for (const resolve_id of [resolved("proposal"), resolved("ship", "forge", "scribe")]) {
      const { stderr } = await refused(["correct", "4f2a91", "--revert"], {
        views: { resolve_id },
      });
      expect(stderr).toContain("only a proposal of your own");
    }
  });
});
