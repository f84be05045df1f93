import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Client as ClientOfV2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as TransportOfV2 } from "@modelcontextprotocol/client/stdio";
import { Client as ClientOfV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as TransportOfV1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterEach, expect, test } from "vitest";
import { makeWire, removeWires } from "../../support/processes/live-wire.ts";
import { connected, faceOf, serverOf } from "../../support/processes/mcp-clients.ts";
import { until } from "../../support/processes/real-processes.ts";

afterEach(removeWires);

const canTrace = spawnSync("strace", ["-o", "/dev/null", "true"]).status === 0;

test.skipIf(!canTrace)(
  "1,000 looks at the inbox open no file, with a daemon (skipped without strace)",
  async () => {
    const wire = makeWire();
    await wire.daemon("forge");
    await wire.json("scribe", "send", "one", "a body");
    const trace = join(wire.folder, "trace");
    const { command, args, ...rest } = serverOf(wire, ["--wire", wire.dir, "--as", "forge"]);
    const traced = ["-f", "-qq", "-e", "trace=open,openat", "-e", "signal=none", "-o", trace];
    const server = { ...rest, command: "strace", args: [...traced, command, ...args] };
    const client = faceOf(await connected(server, "first"));
    // It looks now and then whether its client is alive.
    const opens = (): number =>
      readFileSync(trace, "utf8")
        .split("\n")
        .filter((row) => !row.includes('"/proc/')).length;
    for (let call = 0; call < 20; call += 1) await client.words("inbox");
    const before = opens();
    for (let call = 0; call < 1_000; call += 1) await client.words("inbox");
    expect(opens()).toBe(before);
    await client.close();
  },
);

test("thousands of looks at the inbox fit into a small heap: nothing is kept of them", async () => {
  const wire = makeWire();
  await wire.daemon("forge");
  for (let at = 0; at < 10; at += 1)
    await wire.json("scribe", "send", `note ${at}`, "b".repeat(500));
  // Some kilobytes of each call would be more than this has.
  const small = { NODE_OPTIONS: "--max-old-space-size=40 --max-semi-space-size=2" };
  const server = serverOf(wire, ["--wire", wire.dir, "--as", "forge"], small);
  const client = faceOf(await connected(server, "first"));
  await until("they are there", async () => (await client.words("inbox")).includes("note 9"));
  for (let call = 0; call < 6_000; call += 1) await client.words("inbox", { bodies: true });
  expect(await client.facts("whoami")).toMatchObject({ unread: 10 });
  await client.close();
});

test("a client that subscribed is told of mail, and of nothing else, in the first generation", async () => {
  const wire = makeWire();
  await wire.daemon("forge");
  const server = serverOf(wire, ["--wire", wire.dir, "--as", "forge"]);
  const client = new ClientOfV1({ name: "test", version: "1.0.0" });
  await client.connect(new TransportOfV1(server));
  const told: string[] = [];
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
    told.push(params.uri);
  });
  await client.subscribeResource({ uri: "deaddrop://inbox" });
  await client.subscribeResource({ uri: "deaddrop://decisions" });
  await until("news of mail", async () => {
    await wire.json("scribe", "send", "mail", "a body");
    return told.length > 0;
  });
  expect(new Set(told)).toEqual(new Set(["deaddrop://inbox"]));
  await client.close();
});

test("and in the second, stateless", async () => {
  const wire = makeWire();
  await wire.daemon("forge");
  const server = serverOf(wire, ["--wire", wire.dir, "--as", "forge"]);
  const mode = { pin: "2026-07-28" };
  const client = new ClientOfV2(
    { name: "test", version: "1.0.0" },
    { versionNegotiation: { mode } },
  );
  await client.connect(new TransportOfV2(server));
  const told: string[] = [];
  client.setNotificationHandler("notifications/resources/updated", ({ params }) => {
    told.push(params.uri);
  });
  const subscription = await client.listen({ resourceSubscriptions: ["deaddrop://inbox"] });
  await until("news of mail", async () => {
    await wire.json("scribe", "send", "mail", "a body");
    return told.length > 0;
  });
  expect(new Set(told)).toEqual(new Set(["deaddrop://inbox"]));
  await subscription.close();
  await client.close();
});
