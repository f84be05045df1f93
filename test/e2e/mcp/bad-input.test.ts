import { afterEach, expect, test } from "vitest";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeWire, removeWires } from "../../support/processes/live-wire.ts";
import { connectMcp, serverOf, textOf } from "../../support/processes/mcp-clients.ts";
import { start, until } from "../../support/processes/real-processes.ts";

afterEach(removeWires);

test("wrong calls are refused by name, and the server goes on", async () => {
  const wire = makeWire();
  const forge = await connectMcp(wire, "forge");
  await expect(forge.call("nothing")).rejects.toThrow("nothing");
  for (const [name, args, problem] of [
    ["send_message", {}, "subject"],
    ["send_message", { subject: 1, body: "b" }, "must be string"],
    ["send_message", { subject: "s", body: "b", extra: true }, "additional properties"],
    ["send_message", { subject: "s", body: "b", type: "heartbeat" }, "allowed values"],
    ["send_message", { subject: "s", body: "b", request_key: "k".repeat(129) }, "128"],
    ["send_message", { subject: "s", body: "b", to: ["nobody"] }, "not on this wire"],
    ["send_message", { subject: "s", body: "x".repeat(1_048_576) }, "not sent"],
    ["inbox", { limit: 0 }, ">= 1"],
    ["inbox", { cursor: "999999999.999999999" }, "beyond the end"],
    ["inbox", { cursor: "yesterday" }, "after must be"],
    ["thread", { id: "abc" }, "unknown_id"],
    ["mark_read", { ids: ["abcdef"] }, "unknown_id"],
    ["wait_for_mail", { timeout_seconds: 601 }, "<= 600"],
    ["accept", { id: "0123456789" }, "unknown_id"],
    ["claim_paths", { paths: ["/etc/passwd"] }, "is no pattern"],
    ["raise_incident", { severity: "apocalyptic", subject: "s" }, "allowed values"],
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
  const waits = Array.from({ length: 9 }, () =>
    forge.call("wait_for_mail", { timeout_seconds: 1 }),
  );
  expect((await Promise.all(waits)).filter(({ isError }) => isError === true)).toHaveLength(1);
  await forge.close();
});

test("a call that is repeated after its connection was lost is one line", async () => {
  const wire = makeWire();
  await wire.daemon("forge");
  const note = { subject: "only once", body: "x", request_key: "lost" };
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const server = serverOf(wire, ["--wire", wire.dir, "--as", "forge"]);
    const { child, ended } = start(server.command, server.args, server);
    const say = (message: object) => child.stdin?.write(`${JSON.stringify(message)}\n`);
    const info = { clientInfo: { name: "t", version: "1" }, capabilities: {} };
    say({
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: { protocolVersion: "2025-06-18", ...info },
    });
    say({ jsonrpc: "2.0", method: "notifications/initialized" });
    const params = { name: "send_message", arguments: note };
    say({ jsonrpc: "2.0", id: 2, method: "tools/call", params });
    await until("the line", () => wire.text("forge_to_scribe.jsonl").includes("only once"));
    child.kill("SIGKILL");
    await ended;
  }
  const said = wire.lines("forge_to_scribe.jsonl").filter(({ subject }) => subject === "only once");
  expect(said).toHaveLength(1);
});

test("the server ends when its input ends, also in the middle of a call, and says nothing but JSON", async () => {
  const wire = makeWire();
  const server = serverOf(wire, ["--wire", wire.dir, "--as", "forge"]);
  const { child, ended, stdout } = start(server.command, server.args, server);
  const say = (message: object) => child.stdin?.write(`${JSON.stringify(message)}\n`);
  const info = { clientInfo: { name: "t", version: "1" }, capabilities: {} };
  say({
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-11-25", ...info },
  });
  child.stdin?.write("this is no JSON\n[1,2\n\n");
  await until("an answer", () => stdout().includes('"id":1'));
  const params = { name: "wait_for_mail", arguments: { timeout_seconds: 600 } };
  say({ jsonrpc: "2.0", id: 2, method: "tools/call", params });
  child.stdin?.end();
  expect(await ended).toMatchObject({ code: 0 });
  for (const line of stdout().trim().split("\n"))
    expect(JSON.parse(line)).toMatchObject({ jsonrpc: "2.0" });
});

test("a wire that is not there is said by whoami, and one that comes back serves on", async () => {
  const wire = makeWire();
  const forge = await connectMcp(wire, "forge");
  await forge.facts("send_message", { subject: "before", body: "x" });
  const config = join(wire.dir, "config.json");
  const before = wire.text("config.json");
  rmSync(config);
  const answer = await forge.call("whoami");
  // What was pinned serves on without the shared copy.
  expect(textOf(answer)).toContain("forge");
  writeFileSync(config, before);
  expect(await forge.facts("whoami")).toMatchObject({ you_are: "forge" });
  await forge.close();
});

test("both generations in one process: it answers in the one that the client has begun with", async () => {
  const wire = makeWire();
  const server = serverOf(wire, ["--wire", wire.dir, "--as", "forge"]);
  const { child, ended, stdout } = start(server.command, server.args, server);
  const say = (message: object) => child.stdin?.write(`${JSON.stringify(message)}\n`);
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "t", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  say({ jsonrpc: "2.0", id: 1, method: "server/discover", params: { _meta: meta } });
  await until("what it can", () => stdout().includes('"id":1'));
  const info = { clientInfo: { name: "t", version: "1" }, capabilities: {} };
  const params = { protocolVersion: "2025-06-18", ...info };
  say({ jsonrpc: "2.0", id: 2, method: "initialize", params });
  await until("an answer", () => stdout().includes('"id":2'));
  say({ jsonrpc: "2.0", method: "notifications/initialized" });
  say({ jsonrpc: "2.0", id: 3, method: "tools/call", params: { name: "whoami", arguments: {} } });
  await until("who it is", () => stdout().includes('"id":3'));
  child.stdin?.end();
  expect(await ended).toMatchObject({ code: 0 });
  const answers = stdout()
    .trim()
    .split("\n")
    .map((text) => JSON.parse(text) as { id?: number; result?: object });
  const answer = (id: number) => answers.find((each) => each.id === id)?.result;
  expect(answer(1)).toMatchObject({ supportedVersions: ["2026-07-28"] });
  expect(answer(2)).toMatchObject({ protocolVersion: "2025-06-18" });
  expect(answer(3)).toMatchObject({ structuredContent: { you_are: "forge" } });
});
