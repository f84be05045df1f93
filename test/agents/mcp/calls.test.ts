import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { toPlain } from "../../../src/wire/json/json.ts";
import { MINUTE } from "../../support/scripts/proposal-scene.ts";
import { checkedScenes } from "../../support/scenes/scene-checks.ts";
import { toolIn } from "../../support/scenes/scene-mcp.ts";
import type { SimulatedWire } from "../../support/scenes/simulated-wire.ts";

// What an agent can say over MCP, and in how many forms it may say it. Spec 8.1.

const sceneOf = checkedScenes("replay and audit");
let wire: SimulatedWire;

beforeEach(async () => {
  wire = sceneOf(["ann", "bob", "cat"]);
  await wire.start();
  await wire.pass(MINUTE);
});

type Args = Record<string, unknown>;

const call = (handle: string, tool: string, args: Args): Promise<string> =>
  toolIn(wire, handle, tool, args);

/** The id of what a call has sent. */
async function said(handle: string, tool: string, args: Args): Promise<string> {
  const answer = await call(handle, tool, args);
  expect(answer).toContain('"outcome":"sent"');
  await wire.pass(MINUTE);
  return (JSON.parse(answer) as { messages: { id: string }[] }).messages[0]?.id ?? "";
}

/** The newest message that an agent has got, as plain JSON. */
async function newest(handle: string): Promise<Args> {
  const { messages } = await wire.agent(handle).view("inbox", {});
  const { type, from, to, subject, body, refs } = messages.at(-1) ?? {};
  return { type, from, to, subject, body: toPlain(body as never), refs };
}

describe("send", () => {
  it("ships files by their digest, or a commit, and names the state", async () => {
    const folder = mkdtempSync(join(tmpdir(), "ship-"));
    const file = join(folder, "parser.js");
    writeFileSync(file, "done");
    const listing = `${createHash("sha256").update("done").digest("hex")}  ${file}\n`;
    const shipped = { type: "ship", subject: "parser", state: "tests are green", to: ["bob"] };
    await said("ann", "send", { ...shipped, refs: [file] });
    expect(await newest("bob")).toMatchObject({
      ...{ type: "ship", subject: "parser", refs: [file] },
      body: {
        state: "tests are green",
        manifest_digest: `sha256:${createHash("sha256").update(listing).digest("hex")}`,
      },
    });
    rmSync(folder, { recursive: true });
    await said("ann", "send", { ...shipped, refs: "git:0badcafe01" });
    expect(await newest("bob")).toMatchObject({ body: { manifest_digest: "0badcafe01" } });
    const text = await call("ann", "send", { ...shipped, refs: [] });
    expect(text).toContain("a ship names what it ships by a digest");
    expect(text).toContain("refs");
    expect(text).not.toContain("--ref");
  });

  it("corrects a message, for those who have got it", async () => {
    const id = await said("ann", "send", { body: "It is port 8433.", to: ["bob"] });
    await said("ann", "send", { type: "correction", reply_to: id, body: "It is port 8443." });
    expect(await newest("bob")).toMatchObject({
      ...{ type: "correction", body: { text: "It is port 8443." } },
    });
  });

  it("replies to the author, acknowledges, and needs no subject", async () => {
    const id = await said("ann", "send", { body: "Which port?\nI have forgotten.", to: ["bob"] });
    expect(await newest("bob")).toMatchObject({ type: "feedback", subject: "Which port?" });
    await said("bob", "send", { reply_to: id, body: "8443" });
    expect(await newest("ann")).toMatchObject({ from: "bob", to: ["ann"], body: "8443" });
    await said("bob", "send", { reply_to: id, type: "ack" });
    expect(await newest("ann")).toMatchObject({ type: "ack", from: "bob" });
  });

  it("names the types that there are, and the call for those of other tools", async () => {
    const unknown = await call("ann", "send", { body: "x", type: "warnin" });
    expect(unknown).toContain(
      "type must be one of feedback, warning, decision, ship, ack, correction, report, " +
        'and was "warnin"; did you mean warning?',
    );
    for (const [type, instead] of [
      ["proposal", 'propose {"decision":"x"}'],
      ["incident", 'request {"type":"incident","body":"x"}'],
      ["claim", 'claim {"paths":["x"]}'],
      ["accept", 'answer {"id":"…","answer":"accept","reason":"x"}'],
    ]) {
      expect(await call("ann", "send", { body: "x", type })).toContain(`what to do: ${instead}`);
    }
  });
});

describe("propose", () => {
  it("takes oneself among the required as meant, and reasons as a list", async () => {
    const required = ["ann", "bob"];
    const reasons = ["It is fast.", "It is small."];
    await said("ann", "propose", { decision: "We use pnpm.", to: "bob", required, reasons });
    expect(await newest("bob")).toMatchObject({
      ...{ type: "proposal", subject: "We use pnpm.", to: ["bob"] },
      body: { decision: "We use pnpm.", required: ["bob"], text: "It is fast.\nIt is small." },
    });
    expect(await call("ann", "propose", { decision: "x", required: "ann" })).toContain(
      '"ann" is you',
    );
  });
});

describe("answer", () => {
  it("withdraws what is one's own: a proposal, a request, a claim; and resolves an incident", async () => {
    const withdraw = (id: string) =>
      said("ann", "answer", { id, answer: "withdraw", reason: "so" });
    await withdraw(await said("ann", "propose", { decision: "We use pnpm.", to: ["bob"] }));
    const [proposal] = await wire.agent("bob").view("proposals", undefined);
    expect(proposal?.status).toBe("reverted");
    await withdraw(await said("ann", "request", { type: "review", to: ["bob"] }));
    const [request] = await wire.agent("bob").view("requests", {});
    expect(request?.status).toBe("cancelled");
    await withdraw(await said("ann", "claim", { paths: ["src/web"] }));
    expect(await call("bob", "read", { what: "claims" })).toBe("Nobody claims anything.");
    const incident = { type: "incident", severity: "low", subject: "main is red" };
    await withdraw(await said("ann", "request", { ...incident, to: ["bob"] }));
    const [raised] = await wire.agent("bob").view("incidents", undefined);
    expect(raised?.status).toBe("resolved");
  });

  it("refuses to withdraw what a peer has said, and says what to do instead", async () => {
    const id = await said("ann", "propose", { decision: "We use pnpm.", to: ["bob"] });
    const text = await call("bob", "answer", { id, answer: "withdraw" });
    expect(text).toContain("that proposal is ann's, not yours");
    expect(text).toContain(`answer {"id":"${id}","answer":"reject"}`);
    const note = await said("ann", "send", { body: "hello", to: ["bob"] });
    expect(await call("ann", "answer", { id: note, answer: "withdraw" })).toContain(
      `send {"type":"correction","reply_to":"${note}"`,
    );
  });

  it("answers a request by its message, or by its request id", async () => {
    for (const named of ["event_id", "request_id"] as const) {
      await said("ann", "request", { type: "review", to: ["bob"], body: "please" });
      const request = (await wire.agent("bob").view("requests", {})).at(-1);
      await said("bob", "answer", { id: request?.[named] ?? "", answer: "accept" });
      const answered = (await wire.agent("ann").view("requests", {})).at(-1);
      expect(answered?.status).toBe("approved");
    }
  });

  it("names the call for an ack and for a counter-proposal", async () => {
    const id = await said("ann", "send", { body: "hello", to: ["bob"] });
    expect(await call("bob", "answer", { id, answer: "ack" })).toContain(
      'answer must be one of accept, reject, withdraw, approve_shutdown, and was "ack"',
    );
    expect(await call("bob", "answer", { id, answer: "counter" })).toContain(
      `propose {"counters":"${id}","decision":"…"}`,
    );
  });
});

describe("what clients really send", () => {
  const SENT = { body: "hello", to: ["bob"] };

  it.each<[string, string, Args]>([
    ["null for what is optional", "send", { ...SENT, type: null, reply_to: null, refs: null }],
    ["nothing for what is optional", "send", { ...SENT, type: "", reply_to: "", refs: [] }],
    ["one value for a list", "send", { body: "hello", to: "bob" }],
    ["a list as JSON text", "send", { body: "hello", to: '["bob"]' }],
    ["a list with commas", "send", { body: "hello", to: "bob, cat" }],
    ["a list of lines for a text", "send", { ...SENT, body: ["hello", "you"] }],
    ["a number for a text", "send", { ...SENT, body: 42 }],
    ["a boolean as text", "send", { ...SENT, ack_required: "true" }],
    ["another case", "send", { ...SENT, type: "Warning", priority: "HIGH" }],
    ["another spelling of a name", "send", { ...SENT, requestKey: "k", "on-behalf": "me" }],
    ["a number as text", "inbox", { limit: "5", unread: "false" }],
    ["a view that is plain from its argument", "read", { text: "hello" }],
  ])("%s", async (_what, tool, args) => {
    const answer = await call("ann", tool, args);
    expect(answer).toContain(tool === "send" ? '"outcome":"sent"' : "You are ann.");
  });

  it.each<[string, string, Args, readonly string[]]>([
    [
      ...["a name that there is not", "send"],
      { ...SENT, refz: "x" },
      [
        'there is no argument "refz"; did you mean refs?',
        'send {"body":"hello","to":["bob"],"refs":"x"}',
      ],
    ],
    [
      "a value of another type",
      "send",
      { ...SENT, to: [{ a: 1 }, 2], priority: 3 },
      ["priority must be one of low, medium, high", "and was"],
    ],
    [
      "a number that is none",
      "inbox",
      { limit: "many" },
      ['limit must be a whole number of 0 or more, and was "many"'],
    ],
    [
      "a boolean that is none",
      "inbox",
      { unread: "perhaps" },
      ['unread must be true or false, and was "perhaps"'],
    ],
    [
      "what is missing",
      "answer",
      { id: "abcdef" },
      ["answer is missing", "answer needs id, answer"],
    ],
    ["what is missing for a type", "send", { type: "ack" }, ["reply_to is missing"]],
    ["nothing at all", "read", {}, ["what is missing", "thread, search, check, decisions"]],
    ["too long a key", "send", { ...SENT, request_key: "k".repeat(129) }, ["128 characters"]],
  ] as never)("names %s", async (_what, tool, args, expected) => {
    const text = await call("ann", tool, args);
    for (const each of expected) expect(text).toContain(each);
  });
});
