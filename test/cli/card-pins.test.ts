import {
  appendFileSync,
  chmodSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openClient } from "../../src/client/open-client.ts";
import { fingerprintOf } from "../../src/setup/contact/offered-key.ts";
import { composeLine, type ChainHead } from "../../src/wire/compose.ts";
import { encodeBase64, makeSigner } from "../../src/wire/signature.ts";
import { newMachine, type Machine } from "../setup/machine.ts";
import { cardOf, keyFrom } from "../support/foreign-card.ts";
import { jsonLines } from "../support/processes/live-wire.ts";
import { BY_FLAGS, commandsOn } from "./on-machine.ts";

interface Key {
  readonly key_id: string;
  readonly fingerprint: string;
  readonly active?: boolean;
}

interface TrustRow {
  readonly handle: string;
  readonly tier: string | null;
  readonly held: { readonly cause: string } | null;
  readonly keys: readonly Key[];
  readonly pending: readonly Key[];
}

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

const ours = (...parts: readonly string[]) =>
  join(machine.root, "config", "inter-agent-deaddrop", ...parts);
const inWire = () => join(machine.wireDir, "trust", "scribe.card.json");
const fingerprintFrom = (seed: number) => fingerprintOf(keyFrom("scribe", seed).key);
const AS_FORGE = ["--as", "forge"];
const by = (...flags: readonly string[]) => ["--as", "forge", ...BY_FLAGS, ...flags];
const pin = (source: string, ...flags: readonly string[]) =>
  run("trust", "pin", "scribe", source, ...by(...flags));

async function scribe(): Promise<TrustRow> {
  const rows = await json<TrustRow[]>("trust", "list", "--as", "forge");
  return rows.find(({ handle }) => handle === "scribe") as TrustRow;
}

function privateFile(name: string): string {
  const wire = readdirSync(ours()).find((each) => /^[0-9a-f]{16}$/.test(each)) ?? "";
  return ours(wire, "forge", name);
}

function storedPeer(): Record<string, unknown> {
  const store = JSON.parse(readFileSync(privateFile("trust.json"), "utf8")) as {
    agents: Record<string, Record<string, unknown>>;
  };
  return store.agents["scribe"] ?? {};
}

function file(name: string, bytes: Uint8Array | string): string {
  const path = join(machine.root, name);
  writeFileSync(path, bytes);
  return path;
}

/** Signed with scribe's key as it is now, or with another one, at the end of its log; returns its id. */
function say(subject: string, head: ChainHead | undefined, keyFile = "scribe.key"): string {
  const log = "scribe_to_forge";
  const config = readFileSync(join(machine.wireDir, "config.json"), "utf8");
  const { wire_id: wireId } = JSON.parse(config) as { wire_id: string };
  const { line, id } = composeLine(
    { to: ["forge"], type: "feedback", subject, body: "" },
    { timestamp: new Date().toISOString(), wireId, head },
    makeSigner("scribe", readFileSync(ours(keyFile))),
  );
  appendFileSync(join(machine.wireDir, `${log}.jsonl`), Buffer.concat([line, Buffer.from("\n")]));
  return id;
}

async function inboxOfForge(): Promise<string[]> {
  const { stdout } = await run("inbox", "--json", ...AS_FORGE);
  return (jsonLines(stdout) as { subject: string }[]).map(({ subject }) => subject);
}

async function holdsOfScribe(): Promise<string[]> {
  const shown = await json<{ holds: { cause: string }[] }>("peer", "show", "scribe", ...AS_FORGE);
  return shown.holds.map(({ cause }) => cause);
}

/** Both look at each other's cards until there are digits. */
async function digits(): Promise<string> {
  let six: string | null = null;
  for (let looks = 0; looks < 3; looks += 1) {
    await json("trust", "sas", "forge", "--as", "scribe");
    const look = ["trust", "sas", "scribe", "--as", "forge"];
    const seen = await json<{ digits: string | null; state: string }>(...look);
    // A key that has changed takes the operator's decision.
    if (seen.state === "changed") await json(...look, "--again", "--yes", "--reason", "a test");
    six = seen.digits;
  }
  return six ?? "";
}

describe("a card given as a file", () => {
  it("pins the key that it is signed with at UNTRUSTED, and is noted", async () => {
    const path = file("card.json", cardOf("scribe", 9, "https://scribe.example/card.json"));
    const { code, stdout } = await pin(path);
    const { keyId } = keyFrom("scribe", 9);
    expect([code, stdout]).toEqual([0, `scribe is UNTRUSTED with ${keyId}\n`]);
    expect(await scribe()).toMatchObject({ tier: "UNTRUSTED", keys: [{ key_id: keyId }] });
    expect(storedPeer()).toMatchObject({
      agent_card_url: "https://scribe.example/card.json",
      agent_card_fetched_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    });
  });

  it("raises nobody without the fingerprint", async () => {
    const path = file("card.json", cardOf("scribe", 9));
    const refused = await pin(path, "--tier", "VERIFIED");
    expect(refused.stderr).toContain("--yes needs --fingerprint here");
    expect((await scribe()).keys).toEqual([]);
    const raised = await pin(path, "--tier", "VERIFIED", "--fingerprint", fingerprintFrom(9));
    expect([raised.code, (await scribe()).tier]).toEqual([0, "VERIFIED"]);
  });

  it.each([
    ["somebody else's", () => cardOf("quill", 9), "it is quill's card, not scribe's"],
    [
      "signed by another key",
      () => {
        const [card, other] = [9, 8].map(
          (seed) => JSON.parse(Buffer.from(cardOf("scribe", seed)).toString()) as object,
        );
        return JSON.stringify({ ...card, ...other, verify_keys: Object(card)["verify_keys"] });
      },
      "not signed by any of its own current verify_keys",
    ],
    ["torn", () => cardOf("scribe", 9).subarray(0, 100), "it ends inside a string"],
    ["too large", () => Buffer.alloc(70_000, 32), "at most 65536"],
  ])("refuses one that is %s", async (_what, bytes, words) => {
    const { code, stderr } = await pin(file("card.json", bytes()));
    expect(code).toBeGreaterThan(0);
    expect(stderr).toContain(words);
    expect((await scribe()).keys).toEqual([]);
  });
});

describe("a card beside a pin", () => {
  beforeEach(async () => {
    expect((await run("trust", "verify", "scribe", await digits(), ...by())).code).toBe(0);
  });

  it("in the wire waits for the operator, and changes neither tier nor pins", async () => {
    const before = await scribe();
    expect([before.tier, before.pending]).toEqual(["VERIFIED", []]);
    writeFileSync(inWire(), cardOf("scribe", 9));
    await run("trust", "sas", "scribe", "--as", "forge");
    await run("card", "build", "--as", "forge");
    const { keyId } = keyFrom("scribe", 9);
    const pending = [expect.objectContaining({ key_id: keyId, fingerprint: fingerprintFrom(9) })];
    expect(await scribe()).toEqual({ ...before, pending });
    const { stdout } = await run("trust", "list", "--as", "forge");
    expect(stdout).toContain(`${keyId} (pending)  ${fingerprintFrom(9)}`);
    expect(stdout).toContain(`${keyId}: from its card; accept with: deaddrop trust sas scribe`);
  });

  it("is accepted by its fingerprint, and by nothing less", async () => {
    writeFileSync(inWire(), cardOf("scribe", 9));
    const before = await scribe();
    expect((await pin(inWire())).stderr).toContain("--yes needs --fingerprint here");
    expect((await pin(inWire(), "--fingerprint", fingerprintFrom(8))).stderr).toContain(
      "has another fingerprint",
    );
    expect(await scribe()).toEqual(before);
    expect((await pin(inWire(), "--fingerprint", fingerprintFrom(9))).code).toBe(0);
    const after = await scribe();
    expect([after.tier, after.pending]).toEqual(["VERIFIED", []]);
    expect(after.keys.map(({ active }) => active)).toEqual([true, true]);
  });

  it.each([
    ["that does not verify", () => Buffer.from("{}")],
    ["of somebody else", () => cardOf("quill", 9)],
  ])("%s waits for nobody", async (_what, bytes) => {
    writeFileSync(inWire(), bytes());
    expect((await scribe()).pending).toEqual([]);
  });
});

describe("after a key was revoked", () => {
  let old: Key;
  let first: string;
  beforeEach(async () => {
    await run("trust", "verify", "scribe", await digits(), ...by());
    await run("trust", "promote", "scribe", ...by());
    first = say("one", undefined);
    expect(await inboxOfForge()).toEqual(["one"]);
    say("another one", undefined);
    expect(await inboxOfForge()).toEqual(["one"]);
    [old] = (await scribe()).keys as [Key];
    expect((await run("trust", "revoke", old.key_id, ...by("--last", first))).code).toBe(0);
  });

  /** As the operator of scribe does it: the old key away, a new one, a card with it. */
  async function newKeyOfScribe(): Promise<Key> {
    for (const name of ["scribe.key", "scribe.pub.json"]) {
      renameSync(ours(name), ours(`${name}.stolen`));
    }
    const made = await json<Key>("keygen", "scribe");
    await json("card", "build", "--as", "scribe");
    return made;
  }

  it("the agent is UNTRUSTED and held, and the old key's card and digits bring nothing back", async () => {
    expect(await scribe()).toMatchObject({
      tier: "UNTRUSTED",
      held: { cause: "key_revoked" },
      pending: [],
    });
    const { code, stderr } = await run("trust", "verify", "scribe", await digits(), ...by());
    expect([code, stderr]).toEqual([1, expect.stringContaining("was deactivated and does not")]);
    expect((await pin(inWire(), "--fingerprint", old.fingerprint)).stderr).toContain(
      "was deactivated and does not come back",
    );
    expect(await scribe()).toMatchObject({ tier: "UNTRUSTED", held: { cause: "key_revoked" } });
  });

  it("the new key enters by card and digits at VERIFIED, and the hold ends", async () => {
    const made = await newKeyOfScribe();
    const waiting = await scribe();
    expect(waiting.held?.cause).toBe("key_revoked");
    expect(waiting.pending).toMatchObject([{ key_id: made.key_id }]);
    const { code } = await run("trust", "verify", "scribe", await digits(), ...by());
    const after = await scribe();
    expect([code, after.tier, after.held, after.pending]).toEqual([0, "VERIFIED", null, []]);
    expect(after.keys.map(({ key_id: id, active }) => [id, active])).toEqual([
      [old.key_id, false],
      [made.key_id, true],
    ]);
  });

  it.each([
    ["digits", async () => run("trust", "verify", "scribe", await digits(), ...by())],
    [
      "fingerprint",
      ({ fingerprint }: Key) => pin(inWire(), "--fingerprint", fingerprint, "--tier", "VERIFIED"),
    ],
  ])("the new key, compared by its %s, ends a fork of the old key as well", async (_, compare) => {
    expect(await inboxOfForge()).toEqual(["one"]);
    expect(await holdsOfScribe()).toEqual(["key_revoked"]);
    const made = await newKeyOfScribe();
    expect((await compare(made)).code).toBe(0);
    expect(await holdsOfScribe()).toEqual([]);
    say("by the thief", { seq: 2, id: "0".repeat(64) }, "scribe.key.stolen");
    say("with the new key", { seq: 1, id: first });
    expect(await inboxOfForge()).toEqual(["one", "with the new key"]);
  });

  it("wrong digits end no hold, and neither does a card that nobody compared", async () => {
    await newKeyOfScribe();
    const six = await digits();
    const wrong = six === "000000" ? "000001" : "000000";
    expect((await run("trust", "verify", "scribe", wrong, ...by())).code).toBe(1);
    expect((await pin(inWire())).code).toBe(1);
    expect(await scribe()).toMatchObject({ tier: "UNTRUSTED", held: { cause: "key_revoked" } });
  });
});

describe("bad input", () => {
  const SMALL_ORDER = encodeBase64(new Uint8Array(32));
  it.each([
    ["a key of small order", SMALL_ORDER],
    ["a point that is not canonical", encodeBase64(new Uint8Array(32).fill(0xff))],
    ["31 bytes", encodeBase64(new Uint8Array(31).fill(5))],
    ["the alphabet of URLs", encodeBase64(keyFrom("scribe", 9).key).replace(/.=$/, "_=")],
  ])("%s is pinned by nobody", async (_what, key) => {
    const { code, stderr } = await pin(key);
    expect([code, stderr]).toEqual([1, expect.stringContaining("give the 32 bytes in base64")]);
    const inFile = { agent: "scribe", key_id: "scribe:00000000", key, active: true };
    expect((await pin(file("scribe.pub.json", JSON.stringify(inFile)))).code).toBe(1);
    expect((await scribe()).keys).toEqual([]);
  });

  it("a tier that does not exist, and one that skips a step", async () => {
    expect((await pin(file("c.json", cardOf("scribe", 9)), "--tier", "ADMIN")).code).toBe(1);
    await pin(file("c.json", cardOf("scribe", 9)));
    for (const to of ["VERIFIED", "ATTESTED", "TRUSTED"]) {
      const { code, stderr } = await run("trust", "promote", "scribe", "--to", to, ...by());
      expect([code, stderr]).toEqual([1, expect.stringContaining("scribe is UNTRUSTED")]);
    }
    expect((await scribe()).tier).toBe("UNTRUSTED");
  });

  it("a store that went backwards is refused, and says what to do", async () => {
    const path = privateFile("trust.json");
    await pin(file("c.json", cardOf("scribe", 9)));
    const before = readFileSync(path);
    await run("trust", "block", "scribe", ...by());
    writeFileSync(path, before);
    const { code, stderr } = await run("trust", "list", "--as", "forge");
    expect([code, stderr]).toEqual([2, expect.stringMatching(/version \d+ was seen before/)]);
    expect(stderr).toContain("keys that may be revoked");
  });

  it.each([
    ["the store", () => privateFile("trust.json"), 0o620, "other users can write it"],
    ["the private key", () => ours("forge.key"), 0o640, "other users can read it"],
    ["the public key", () => ours("forge.pub.json"), 0o602, "other users can write it"],
  ])("%s that others can reach is refused, and the chmod named", async (_what, of, mode, words) => {
    await pin(file("c.json", cardOf("scribe", 9)));
    chmodSync(of(), mode);
    const { code, stderr } = await run("trust", "list", "--as", "forge");
    expect([code, stderr]).toEqual([2, expect.stringContaining(words)]);
    expect(stderr).toContain(`chmod 600 ${of()}`);
  });
});
