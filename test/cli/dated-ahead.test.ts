import { appendFileSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openClient } from "../../src/client/open-client.ts";
import { composeLine, type ChainHead } from "../../src/wire/compose.ts";
import { makeSigner } from "../../src/wire/signature.ts";
import { newMachine, type Machine } from "../setup/machine.ts";
import { BY_FLAGS, commandsOn } from "./on-machine.ts";

// The clock of scribe's machine is two hours ahead: what its operator and forge's can do about its lines.

let machine: Machine;
let head: ChainHead | undefined;
const { run, json } = commandsOn(() => machine, { openClient });
beforeEach(async () => {
  machine = newMachine();
  head = undefined;
  await json("init", "--me", "forge", "--peer", "scribe");
  await json("join", "--me", "scribe");
  for (let looks = 0; looks < 2; looks += 1) {
    await json("trust", "sas", "scribe", "--as", "forge");
    await json("trust", "sas", "forge", "--as", "scribe");
  }
  const { digits } = await json<{ digits: string }>("trust", "sas", "scribe", "--as", "forge");
  await json("trust", "verify", "scribe", digits, "--as", "forge", ...BY_FLAGS);
  // What is there at the first look is history, which is judged by its own dates.
  expect(await inbox()).toEqual([]);
});
afterEach(() => {
  machine.remove();
});

const HOUR_MS = 3_600_000;

/** A line of scribe, as its daemon writes it on a machine whose clock is so far ahead. */
function write(subject: string, aheadMs: number): void {
  const base = join(machine.root, "config");
  const names = readdirSync(base, { recursive: true, encoding: "utf8" });
  const key = readFileSync(join(base, names.find((name) => name.endsWith("scribe.key")) ?? ""));
  const config = readFileSync(join(machine.wireDir, "config.json"), "utf8");
  const { wire_id: wireId } = JSON.parse(config) as { wire_id: string };
  const timestamp = new Date(Date.now() + aheadMs).toISOString().replace("Z", "000Z");
  const { line, id } = composeLine(
    { to: ["forge"], type: "feedback", subject, body: {}, correlationId: timestamp },
    { timestamp, wireId, head },
    makeSigner("scribe", key),
  );
  head = { seq: (head?.seq ?? 0) + 1, id };
  const path = join(machine.wireDir, "scribe_to_forge.jsonl");
  if (!existsSync(path)) throw new Error("join makes the log");
  appendFileSync(path, `${Buffer.from(line).toString("utf8")}\n`);
}

async function inbox(): Promise<string[]> {
  const { stdout } = await run("inbox", "--json", "--as", "forge");
  return stdout
    .split("\n")
    .filter(Boolean)
    .map((line) => (JSON.parse(line) as { subject: string }).subject);
}

it("the operator sees which line waits, and lets it pass as often as it takes", async () => {
  write("first", 2 * HOUR_MS);
  expect(await inbox()).toEqual([]);
  const status = await run("status", "--check", "--as", "forge");
  expect(status.code).toBe(1);
  expect(status.stdout).toMatch(
    /the clocks of scribe .*ahead of ours.*deaddrop peers reset scribe/,
  );
  for (const command of [["status"], ["peers"], ["peer", "show", "scribe"]]) {
    const { stdout } = await run(...command, "--as", "forge");
    expect(stdout).toMatch(/is dated \S+, ahead of ours/);
    expect(stdout).toContain("deaddrop peers reset scribe");
  }

  expect((await run("peer", "reset", "scribe", "--as", "forge", ...BY_FLAGS)).code).toBe(0);
  expect(await inbox()).toEqual(["first"]);
  // The clock is wrong still: the next line is not refused, it waits for the operator too.
  write("second", 2 * HOUR_MS);
  expect(await inbox()).toEqual(["first"]);
  const again = await run("status", "--check", "--as", "forge");
  expect(again.stdout).toMatch(/the clocks of scribe .*ahead of ours.*deaddrop peers reset scribe/);
  expect((await run("peer", "reset", "scribe", "--as", "forge", ...BY_FLAGS)).code).toBe(0);
  expect(await inbox()).toEqual(["first", "second"]);
  write("right", 0);
  expect(await inbox()).toEqual(["first", "second", "right"]);
  expect((await run("audit", "--as", "forge")).code).toBe(0);
});
