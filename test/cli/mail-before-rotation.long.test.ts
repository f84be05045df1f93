import { appendFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openClient } from "../../src/client/open-client.ts";
import { buildCard } from "../../src/trust/cards/card-build.ts";
import { composeLine, type ChainHead } from "../../src/wire/compose.ts";
import { encodeBase64, keyId, makeSigner, publicKeyOf } from "../../src/wire/signature.ts";
import { newMachine, type Machine } from "../setup/machine.ts";
import { BY_FLAGS, commandsOn } from "./on-machine.ts";

// forge changes its key while scribe has not compared digits with it yet; mason has. Commands over
// real agents in this process, without daemons: each command reads all logs first.

let machine: Machine;
const { run, json } = commandsOn(() => machine, { openClient });
beforeEach(() => {
  machine = newMachine();
});
afterEach(() => {
  machine.remove();
});

async function ok(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await run(...args);
  expect([args, code, stderr]).toEqual([args, 0, stderr]);
  return stdout;
}

const sas = (self: string, peer: string, ...more: readonly string[]) =>
  json<{ digits: string | null; state: string }>("trust", "sas", peer, "--as", self, ...more);

/** Both look at each other's cards until there are digits; another card waits for the operator's word. */
async function digits(one: string, other: string): Promise<string> {
  for (let looks = 0; looks < 3; looks += 1) {
    for (const [self, peer] of [
      [one, other],
      [other, one],
    ] as const) {
      const { state } = await sas(self, peer);
      if (state === "changed") await sas(self, peer, "--again", ...BY_FLAGS);
    }
  }
  return (await sas(one, other)).digits ?? "";
}

/** A wire on which forge and mason know each other. */
async function wireOf(): Promise<void> {
  await json("init", "--me", "forge", "--peer", "scribe", "--peer", "mason");
  await json("join", "--me", "mason");
  await compare("forge", "mason");
}

async function compare(one: string, other: string): Promise<void> {
  const read = await digits(one, other);
  await ok("trust", "verify", other, read, "--as", one, ...BY_FLAGS);
  await ok("trust", "verify", one, read, "--as", other, ...BY_FLAGS);
}

/** Only scribe decides: what forge thinks of scribe does not matter here. */
async function verifyForge(): Promise<{ code: number; stderr: string }> {
  const read = await digits("scribe", "forge");
  return run("trust", "verify", "forge", read, "--as", "scribe", ...BY_FLAGS);
}

async function verified(): Promise<void> {
  const { code, stderr } = await verifyForge();
  expect([code, stderr]).toEqual([0, ""]);
}

/**
 * By the book: forge asks mason to accept its next key. No daemon beats here, so nothing is ratified;
 * the mark of an urgent change makes forge sign with that key all the same.
 */
async function rotate(): Promise<void> {
  const before = (await keys()).current;
  await ok("key", "rotate", "--as", "forge", ...BY_FLAGS);
  const base = join(machine.root, "config");
  const next = readdirSync(base, { recursive: true, encoding: "utf8" }).find((name) =>
    name.endsWith("next.key"),
  );
  writeFileSync(join(base, dirname(next ?? ""), "next.urgent"), "");
  await keys();
  expect((await keys()).current).not.toBe(before);
}

const keys = () => json<{ current: string; earlier: string[] }>("key", "show", "--as", "forge");
const tell = (subject: string) => ok("send", "scribe", subject, "x", "--as", "forge");

async function inbox(): Promise<string[]> {
  const { stdout } = await run("inbox", "--json", "--as", "scribe");
  return stdout
    .split("\n")
    .filter(Boolean)
    .map((line) => (JSON.parse(line) as { subject: string }).subject);
}

/** What forge has told scribe: not which of its keys is over. */
const mail = async () => (await inbox()).filter((subject) => !subject.startsWith("believe "));

const OUTBOX = "outbox/forge.jsonl";
const outbox = () => readFileSync(join(machine.wireDir, OUTBOX), "utf8");

interface Line {
  readonly wire: string;
  readonly seq: number;
  readonly event_id: string;
}

/** Lines that a holder of this key adds after that line of forge's log, or before all of it. */
function forged(secret: Uint8Array, after: string | undefined, drafts: readonly Draft[]): string {
  const { wire: wireId } = JSON.parse(outbox().split("\n")[0] ?? "") as Line;
  const last = after === undefined ? undefined : (JSON.parse(after) as Line);
  let head: ChainHead | undefined = last && { seq: last.seq, id: last.event_id };
  const written = drafts.map((draft, at) => {
    const timestamp = new Date(Date.now() + at).toISOString().replace("Z", "000Z");
    const fields = { ...draft, correlationId: timestamp };
    const made = composeLine(fields, { timestamp, wireId, head }, makeSigner("forge", secret));
    head = { seq: (head?.seq ?? 0) + 1, id: made.id };
    return `${Buffer.from(made.line).toString("utf8")}\n`;
  });
  return written.join("");
}

interface Draft {
  readonly to: string[];
  readonly type: string;
  readonly subject: string;
  readonly body: Record<string, string>;
  readonly ackRequired?: boolean;
}

const feedback = (subject: string): Draft => ({
  ...{ to: ["scribe"], type: "feedback", subject, body: { text: "x" } },
});

function keyFile(end: string): Uint8Array {
  const base = join(machine.root, "config");
  const names = readdirSync(base, { recursive: true, encoding: "utf8" });
  const name = names.find((each) => each.includes("forge") && each.endsWith(end));
  return readFileSync(join(base, name ?? ""));
}

describe("mail before a key is changed, and the comparison of the new one", () => {
  it("is delivered once, in order, with what the new key has signed", async () => {
    await wireOf();
    await ok("join", machine.wireDir, "--me", "scribe");
    await tell("of the old key");
    expect(await inbox()).toEqual([]);
    await rotate();
    await tell("of the new key");
    expect(await inbox()).toEqual([]);
    const { stdout: waits } = await run("status", "--check", "--as", "scribe");
    expect(waits).toMatch(
      /mail of forge waits until digits were compared.*deaddrop trust sas forge/s,
    );

    await verified();
    expect(await mail()).toEqual(["of the old key", "of the new key"]);
    await tell("after it");
    const all = ["of the old key", "of the new key", "after it"];
    expect(await mail()).toEqual(all);
    expect(await ok("peers", "--as", "scribe")).not.toContain("did not sign");
    expect((await run("audit", "--as", "scribe")).code).toBe(0);
    expect(await ok("sent", "--as", "forge")).not.toContain("refused");

    // Who has the old key now can add nothing.
    const stolen = forged(keyFile(".old.key"), outbox().trimEnd().split("\n").at(-1), [
      feedback("of a thief"),
    ]);
    appendFileSync(join(machine.wireDir, OUTBOX), stolen);
    expect(await mail()).toEqual(all);
  });

  it("is delivered to a member that has never seen the old key in use", async () => {
    await wireOf();
    await tell("of the old key");
    await rotate();
    await rotate();
    await tell("of the third key");
    await ok("join", machine.wireDir, "--me", "scribe");
    expect(await inbox()).toEqual([]);
    await verified();
    expect(await mail()).toEqual(["of the old key", "of the third key"]);
    expect(await ok("peers", "--as", "scribe")).not.toContain("key that is not");
    expect((await run("audit", "--as", "scribe")).code).toBe(0);
  });

  it("is delivered up to the place that the owner of a stolen key names", async () => {
    await wireOf();
    await ok("join", machine.wireDir, "--me", "scribe");
    await tell("of the owner");
    const last = outbox().trimEnd().split("\n").at(-1);
    const stolen = forged(keyFile("forge.key"), last, [feedback("of a thief")]);
    await ok("key", "rotate", "--now", "--as", "forge", ...BY_FLAGS);
    await tell("of the new key");
    appendFileSync(join(machine.wireDir, OUTBOX), stolen);
    expect(await inbox()).toEqual([]);
    await verified();
    expect(await mail()).toEqual(["of the owner", "of the new key"]);
  });

  it("is never what somebody else has signed with a key that nobody compared", async () => {
    await wireOf();
    await tell("of the old key");
    const stranger = new Uint8Array(32).fill(7);
    const owner = publicKeyOf(keyFile("forge.key"));
    const announcement = {
      ...{ to: ["scribe"], type: "proposal", subject: "my next key" },
      body: { action: "add_key", key_id: keyId("forge", owner), key: encodeBase64(owner) },
      ackRequired: true,
    };
    const before = forged(stranger, undefined, [feedback("of a stranger"), announcement]);
    await rotate();
    await tell("of the new key");

    // Its card is the first that scribe sees, so its key is pinned.
    const card = join(machine.wireDir, "trust", "forge.card.json");
    const honest = readFileSync(card);
    writeFileSync(card, cardOf(stranger));
    writeFileSync(join(machine.wireDir, OUTBOX), `${before}${outbox()}`);
    await ok("join", machine.wireDir, "--me", "scribe");
    expect(await inbox()).toEqual([]);
    writeFileSync(card, honest);
    writeFileSync(join(machine.wireDir, OUTBOX), outbox().slice(before.length));
    const read = await digits("scribe", "forge");
    writeFileSync(join(machine.wireDir, OUTBOX), `${before}${outbox()}`);
    await ok("trust", "verify", "forge", read, "--as", "scribe", ...BY_FLAGS);
    expect(await inbox()).toEqual([]);
    await ok("peer", "reset", "forge", "--as", "scribe", ...BY_FLAGS);
    expect(await mail()).toEqual(["of the old key", "of the new key"]);
  });
});

function cardOf(secret: Uint8Array): Uint8Array {
  const signer = makeSigner("forge", secret);
  const key = publicKeyOf(secret);
  return buildCard(
    {
      handle: "forge",
      keys: [{ keyId: signer.keyId, key, validFrom: undefined, validUntil: undefined }],
      tierOffered: "ATTESTED",
      tierRequired: "VERIFIED",
      policies: {
        max_message_body_kb: 64,
        max_clock_skew_seconds: 300,
        rate_limit_msg_per_min: 60,
      },
      issuedAt: new Date().toISOString(),
    },
    signer,
  );
}
