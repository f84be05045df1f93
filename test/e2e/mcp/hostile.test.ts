import { afterAll, beforeAll, expect, test } from "vitest";
import {
  EVIL,
  hostileWire,
  STEERS,
  takeIn,
  type HostileLine,
} from "../../support/scenes/hostile-wire.ts";
import { removeWires, type LiveWire } from "../../support/processes/live-wire.ts";
import { connectMcp, textOf, type McpClient } from "../../support/processes/mcp-clients.ts";

// Everything that a trusted peer can say, through every tool and resource: no word of it leaves its
// frame.

let wire: LiveWire;
let lines: readonly HostileLine[];
let forge: McpClient;

beforeAll(async () => {
  ({ wire, lines } = await hostileWire());
  await takeIn(wire);
  forge = await connectMcp(wire, "forge");
});
afterAll(async () => {
  await forge.close();
  await removeWires();
});

/** Nothing steers, and outside of frames is no word of the peer; the frames are whole. */
function check(text: string): void {
  expect(text).not.toMatch(STEERS);
  const nonce = /<peer-words ([0-9a-f]{16})> and/.exec(text)?.[1] ?? "none";
  let isInside = false;
  for (const line of text.split("\n")) {
    if (line === `<peer-words ${nonce}>`) {
      expect(isInside).toBe(false);
      isInside = true;
    } else if (line === `</peer-words ${nonce}>`) {
      expect(isInside).toBe(true);
      isInside = false;
    } else if (isInside) expect(line.startsWith("│ ")).toBe(true);
    else expect(line).not.toMatch(/FORGED|http:\/\/x|AAAA/);
  }
  expect(isInside).toBe(false);
}

const READING: readonly (readonly [string, Record<string, unknown>])[] = [
  ["whoami", {}],
  ["read", { what: "peers" }],
  ["inbox", {}],
  ["inbox", { bodies: true }],
  ["inbox", { unread: false, bodies: true }],
  ["read", { what: "notices" }],
  ["inbox", { wait_seconds: 1 }],
  ["read", { what: "search", text: "FORGED" }],
  ["read", { what: "decisions" }],
  ["read", { what: "check", paths: ["src/a.ts", "a/b"], text: "FORGED" }],
  ["read", { what: "claims" }],
  ["read", { what: "pending" }],
];

test.each(READING)("%s %j", async (name, args) => {
  const answer = await forge.call(name, args);
  expect(answer.isError ?? false).toBe(false);
  check(textOf(answer));
  if (answer.structuredContent !== undefined) {
    expect(JSON.parse(textOf(answer))).toEqual(answer.structuredContent);
  }
});

test("the inbox shows what is hostile, in frames", async () => {
  const words = await forge.words("inbox", { bodies: true, limit: 100 });
  expect(words).toContain("FORGED");
  expect(words.match(/^[0-9a-f]{10} from scribe \(/gm)?.length).toBeGreaterThan(3);
});

test("each message and its thread, by its id", async () => {
  for (const { id } of lines) {
    for (const args of [{ id }, { id, from_character: 0 }, { id, from_character: 7 }]) {
      const answer = await forge.call("read", args);
      check(textOf(answer));
    }
  }
});

test("answers to each of them, and what refuses them", async () => {
  for (const { id } of lines) {
    for (const [name, args] of [
      ["send", { type: "ack", reply_to: id }],
      ["send", { reply_to: id, body: "seen" }],
      ["answer", { id, answer: "accept" }],
      ["answer", { id, answer: "reject", reason: "no" }],
      ["propose", { counters: id, decision: "another", reasons: "so" }],
      ["answer", { id, answer: "withdraw" }],
    ] as const) {
      check(textOf(await forge.call(name, args)));
    }
  }
});

test("a peer's words as arguments name nothing, and come back as ours, without what steers", async () => {
  for (const [name, args] of [
    ["read", { id: EVIL }],
    ["read", { text: EVIL }],
    ["read", { what: EVIL }],
    ["read", { [EVIL]: EVIL }],
    ["inbox", { from: EVIL }],
    ["inbox", { cursor: EVIL }],
    ["mark", { ids: [EVIL] }],
    ["answer", { id: EVIL, answer: "accept" }],
    ["answer", { id: "0badcafe01", answer: "accept" }],
    ["send", { subject: "s", body: "b", to: [EVIL] }],
    ["send", { subject: "s", body: "b", reply_to: EVIL }],
    ["send", { subject: "s", body: "b", type: EVIL }],
    ["claim", { paths: [EVIL] }],
    ["claim", { paths: [EVIL], release: true }],
    ["request", { type: EVIL }],
    ["propose", { subject: "s", decision: "d", due: EVIL }],
  ] as const) {
    const answer = await forge.call(name, args);
    expect(textOf(answer)).not.toMatch(STEERS);
  }
});

test.each(["inbox", "decisions", "incidents"])("the resource %s", async (name) => {
  check(await forge.read(`deaddrop://${name}`));
});

test("the resource of each thread", async () => {
  for (const { id } of lines) check(await forge.read(`deaddrop://thread/${id}`).catch(String));
});
