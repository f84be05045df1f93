import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RequestView } from "../../src/api/views.ts";
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

const OTHER = "7".repeat(64);
const THREE = { whoami: whoami("forge", "scribe", "mason") };

const asked = (change: Partial<RequestView> = {}): RequestView => ({
  place: PLACE,
  request_id: "0badcafe01234567",
  request_type: "shutdown",
  event_id: ID,
  correlation_id: "thread-1",
  from: "scribe",
  target: "forge",
  subject: "the plan",
  plan: null,
  status: "pending",
  reason: null,
  refused: null,
  asked_at: "2026-11-21T11:00:00.000Z",
  due_at: "2026-11-22T11:00:00.000Z",
  decided_by: null,
  answer: null,
  late_answers: [],
  waits_for: "an answer of forge",
  ...change,
});

const toUs = (change: Partial<RequestView> = {}): Outside => ({
  views: { requests: [asked(change)], resolve_id: resolved("request") },
});
const ours = (...changes: Partial<RequestView>[]): Outside => ({
  views: {
    ...THREE,
    requests: changes.map((change) => asked({ from: "forge", target: "scribe", ...change })),
    resolve_id: resolved("request", "forge", "scribe"),
  },
});

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "deaddrop-request-"));
  writeFileSync(join(folder, "plan.md"), "1. measure\n2. cut over\n");
});
afterAll(() => rmSync(folder, { recursive: true }));

const drafted = (args: readonly string[], outside?: Outside) =>
  draftedBy(args, { cwd: folder, ...outside });

async function refused(args: readonly string[], outside?: Outside): Promise<string> {
  const { exitCode, stderr } = await refusedBy(args, { cwd: folder, ...outside });
  expect(exitCode).toBe(1);
  return stderr;
}

describe("request", () => {
  it("asks in a new thread, by a request id of its own", async () => {
    const draft = await drafted(["request", "shutdown", "--body", "the release is out"]);
    expect(draft).toEqual({
      to: ["scribe"],
      type: "request",
      subject: "please finish and shut down",
      body: {
        text: "the release is out",
        request_id: expect.stringMatching(/^[0-9a-f]{16}$/u),
        request_type: "shutdown",
      },
    });
    const again = await drafted(["request", "shutdown"]);
    const before = draft?.body as { request_id: string } | undefined;
    expect(again?.body).not.toMatchObject({
      request_id: before?.request_id,
    });
  });

  it("asks several agents, takes a time, and any name of a type", async () => {
    const args = ["request", "review", "mason", "scribe", "--due", "4h", "--subject", "look"];
    expect(await drafted(args, { views: THREE })).toMatchObject({
      to: ["mason", "scribe"],
      subject: "look",
      body: {
        request_type: "review",
        due: "2026-11-21T16:01:00.000Z",
        required: ["mason", "scribe"],
      },
    });
  });

  it("submits a plan, as text or from a file", async () => {
    const plan = ["request", "plan_approval"];
    expect(await drafted([...plan, "--plan", "do it"])).toMatchObject({
      subject: "a plan, for your approval",
      body: { plan: "do it" },
    });
    expect(await drafted([...plan, "--plan-file", "plan.md"])).toMatchObject({
      body: { plan: "1. measure\n2. cut over\n" },
    });
  });

  it.each([
    ["a type that is no name", ["request", "Shut_Down"], '"Shut_Down" is no type of request'],
    ["no plan", ["request", "plan_approval"], "there is no plan to approve"],
    ["an empty plan", ["request", "review", "--plan", " "], "there is no plan to approve"],
    [
      "two plans",
      ["request", "plan_approval", "--plan", "x", "--plan-file", "plan.md"],
      "the plan is given twice",
    ],
    ["a missing file", ["request", "plan_approval", "--plan-file", "none.md"], "none.md"],
    ["an agent that is not here", ["request", "review", "scrib"], "did you mean scribe?"],
    ["nothing that is asked", ["request", "scribe"], "does not say what it asks for"],
    ["a handle that is like one", ["request", "review", "scribe", "scrib"], "did you mean scribe?"],
    ["a time that is over", ["request", "review", "--due", "1s"], "too soon"],
  ])("refuses %s", async (_what, args, problem) => {
    const { recording, stderr, exitCode } = await run(args, { cwd: folder });
    expect(recording.drafts).toEqual([]);
    expect(exitCode).not.toBe(0);
    expect(stderr).toContain(problem);
  });
});

describe("respond", () => {
  it("answers by the request's name, with what the request says of itself", async () => {
    expect(await drafted(["respond", "0badcafe", "--approve"], toUs())).toEqual({
      to: ["scribe"],
      type: "ack",
      subject: "accepted: scribe's request: the plan",
      body: {
        answers: PLACE,
        request_id: "0badcafe01234567",
        request_type: "shutdown",
        approve: true,
      },
      correlationId: "thread-1",
    });
    const no = await drafted(["respond", "0badcafe", "--reject", "--reason", "red"], toUs());
    expect(no?.body).toMatchObject({ approve: false, reason: "red" });
  });

  it.each([["accept"], ["reject"]])("is what `%s` does by event id", async (command) => {
    expect((await drafted([command, ID], toUs({ request_type: "review" })))?.body).toMatchObject({
      answers: PLACE,
      request_id: "0badcafe01234567",
      approve: command === "accept",
    });
  });

  it("wants a yes or a no", async () => {
    expect(await refused(["respond", "0badcafe"], toUs())).toContain("approve it, or reject it?");
    const both = ["respond", "0badcafe", "--approve", "--reject"];
    expect(await refused(both, toUs())).toContain("respond 0badcafe yes, or");
  });

  it("refuses a name that two requests have, also when one of them has ended", async () => {
    const views = {
      requests: [asked(), asked({ event_id: OTHER, from: "mason", status: "expired" })],
    };
    const stderr = await refused(["respond", "0badcafe", "--approve"], { views });
    expect(stderr).toContain(`${ID}: scribe asks forge`);
    expect(stderr).toContain(`${OTHER}: mason asks forge`);
  });

  it("refuses what there is not, and one's own request", async () => {
    const none = { views: { requests: [] } };
    expect(await refused(["respond", "0badcafe", "--approve"], none)).toContain(
      'no request is named "0badcafe"',
    );
    expect(await refused(["respond", "0badcafe", "--approve"], ours({}))).toContain(
      "that message is your own",
    );
  });

  it.each([
    ["cancelled", { status: "cancelled" as const }, "it was cancelled"],
    ["void", { status: "void" as const }, "is void"],
    ["answered", { answer: { event_id: OTHER, approve: false } }, "you have rejected it"],
  ])("refuses one that is %s, unless --anyway", async (_what, change, problem) => {
    const args = ["respond", "0badcafe", "--approve"];
    expect(await refused(args, toUs(change))).toContain(problem);
    expect((await drafted([...args, "--anyway"], toUs(change)))?.body).toMatchObject({
      answers: PLACE,
    });
  });

  it("finds none that is refused here by its name, and answers none by its id", async () => {
    const change = { refused: "tier_refused" as const };
    const named = await refused(["respond", "0badcafe", "--approve"], toUs(change));
    expect(named).toContain("no request is named");
    expect(await refused(["accept", ID], toUs(change))).toContain("is refused here: tier_refused");
  });

  it.each([
    ["ack", ["ack", ID]],
    ["reply", ["reply", ID, "soon"]],
  ])("`%s` answers no such request, and names what does", async (_name, args) => {
    const stderr = await refused(args, toUs());
    expect(stderr).toContain("a shutdown request of scribe: an approval parks you");
    expect(stderr).toContain("deaddrop respond 0badcafe01 yes");
  });

  it("a reply is taken once the request has ended", async () => {
    expect(await drafted(["reply", ID, "thanks"], toUs({ status: "approved" }))).toMatchObject({
      type: "feedback",
    });
  });
});

describe("wake", () => {
  it("says whether there was anything to end, and for whom", async () => {
    const { stdout, recording } = await run(["wake"]);
    expect(recording.decided).toEqual(["wake"]);
    expect(stdout).toBe("forge goes on; what came meanwhile: deaddrop inbox --unread\n");
    expect((await run(["wake", "--json"])).stdout).toBe('{"woken":true}\n');
  });

  it("acts on no identity of somebody else", async () => {
    const { recording, stderr, exitCode } = await run(["wake", "scribe"]);
    expect({ decided: recording.decided, exitCode }).toEqual({ decided: [], exitCode: 1 });
    expect(stderr).toContain("scribe is no identity of this user");
  });
});

describe("requests", () => {
  it("lists those that are pending and the last that have ended, and with --all the others", async () => {
    const views = {
      requests: [
        asked({ subject: "open" }),
        asked({ subject: "done", status: "rejected", reason: "red", waits_for: null }),
      ],
    };
    const { stdout } = await run(["requests"], { views });
    expect(stdout).toBe(
      "0badcafe01  shutdown  pending   scribe → forge  waits for an answer of forge, due in 23 h  open\n" +
        "0badcafe01  shutdown  rejected  scribe → forge  red                                        done\n",
    );
    const many = Array.from({ length: 12 }, (_, at) =>
      asked({ subject: `done ${at}`, status: "approved", waits_for: null }),
    );
    const listed = await run(["requests"], { views: { requests: many } });
    expect(listed.stdout.match(/done \d+/g)).toEqual(many.slice(2).map(({ subject }) => subject));
    const all = await run(["requests", "--all"], { views });
    expect(all.stdout).toContain("rejected  scribe → forge  red");
    const json = JSON.parse((await run(["requests", "--all", "--json"], { views })).stdout);
    expect(json).toEqual(views.requests);
    expect((await run(["requests"], { views: { requests: [] } })).stdout).toBe("No requests.\n");
  });

  it("cancels one of ours, from all whom it asks or from one", async () => {
    const both = ours({}, { target: "mason" });
    const { recording } = await run(["requests", "cancel", "0badcafe"], { cwd: folder, ...both });
    const ends = { decides: OWN_PLACE, outcome: "ended", answers: [] };
    expect(recording.drafts).toEqual(
      ["scribe", "mason"].map((of) => ({
        to: [of],
        type: "correction",
        subject: "cancelled: forge's request: the plan",
        body: { ...ends, of, reason: "taken back" },
        correlationId: "thread-1",
      })),
    );
    const one = ["requests", "cancel", "0badcafe", "--of", "mason", "--reason", "not needed"];
    expect(await drafted(one, both)).toMatchObject({
      to: ["mason"],
      body: { ...ends, of: "mason", reason: "not needed" },
    });
  });

  it("cancels nothing that has ended, was asked of nobody, or is a peer's", async () => {
    const cancel = ["requests", "cancel", "0badcafe"];
    expect(await refused(cancel, ours({ status: "approved" }))).toContain("it was approved");
    expect(await refused([...cancel, "--of", "mason"], ours({}))).toContain("not sent to mason");
    expect(await refused(cancel, toUs())).toContain("that request is not yours");
  });
});
