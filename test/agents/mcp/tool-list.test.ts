import { Tiktoken } from "js-tiktoken/lite";
import o200k from "js-tiktoken/ranks/o200k_base";
import { readFileSync } from "node:fs";
import { InMemoryTransport } from "@modelcontextprotocol/server";
import { Client } from "@modelcontextprotocol/client";
import { beforeAll, describe, expect, it } from "vitest";
import { oneIdentity } from "../../../src/agents/mcp/identity.ts";
import { makeServer } from "../../../src/agents/mcp/server.ts";
import { readSkill } from "../../../src/agents/skill/skill-text.ts";
import { skillPath } from "../../../src/cli/program-path.ts";

// What a client shows its model of the server itself. Counted with js-tiktoken, o200k_base.

const tokenizer = new Tiktoken(o200k);
const tokens = (text: string): number => tokenizer.encode(text, "all").length;
const skill = readSkill(readFileSync(skillPath(), "utf8"));

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
      "whoami",
      ...["inbox", "mark_read", "notices", "wait_for_mail", "send_message", "reply"],
      ...["acknowledge", "accept", "reject", "counter", "respond"],
      ...["propose", "decisions", "check_decisions", "claim_paths", "release_paths", "claims"],
      ...[
        "request",
        "pending",
        "plan_next",
        "plan_report",
        "raise_incident",
        "thread",
        "search",
        "peers",
        "set_status",
      ],
    ]);
  });

  it("costs at most 6,000 tokens, and no description or instructions are cut", () => {
    expect(tokens(JSON.stringify(tools))).toBeLessThanOrEqual(6_000);
    const longest = tools.map(({ description = "" }) => Buffer.byteLength(description));
    expect(Math.max(...longest, Buffer.byteLength(instructions))).toBeLessThanOrEqual(2_048);
    expect(Math.min(...longest)).toBeGreaterThan(20);
  });

  it("has schemas that no client has to take apart", () => {
    for (const { inputSchema } of tools) {
      expect(inputSchema.type).toBe("object");
      expect(Object.keys(inputSchema)).not.toContain("anyOf");
      expect(inputSchema).toMatchObject({ additionalProperties: false });
    }
  });

  it("says of each tool what it may do, and takes a key for each that sends", () => {
    const named = (test: (tool: Listed) => boolean) =>
      tools
        .filter(test)
        .map(({ name }) => name)
        .sort();
    expect(named(({ annotations }) => annotations?.readOnlyHint === true)).toEqual([
      ...["check_decisions", "claims", "decisions", "inbox", "notices", "peers", "pending"],
      ...["plan_next", "search", "thread", "wait_for_mail", "whoami"],
    ]);
    expect(named(({ annotations }) => annotations?.destructiveHint === true)).toEqual([
      ...["accept", "raise_incident", "reject", "request", "respond"],
    ]);
    const keyed = named(({ inputSchema: { properties = {} } }) => "request_key" in properties);
    const sending = named(
      ({ name, annotations }) =>
        annotations?.readOnlyHint === false && !["mark_read", "set_status"].includes(name),
    );
    expect(keyed).toEqual(sending);
  });

  it("promises structured content only where no word of a peer is in an answer", () => {
    const framed = tools.filter(({ outputSchema }) => outputSchema === undefined);
    expect(framed.map(({ name }) => name).sort()).toEqual([
      ...["check_decisions", "claims", "decisions", "inbox", "notices", "pending"],
      ...["plan_next", "search", "thread"],
    ]);
  });
});

describe("the skill", () => {
  const markdown = readFileSync(skillPath(), "utf8");

  it("keeps to the open format and its sizes", () => {
    const [, front = ""] = /^---\n([\s\S]*?)\n---\n/.exec(markdown) ?? [];
    const description = /^description: (.*)$/m.exec(front)?.[1] ?? "";
    expect(front).toMatch(/^name: deaddrop$/m);
    expect(description.length).toBeGreaterThan(100);
    expect(description.length).toBeLessThanOrEqual(1_024);
    expect(skill.body.split("\n").length).toBeLessThan(500);
    expect(tokens(skill.body)).toBeLessThan(5_000);
  });

  it("is what the server gives as instructions, in its short form", () => {
    expect(instructions).toBe(skill.instructions);
    expect(skill.body).toContain(instructions);
  });

  it("names no tool that there is not", () => {
    const known = new Set(tools.map(({ name }) => name));
    const said = [...skill.body.matchAll(/`([a-z]+_[a-z_]+)`/g)].map(([, name]) => name ?? "");
    const others = [
      "request_key",
      "plan_approval",
      "will_be_refused_by",
      "waits_for_comparison_of_digits_at",
      "_coordination",
    ];
    expect(said.filter((name) => !known.has(name) && !others.includes(name))).toEqual([]);
    expect(said.length).toBeGreaterThan(10);
  });
});
