import { afterEach, expect, test } from "vitest";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeWire, removeWires } from "../../support/processes/live-wire.ts";
import { connectMcp, rawServer, textOf } from "../../support/processes/mcp-clients.ts";
import { until } from "../../support/processes/real-processes.ts";

afterEach(removeWires);

test("wrong calls are refused by name, and the server goes on", async () => {
  const wire = makeWire();
  const forge = await connectMcp(wire, "forge");
  await expect(forge.call("nothing")).rejects.toThrow("nothing");
  for (const [name, args, problem] of [
    ["send", {}, "body is missing"],
    ["send", { subject: "s", body: "b", extra: true }, 'there is no argument "extra"'],
    ["send", { subject: "s", body: "b", type: "heartbeat" }, "type must be one of feedback,"],
    ["send", { subject: "s", body: "b", request_key: "k".repeat(129) }, "128"],
    ["send", { subject: "s", body: "b", to: ["nobody"] }, "not on this wire"],
    ["send", { subject: "s", body: "x".repeat(1_048_576) }, "not sent"],
    ["inbox", { limit: -1 }, "limit must be a whole number of 0 or more"],
    ["inbox", { cursor: "999999999.999999999" }, "beyond the end"],
    ["inbox", { cursor: "yesterday" }, "after must be"],
    ["read", { id: "abc" }, "unknown_id"],
    ["mark", { ids: ["abcdef"] }, "unknown_id"],
    ["inbox", { wait_seconds: "long" }, "wait_seconds must be a whole number"],
    ["answer", { id: "0123456789", answer: "accept" }, "unknown_id"],
    ["claim", { paths: ["/etc/passwd"] }, "is no pattern"],
    ["mark", {}, "which messages, or which state?"],
    ["inbox", { from: "mallory" }, "not on this wire"],
    ["propose", { subject: "s", decision: "d", due: "soon" }, "neither a span of time nor a time"],
    ["send", { subject: "s", body: "b", type: "ship" }, "names what it ships by a digest"],
    ["request", { type: "incident", severity: "apocalyptic", subject: "s" }, "one of low, medium"],
  ] as const) {
    const answer = await forge.call(name, args);
    expect(answer.isError, `${name} ${JSON.stringify(args).slice(0, 80)}`).toBe(true);
    expect(textOf(answer)).toContain(problem);
  }
  expect(await forge.facts("whoami")).toMatchObject({ you_are: "forge" });
  expect(wire.lines("forge_to_scribe.jsonl")).toEqual([]);
  await forge.close();
});

test("many calls at once are all answered, those beyond the bound by name", async () => {
  const wire = makeWire();
  await wire.daemon("forge");
  const forge = await connectMcp(wire, "forge");
  const answers = await Promise.all(
    Array.from({ length: 6_000 }, () => forge.call("inbox", { limit: 1 })),
  );
  const refused = answers.filter(({ isError }) => isError === true);
  expect(answers.length - refused.length).toBeGreaterThanOrEqual(4_096);
  for (const each of refused) expect(textOf(each)).toContain("too many calls wait already");
  await forge.close();
});

test("a call that is repeated after its connection was lost is one line", async () => {
  const wire = makeWire();
  await wire.daemon("forge");
  const note = { subject: "only once", body: "x", request_key: "lost" };
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const { child, ended, say, initialize } = rawServer(wire, "forge");
    initialize("2025-06-18");
    say({ id: 2, method: "tools/call", params: { name: "send", arguments: note } });
    await until("the line", () => wire.text("forge_to_scribe.jsonl").includes("only once"));
    child.kill("SIGKILL");
    await ended;
  }
  const said = wire.lines("forge_to_scribe.jsonl").filter(({ subject }) => subject === "only once");
  expect(said).toHaveLength(1);
});

test("the server ends when its input ends, also in the middle of a call, and says nothing but JSON", async () => {
  const wire = makeWire();
  const { child, ended, stdout, write, say, answerTo, initialize } = rawServer(wire, "forge");
  initialize("2025-11-25");
  write("this is no JSON\n[1,2\n\n");
  await answerTo(1);
  const params = { name: "inbox", arguments: { wait_seconds: 600 } };
  say({ id: 2, method: "tools/call", params });
  child.stdin?.end();
  expect(await ended).toMatchObject({ code: 0 });
  for (const line of stdout().trim().split("\n")) {
    expect(JSON.parse(line)).toMatchObject({ jsonrpc: "2.0" });
  }
});

test("what is no request is answered as JSON-RPC says, and the server goes on", async () => {
  const wire = makeWire();
  const { child, ended, stdout, write, answerTo, initialize } = rawServer(wire, "forge");
  write("\uFEFF"); // Before the first request.
  initialize("2025-11-25");
  expect(await answerTo(1)).toMatchObject({ result: { serverInfo: { name: "deaddrop" } } });
  const frames: readonly (readonly [string, { code: number; id: number | string | null }])[] = [
    ["this is no JSON", { code: -32_700, id: null }],
    ['{"jsonrpc":"2.0","id":2,"method":"ping"', { code: -32_700, id: null }],
    ['{"id":3,"method":"tools/list"}', { code: -32_600, id: 3 }],
    ['{"jsonrpc":"1.0","id":"four","method":"ping"}', { code: -32_600, id: "four" }],
    ['{"jsonrpc":"2.0","id":{},"method":"ping"}', { code: -32_600, id: null }],
    ['{"jsonrpc":"2.0","id":5}', { code: -32_600, id: 5 }],
    ['[{"jsonrpc":"2.0","id":6,"method":"ping"}]', { code: -32_600, id: null }],
    ["null", { code: -32_600, id: null }],
  ];
  for (const [frame] of frames) write(`${frame}\n`);
  // A blank line, and a malformed response, which must not look like a request of ours.
  write('\r\n{"jsonrpc":"2.0","id":7,"result":1}\n');
  write('\uFEFF{"jsonrpc":"2.0","id":99,"method":"ping"}\r\n');
  expect(await answerTo(99)).toMatchObject({ result: {} });
  const answers = stdout()
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { id: unknown; error?: { code: number } });
  expect(answers.slice(1, -1).map(({ id, error }) => ({ code: error?.code, id }))).toEqual(
    frames.map(([, expected]) => expected),
  );
  child.stdin?.end();
  expect(await ended).toMatchObject({ code: 0, stderr: "" });
});

test("arguments that are null, or JSON text, are taken as what they mean", async () => {
  const wire = makeWire();
  const { child, ended, say, answerTo, initialize } = rawServer(wire, "forge");
  initialize("2025-06-18");
  const note = JSON.stringify({ subject: "in text", body: 'a "quoted" arguments: null' });
  for (const [id, name, given] of [
    [2, "whoami", null],
    [3, "inbox", null],
    [4, "inbox", ""],
    [5, "send", note],
  ] as const) {
    say({ id, method: "tools/call", params: { name, arguments: given } });
    const { result } = await answerTo(id);
    expect(result, `${name} ${given}`).not.toMatchObject({ isError: true });
    expect(JSON.stringify(result)).toContain("forge");
  }
  expect(wire.text("forge_to_scribe.jsonl")).toContain("in text");
  child.stdin?.end();
  expect(await ended).toMatchObject({ code: 0 });
});

test("a wire whose configuration is gone for a while is served by what is pinned", async () => {
  const wire = makeWire();
  const forge = await connectMcp(wire, "forge");
  await forge.facts("send", { subject: "before", body: "x" });
  const config = join(wire.dir, "config.json");
  const before = wire.text("config.json");
  rmSync(config);
  // What was pinned serves on without the shared copy.
  expect(await forge.facts("whoami")).toMatchObject({ you_are: "forge" });
  expect(await forge.facts("send", { subject: "without", body: "x" })).toMatchObject({
    outcome: "sent",
  });
  writeFileSync(config, before);
  expect(await forge.facts("whoami")).toMatchObject({ you_are: "forge" });
  await forge.close();
});

test("both generations in one process: it answers in the one that the client has begun with", async () => {
  const wire = makeWire();
  const { child, ended, say, answerTo, initialize } = rawServer(wire, "forge");
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "t", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  say({ id: 1, method: "server/discover", params: { _meta: meta } });
  expect(await answerTo(1)).toMatchObject({ result: { supportedVersions: ["2026-07-28"] } });
  initialize("2025-06-18", 2);
  expect(await answerTo(2)).toMatchObject({ result: { protocolVersion: "2025-06-18" } });
  say({ id: 3, method: "tools/call", params: { name: "whoami", arguments: {} } });
  expect(await answerTo(3)).toMatchObject({ result: { structuredContent: { you_are: "forge" } } });
  child.stdin?.end();
  expect(await ended).toMatchObject({ code: 0 });
});
