import { beforeEach, expect, test } from "vitest";
import { TOOLS } from "../../src/agents/mcp/tool-table.ts";
import { newFrame } from "../../src/framing/frame.ts";
import { fromPlain } from "../../src/wire/json/json.ts";
import type { ChainHead } from "../../src/wire/compose.ts";
import { clientOf, commandIn } from "../support/scenes/scene-cli.ts";
import { SimulatedWire } from "../support/scenes/simulated-wire.ts";

// A pinned peer says so much that what others say would be on no page that anybody reads.

const FLOOD = 300;

let wire: SimulatedWire;
beforeEach(() => {
  wire = new SimulatedWire(["forge", "mallory", "scribe"]);
});

/** So many lines of mallory to forge, written by hand; then one message of scribe's, and as many again. */
async function flood(type: string, said = "request"): Promise<void> {
  await wire.start("forge", "scribe");
  const lines = (): string => {
    let after: ChainHead | undefined = wire.head("mallory");
    return Array.from({ length: FLOOD }, () => {
      const made = wire.forge("mallory", {
        ...{ to: ["forge"], type, subject: "junk", priority: "high" },
        body: fromPlain({ severity: "low", detail: "junk" }),
        ...(after === undefined ? {} : { after }),
      });
      after = { seq: (after?.seq ?? 0) + 1, id: made.id };
      return `${Buffer.from(made.line).toString("utf8")}\n`;
    }).join("");
  };
  wire.append("outbox/mallory.jsonl", lines());
  await wire.settle();
  const urgent = { to: ["forge"], type: said, subject: "THE REAL ONE", body: { text: "x" } };
  await wire.send("scribe", urgent);
  wire.append("outbox/mallory.jsonl", lines());
  await wire.settle();
}

async function tool(name: string, args: Record<string, unknown> = {}): Promise<string> {
  const call = { client: clientOf(wire, "forge", "/"), frame: newFrame(), nowMs: wire.nowMs };
  const found = TOOLS.find((each) => each.name === name);
  const signal = new AbortController().signal;
  const skill = { instructions: "", body: "" };
  const answer = await found?.run(
    { ...call, tool: name, signal, skill, cwd: process.cwd(), env: process.env },
    args,
  );
  return JSON.stringify(answer);
}

test.each(["incident", "feedback"])(
  "by %ss: another's message is seen everywhere",
  async (type) => {
    await flood(type);
    const status = await commandIn(wire, "forge", "status");
    expect(status).toContain("THE REAL ONE");
    expect(status).toContain("1 of scribe");
    expect(status.length).toBeLessThan(16_384);
    expect((await commandIn(wire, "forge", "status", "--json")).length).toBeLessThan(65_536);
    for (const command of [["inbox", "--unread"], ["inbox"], ["pending"], ["catch-up"]]) {
      const shown = await commandIn(wire, "forge", ...command);
      expect([command, shown]).toEqual([command, expect.stringContaining("THE REAL ONE")]);
      expect(shown.length).toBeLessThan(65_536);
    }
    for (const each of [await tool("inbox"), await tool("read", { what: "pending" })]) {
      expect(each).toContain("THE REAL ONE");
    }
  },
);

test("a list of incidents has those of others, however many one has raised", async () => {
  await flood("incident", "incident");
  for (const flags of [[], ["--all"]]) {
    const listed = await commandIn(wire, "forge", "incident", "list", ...flags);
    expect(listed).toContain("THE REAL ONE");
    expect(listed.length).toBeLessThan(65_536);
  }
});

test("incidents cost tokens, unless their author is TRUSTED", async () => {
  const tiers = { forge: { mallory: "VERIFIED" } } as const;
  wire = new SimulatedWire(wire.roster, { tiers, rateLimit: 10 });
  await flood("incident");
  const taken = JSON.parse(await commandIn(wire, "forge", "status", "--json")) as {
    unread: number;
  };
  expect(taken.unread).toBeLessThan(100);
});
