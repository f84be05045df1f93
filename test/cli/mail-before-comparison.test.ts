import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openClient } from "../../src/client/open-client.ts";
import { newMachine, type Machine } from "../setup/machine.ts";
import { BY_FLAGS, commandsOn } from "./on-machine.ts";

// Commands over real agents in this process, without daemons: each command reads all logs first.

let machine: Machine;
const { run, json } = commandsOn(() => machine, { openClient });
beforeEach(async () => {
  machine = newMachine();
  await json("init", "--me", "forge", "--peer", "scribe");
  await json("join", "--me", "scribe");
});
afterEach(() => {
  machine.remove();
});

/** Both look at each other's cards until there are digits. */
async function digits(): Promise<string> {
  const sas = (self: string, peer: string) =>
    json<{ digits: string | null }>("trust", "sas", peer, "--as", self);
  for (let looks = 0; looks < 2; looks += 1) {
    await sas("forge", "scribe");
    await sas("scribe", "forge");
  }
  return (await sas("forge", "scribe")).digits ?? "";
}

describe("mail before the digits are compared", () => {
  interface Mail {
    readonly subject: string;
  }
  const sent = (self: string) => run("sent", "--as", self);
  const inboxOf = async (self: string) =>
    (await run("inbox", "--json", "--as", self)).stdout
      .split("\n")
      .filter(Boolean)
      .map((line) => (JSON.parse(line) as Mail).subject);
  const status = (self: string) => run("status", "--check", "--as", self);
  const privateFile = (self: string, name: string) => {
    const base = join(machine.root, "state", "inter-agent-deaddrop");
    const wire = readdirSync(base).find((each) => /^[0-9a-f]{16}$/.test(each)) ?? "";
    const path = join(base, wire, self, name);
    return existsSync(path) ? readFileSync(path, "utf8") : "";
  };

  it("waits, named to both sides, and is delivered once when its sender is verified", async () => {
    const said = await run("send", "hello", "before trust", "--as", "scribe");
    expect(said.stdout).toContain("forge gets it when the digits are compared");
    expect(said.stdout).toContain("deaddrop trust sas forge");
    await json("send", "a second", "x", "--as", "scribe");
    await json("send", "hello back", "x", "--as", "forge");

    expect(await inboxOf("forge")).toEqual([]);
    expect((await sent("scribe")).stdout).toContain(
      "published: waits for the comparison of digits",
    );

    const read = await digits();
    const wrong = await status("forge");
    expect([wrong.code, wrong.stdout + wrong.stderr]).toEqual([
      1,
      expect.stringMatching(
        /mail of scribe waits until digits were compared.*deaddrop trust sas scribe/s,
      ),
    ]);
    expect((await run("trust", "verify", "scribe", read, "--as", "forge", ...BY_FLAGS)).code).toBe(
      0,
    );
    expect(await inboxOf("forge")).toEqual(["hello", "a second"]);
    expect(await inboxOf("forge")).toEqual(["hello", "a second"]);
    // Each side decides for itself.
    expect(await inboxOf("scribe")).toEqual([]);
    await run("trust", "verify", "forge", read, "--as", "scribe", ...BY_FLAGS);
    expect(await inboxOf("scribe")).toEqual(["hello back"]);
    expect((await sent("forge")).stdout).not.toContain("waits for the comparison");
    expect((await run("audit", "--as", "forge")).code).toBe(0);
  });

  it("of one whose key nobody has pinned stands in the quarantine alone", async () => {
    for (let count = 0; count < 3; count += 1) {
      await json("send", `more ${count}`, "x".repeat(10_000), "--as", "scribe");
      expect(await inboxOf("forge")).toEqual([]);
    }
    const refused = privateFile("forge", "quarantine.jsonl").split("\n").filter(Boolean);
    const reasons = refused.map((line) => (JSON.parse(line) as { reason: string }).reason);
    expect(new Set(reasons)).toEqual(new Set(["untrusted_key"]));
    expect(refused).toHaveLength(3);
  });

  it("of one who is blocked is refused", async () => {
    await digits();
    await json("send", "hello", "x", "--as", "scribe");
    expect(await inboxOf("forge")).toEqual([]);
    await run("trust", "block", "scribe", "--as", "forge", ...BY_FLAGS);
    expect(await inboxOf("forge")).toEqual([]);
    expect(privateFile("forge", "quarantine.jsonl")).toContain("tier_refused");
  });
});
