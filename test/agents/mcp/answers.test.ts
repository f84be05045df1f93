import { InMemoryTransport } from "@modelcontextprotocol/server";
import { Client as McpClient } from "@modelcontextprotocol/client";
import { describe, expect, it } from "vitest";
import { oneIdentity } from "../../../src/agents/mcp/identity.ts";
import { makeServer } from "../../../src/agents/mcp/server.ts";
import type { Client, SendAnswer } from "../../../src/api/client.ts";
import { DeaddropError } from "../../../src/api/errors.ts";
import { StorageError } from "../../../src/storage/disk/disk.ts";
import type { Draft } from "../../../src/wire/compose.ts";
import { toPlain } from "../../../src/wire/json/json.ts";

// What a send answers, whatever becomes of it.

const ID = "4f2a91c7".repeat(8);
const line = { event_id: ID, timestamp: "t", correlation_id: "t" };
const sent: SendAnswer = {
  outcome: "sent",
  messages: [{ ...line, place: ["forge", 1, ID], to: ["scribe"] }],
};

/** A server whose agent answers a send like that, and what it was asked to send. */
async function asked(answer: SendAnswer | Error, args: Record<string, unknown>) {
  const drafts: Draft[] = [];
  const client = {
    handle: "forge",
    viaDaemon: true,
    view: async () => ({ members: ["forge", "scribe"] }),
    ask: async (_name: string, { drafts: given }: { drafts: Draft[] }) => {
      drafts.push(...given);
      if (answer instanceof Error) throw answer;
      return answer;
    },
    close: () => undefined,
  } as unknown as Client;
  const identity = oneIdentity(
    () => ({ by: "--as", place: { wireDir: "/wire", handle: "forge" } }),
    async () => client,
  );
  const skill = { instructions: "short", body: "long" };
  const server = makeServer({ identity, version: "1.0.0", skill, nowMs: () => 0 });
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const caller = new McpClient({ name: "test", version: "1.0.0" });
  await Promise.all([server.connect(ours), caller.connect(theirs as never)]);
  const result = await caller.callTool({
    name: "send",
    arguments: { subject: "s", body: "b", ...args },
  });
  await caller.close();
  return {
    result,
    drafts,
    text: result.content.map((each) => ("text" in each ? each.text : "")).join(),
  };
}

describe("a send that is stored", () => {
  it("names who says it and to whom, in text as in structure", async () => {
    const { result, text } = await asked(sent, {});
    expect(result.structuredContent).toEqual({
      ...{ outcome: "sent", from: "forge", messages: [{ id: "4f2a91c74f", to: ["scribe"] }] },
      advice: "stored and on its way; do not send it again",
    });
    expect(JSON.parse(text)).toEqual(result.structuredContent);
  });

  it.each([
    [{ parks: true }, { parks: true }],
    [{ paused: ["scribe"] }, { paused: ["scribe"] }],
    [
      { refused_by: [{ peer: "scribe", tier: "UNTRUSTED" }] },
      { will_be_refused_by: [{ peer: "scribe", tier: "UNTRUSTED" }] },
    ],
    [{ repeated: true }, { repeated: true }],
  ] as const)("and says %j", async (more, expected) => {
    const { result } = await asked({ ...sent, ...more } as SendAnswer, {});
    expect(result.structuredContent).toMatchObject(expected);
  });

  it("says for whom as a note in the body, and never as an identity", async () => {
    const { drafts, result } = await asked(sent, { on_behalf: "reviewer" });
    expect(drafts.map(({ body }) => toPlain(body))).toEqual([{ text: "b", on_behalf: "reviewer" }]);
    expect(result.structuredContent).toMatchObject({ from: "forge" });
  });
});

describe("a send that is not", () => {
  it.each([
    [
      new DeaddropError("safe_mode", 'safe mode: "feedback" is not sent', { hint: "ask forge" }),
      'safe_mode: safe mode: "feedback" is not sent\nwhat to do: ask forge',
    ],
    [
      new StorageError("disk_full", "/p", "the disk is full", { hint: "make room" }),
      "storage: /p: the disk is full\nwhat to do: make room",
    ],
    [new TypeError("a bug of ours\u001b[2J"), "internal: TypeError: a bug of ours\\x1b[2J"],
  ])("%s", async (error, expected) => {
    const { result, text } = await asked(error, {});
    expect(result.isError).toBe(true);
    expect(result.structuredContent).toBeUndefined();
    expect(text).toBe(expected);
  });

  it("quotes a peer only in a frame", async () => {
    const refusal = new DeaddropError("refused", "not sent: scribe claims PWNED", {
      hint: "ask it",
    });
    const { text } = await asked(refusal, {});
    const [before, inside, after] = text.split(/^<\/?peer-words [0-9a-f]{16}>$/m);
    expect(before).toContain("refused: (What is between <peer-words");
    expect(inside?.trim()).toBe("│ not sent: scribe claims PWNED");
    expect(after?.trim()).toBe("what to do: ask it");
  });
});
