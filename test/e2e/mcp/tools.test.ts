import { afterEach, describe, expect, test } from "vitest";
import { makeWire, removeWires } from "../../support/processes/live-wire.ts";
import {
  connected,
  connectMcp,
  faceOf,
  GENERATIONS,
  rawServer,
  serverOf,
  textOf,
  type McpClient,
} from "../../support/processes/mcp-clients.ts";
import { BIN, start, until } from "../../support/processes/real-processes.ts";

afterEach(removeWires);

const idOf = (facts: Record<string, unknown>): string =>
  (facts["messages"] as { id: string }[])[0]?.id ?? "";

/** The ids that an agent's inbox shows, when it shows that text. */
async function untilInInbox(agent: McpClient, text: string): Promise<string> {
  return until(`${text} in the inbox`, async () => {
    const words = await agent.words("inbox", { bodies: true });
    return words.includes(text) ? words : undefined;
  });
}

describe.each(GENERATIONS)("a client of the generation: %s", (generation) => {
  test("drives every tool and resource, with daemons and without", async () => {
    const wire = makeWire({ cadenceSeconds: 1, deadlineSeconds: 60 });
    const daemons = [await wire.daemon("forge"), await wire.daemon("scribe")];
    const forge = await connectMcp(wire, "forge", generation);
    const scribe = await connectMcp(wire, "scribe", generation);

    expect(await forge.facts("whoami")).toMatchObject({
      ...{ you_are: "forge", known_by: "--as", peers: ["scribe"], daemon: "runs" },
    });
    expect(await forge.facts("read", { what: "peers" })).toMatchObject({
      peers: [{ handle: "scribe" }],
    });
    expect(forge.instructions()).toContain("Call `whoami` first");
    expect(await forge.prompt("introduce_wire")).toContain("You are forge");

    // A message, its answers, and what is read of it.
    const note = { subject: "the parser", body: "line one\nline two", request_key: "note" };
    const sent = await forge.facts("send", note);
    expect(sent).toMatchObject({ outcome: "sent", from: "forge", messages: [{ to: ["scribe"] }] });
    expect(await forge.facts("send", note)).toMatchObject({ repeated: true });
    const id = idOf(sent);
    expect(await untilInInbox(scribe, "the parser")).toContain("│ line two");
    expect(await scribe.facts("mark", { ids: [id] })).toMatchObject({ read: 1 });
    await scribe.facts("send", { reply_to: id, body: "which parser?" });
    await scribe.facts("send", { type: "ack", reply_to: id, body: "on it" });
    expect(await untilInInbox(forge, "which parser?")).toContain("signed");
    expect(await forge.words("read", { id })).toContain("which parser?");
    expect(await forge.words("read", { text: "which parser" })).toContain("1 found");
    // Both answers, and notices of the daemon's if there are any.
    const { read } = await forge.facts("mark", { all: true });
    expect(read).toBeGreaterThanOrEqual(2);

    // A proposal, another one, and the decision.
    const proposal = await forge.facts("propose", { subject: "format", decision: "Tabs." });
    await untilInInbox(scribe, "Tabs.");
    const refused = await scribe.call("send", { type: "ack", reply_to: idOf(proposal) });
    expect(textOf(refused)).toContain("that is a proposal, and an ack would agree to it");
    const about = { counters: idOf(proposal), decision: "Two blanks.", reasons: "tabs are uneven" };
    const counter = await scribe.facts("propose", about);
    await untilInInbox(forge, "Two blanks.");
    await forge.facts("answer", { id: idOf(counter), answer: "accept" });
    await until("the decision", async () =>
      (await forge.words("read", { what: "decisions" })).includes("│ Two blanks."),
    );
    expect(await forge.words("read", { what: "check", text: "blanks" })).toContain("Two blanks.");
    expect(await forge.read("deaddrop://decisions")).toContain("Two blanks.");

    // A request, a claim, an incident.
    const plan = { type: "plan_approval", body: "1. measure", request_key: "plan" };
    const asked = await forge.facts("request", plan);
    await untilInInbox(scribe, "1. measure");
    expect(await scribe.words("read", { what: "pending" })).toContain("owed by you");
    await scribe.facts("answer", { id: idOf(asked), answer: "accept" });
    const owned = await forge.facts("claim", { paths: ["src/**"], lasts: "1h" });
    await until("the claim", async () =>
      (await scribe.words("read", { what: "claims" })).includes("src/**"),
    );
    await forge.facts("claim", { paths: [idOf(owned)], release: true });
    const raised = {
      type: "incident",
      severity: "low",
      subject: "main is red",
      body: "since noon",
    };
    await forge.facts("request", raised);
    await untilInInbox(scribe, "main is red");
    expect(await scribe.read("deaddrop://incidents")).toContain("main is red");
    const second = await forge.facts("propose", { subject: "names", decision: "Short ones." });
    await untilInInbox(scribe, "Short ones.");
    await scribe.facts("answer", { id: idOf(second), answer: "reject", reason: "long ones" });
    await until("a notice of it", async () =>
      (await forge.words("read", { what: "notices" })).includes("rejected"),
    );

    // Without daemons the same server goes on.
    for (const daemon of daemons) await daemon.stop();
    expect(await forge.facts("whoami")).toMatchObject({
      daemon: "does not run: messages are read when you ask",
    });
    await forge.facts("send", { subject: "without a daemon", body: "still here" });
    expect(await scribe.words("inbox", { bodies: true })).toContain("│ still here");
    expect(await scribe.words("inbox", { wait_seconds: 600 })).toContain("still here");
    await wire.daemon("scribe");
    expect(await scribe.facts("whoami")).toMatchObject({ daemon: "runs" });
    expect(await scribe.facts("mark", { state: "idle", last_action: "read it" })).toEqual({
      ...{ outcome: "set", from: "scribe" },
    });
    expect(await scribe.read(`deaddrop://thread/${id}`)).toContain("the parser");
    expect(await scribe.read("deaddrop://inbox")).toContain("still here");
    expect(await forge.resources()).toEqual([
      ...["deaddrop://inbox", "deaddrop://decisions", "deaddrop://incidents"],
    ]);
    await forge.close();
    await scribe.close();
    const subjects = wire.lines("forge_to_scribe.jsonl").map(({ subject }) => subject);
    expect(subjects.filter((subject) => subject === "the parser")).toHaveLength(1);
  });
});

test("without a clear identity there is whoami alone, which says how to choose", async () => {
  const wire = makeWire();
  const client = faceOf(
    await connected(serverOf(wire, ["--wire", wire.dir]), "second, by initialize"),
  );
  expect(await client.toolNames()).toEqual(["whoami"]);
  const answer = await client.call("whoami");
  expect(answer.isError).toBe(true);
  expect(textOf(answer)).toContain("several identities here: forge, scribe");
  expect(textOf(answer)).toContain("deaddrop as <handle>");
  await client.close();
});

test("an identity that becomes clear brings the other tools", async () => {
  const wire = makeWire();
  const server = serverOf(wire, ["--wire", wire.dir]);
  const client = faceOf(await connected(server, "first"));
  expect(await client.toolNames()).toEqual(["whoami"]);
  const as = { cwd: wire.folder, env: wire.env };
  const bound = await start(process.execPath, [BIN, "as", "forge", "--wire", wire.dir], as).ended;
  expect(bound).toMatchObject({ code: 0 });
  expect(await client.facts("whoami")).toMatchObject({ you_are: "forge" });
  expect((await client.toolNames()).length).toBe(9);
  await client.close();
});

test("a revision that we do not know gets an error that lists ours", async () => {
  const wire = makeWire();
  const { child, ended, say, answerTo } = rawServer(wire, "forge");
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2031-01-01",
    "io.modelcontextprotocol/clientInfo": { name: "t", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  say({ id: 1, method: "tools/list", params: { _meta: meta } });
  expect(await answerTo(1)).toMatchObject({
    error: { data: { supported: ["2026-07-28"], requested: "2031-01-01" } },
  });
  child.stdin?.end();
  expect(await ended).toMatchObject({ code: 0 });
});
