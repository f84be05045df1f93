import { readFileSync } from "node:fs";
import { InMemoryTransport } from "@modelcontextprotocol/server";
import { Client } from "@modelcontextprotocol/client";
import { beforeAll, describe, expect, it } from "vitest";
import { oneIdentity } from "../../../src/agents/mcp/identity.ts";
import { makeServer } from "../../../src/agents/mcp/server.ts";
import { HELP_TOPICS, readSkill } from "../../../src/agents/skill/skill-text.ts";
import { skillPath } from "../../../src/setup/program.ts";
import { mailText } from "../../../src/framing/mail-text.ts";
import { withBlock } from "../../../src/setup/agents-file.ts";
import { SESSION_STARTS, tokens } from "../../support/mcp-tokens.ts";

// What a client shows its model of the server itself. Counted with js-tiktoken, o200k_base.

const markdown = readFileSync(skillPath(), "utf8");
const skill = readSkill(markdown);
const described = /^description: (.*)$/m.exec(markdown)?.[1] ?? "";

type Listed = Awaited<ReturnType<Client["listTools"]>>["tools"][number];
let tools: readonly Listed[];
let instructions: string;

beforeAll(async () => {
  const identity = oneIdentity(
    () => ({ by: "--as", place: { wireDir: "/wire", handle: "forge" } }),
    () => Promise.reject(new Error("no call is made here")),
  );
  const server = makeServer({ identity, version: "1.0.0", skill, nowMs: () => 0 });
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const client = new Client({ name: "test", version: "1.0.0" });
  await Promise.all([server.connect(ours), client.connect(theirs as never)]);
  ({ tools } = await client.listTools());
  instructions = client.getInstructions() ?? "";
  await client.close();
});

describe("the list of tools", () => {
  it("has those of spec 8.1, in one order", () => {
    expect(tools.map(({ name }) => name)).toEqual([
      ...["whoami", "inbox", "read", "mark", "send", "propose"],
      ...["answer", "request", "claim"],
    ]);
  });

  it("has schemas that no client has to take apart", () => {
    for (const { inputSchema } of tools) {
      expect(inputSchema.type).toBe("object");
      expect(Object.keys(inputSchema)).not.toContain("anyOf");
      for (const each of Object.values(inputSchema.properties ?? {})) {
        const { type, items } = each as { type?: string; items?: { type?: string } };
        expect(["string", "integer", "boolean", "array"]).toContain(type);
        if (type === "array") expect(items).toEqual({ type: "string" });
      }
    }
  });

  it("says of each tool what it may do, and takes a key for each that sends", () => {
    const named = (test: (tool: Listed) => boolean) => tools.filter(test).map(({ name }) => name);
    expect(named(({ annotations }) => annotations?.readOnlyHint === true)).toEqual([
      ...["whoami", "inbox", "read"],
    ]);
    expect(named(({ annotations }) => annotations?.destructiveHint === true)).toEqual([
      ...["answer", "request"],
    ]);
    const keyed = named(({ inputSchema: { properties = {} } }) => "request_key" in properties);
    expect(keyed).toEqual(["send", "propose", "answer", "request", "claim"]);
  });
});

describe("a session that begins", () => {
  const SESSION_START = 2_500;
  /** Of an agent that many peers have written to meanwhile. */
  const mail = {
    ...{ unread: 100, urgent: 3, owed: 4, overdue: 1, notices: 2, steps: 1 },
    from: Array.from({ length: 12 }, (_, at) => ({ handle: `agent-${at}`, count: 8 })),
    fresh: {
      count: 100,
      lines: Array.from({ length: 5 }, (_, at) => ({
        ...{ event_id: `${at}f2a91c7`.repeat(8), from: "scribe", urgent: false },
        received_at: "2026-11-21T11:58:00.000000Z",
      })),
    },
  };

  it.each(Object.keys(SESSION_STARTS))(
    "in %s costs at most 2,500 tokens: tools, instructions, block, skill and hook text",
    (client) => {
      const list = SESSION_STARTS[client]?.(tools, instructions) ?? "";
      const block = withBlock("", "AGENTS.md");
      const hook = mailText(mail as never, { handle: "forge", nowMs: Date.parse("2026-11-21") });
      const named = `<skill><name>deaddrop</name><description>${described}</description></skill>`;
      const costs = [list, block, named, hook].map(tokens);
      console.log(
        `${client}: tools and instructions, block, skill, hook text: ${costs.join(", ")}`,
      );
      expect(costs.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(SESSION_START);
    },
  );

  it("is not cut: descriptions and instructions have at most 2 KB", () => {
    const longest = tools.map(({ description = "" }) => Buffer.byteLength(description));
    expect(Math.max(...longest, Buffer.byteLength(instructions))).toBeLessThanOrEqual(2_048);
    expect(Math.min(...longest)).toBeGreaterThan(20);
  });
});

describe("the skill", () => {
  it("keeps to the open format and its sizes", () => {
    const [, front = ""] = /^---\n([\s\S]*?)\n---\n/.exec(markdown) ?? [];
    expect(front).toMatch(/^name: deaddrop$/m);
    expect(described.length).toBeGreaterThan(100);
    expect(described.length).toBeLessThanOrEqual(1_024);
    expect(skill.body.split("\n").length).toBeLessThan(500);
    expect(tokens(skill.body)).toBeLessThan(5_000);
  });

  it("is what the server gives as instructions, in its short form", () => {
    expect(instructions).toBe(skill.instructions);
    expect(skill.body).toContain(instructions);
  });

  it("names no tool and no argument that there is not", () => {
    const known = new Set(tools.map(({ name }) => name));
    const taken = new Map(
      tools.map(({ name, inputSchema }) => [name, Object.keys(inputSchema.properties ?? {})]),
    );
    const calls = [...skill.body.matchAll(/`([a-z]+) \{([^`]*)\}`/g)];
    expect(calls.length).toBeGreaterThan(15);
    for (const [, name = "", args = ""] of calls) {
      expect([...known]).toContain(name);
      for (const [, key = ""] of args.matchAll(/"([a-z_]+)":/g))
        expect(taken.get(name)).toContain(key);
    }
  });

  it("has a section for each topic of help", () => {
    for (const topic of HELP_TOPICS)
      expect(skill.body).toMatch(new RegExp(`^#+ ${topic}\\b`, "im"));
  });
});
