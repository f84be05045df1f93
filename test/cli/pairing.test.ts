import { chmodSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { newMachine, type Machine } from "../setup/machine.ts";
import { cardOf, keyFrom } from "../support/foreign-card.ts";
import { BY_FLAGS, commandsOn } from "./on-machine.ts";

interface Sas {
  readonly state: string;
  readonly digits: string | null;
  readonly restarted: boolean;
}

interface TrustRow {
  readonly handle: string;
  readonly tier: string | null;
  readonly blocked: boolean;
  readonly keys: readonly { readonly key_id: string; readonly active: boolean }[];
}

let machine: Machine;
const { run, json } = commandsOn(() => machine);
beforeEach(async () => {
  machine = newMachine();
  await json("init", "--me", "forge", "--peer", "scribe");
  await json("join", "--me", "scribe");
});
afterEach(() => {
  machine.remove();
});

const sas = (self: string, peer: string) => json<Sas>("trust", "sas", peer, "--as", self);
const verify = (digits: string, ...flags: readonly string[]) =>
  run("trust", "verify", "scribe", digits, "--as", "forge", ...BY_FLAGS, ...flags);

async function rowOf(self: string, handle: string): Promise<TrustRow | undefined> {
  const rows = await json<TrustRow[]>("trust", "list", "--as", self);
  return rows.find((row) => row.handle === handle);
}

/** Both look at each other's cards until there are digits. */
async function digits(): Promise<string> {
  for (let looks = 0; looks < 2; looks += 1) {
    await sas("forge", "scribe");
    await sas("scribe", "forge");
  }
  return (await sas("forge", "scribe")).digits ?? "";
}

const operatorJournal = (wire: string) =>
  join(machine.root, "state", "inter-agent-deaddrop", wire, "forge", "operator.jsonl");
const cardPath = (handle: string) => join(machine.wireDir, "trust", `${handle}.card.json`);

describe("trust sas", () => {
  it("tells who has to look next, until both sides have the same digits", async () => {
    const path = cardPath("scribe");
    const card = readFileSync(path);
    rmSync(path);
    expect(await sas("forge", "scribe")).toMatchObject({ state: "no_card", digits: null });
    writeFileSync(path, card);
    expect(await sas("scribe", "forge")).toMatchObject({ state: "waiting" });
    expect(await sas("forge", "scribe")).toMatchObject({ state: "waiting" });
    const theirs = await sas("scribe", "forge");
    const ours = await sas("forge", "scribe");
    expect(ours).toEqual({
      peer: "scribe",
      state: "digits",
      digits: theirs.digits,
      restarted: false,
      restarts: 0,
    });
    expect(ours.digits).toMatch(/^[0-9]{6}$/);
    const text = await run("trust", "sas", "scribe", "--as", "forge");
    // The command is not to be copied: what was heard is to be typed.
    expect(text.stdout).toContain("deaddrop trust verify scribe <digits>");
  });

  it("pins the key of a card at UNTRUSTED, and never another in its place", async () => {
    await digits();
    const before = await rowOf("forge", "scribe");
    expect([before?.tier, before?.keys.length]).toEqual(["UNTRUSTED", 1]);
    writeFileSync(cardPath("scribe"), cardOf("scribe", 9));
    await sas("forge", "scribe");
    const pending = [expect.objectContaining({ key_id: keyFrom("scribe", 9).keyId })];
    expect(await rowOf("forge", "scribe")).toEqual({ ...before, pending });
  });

  it("says that a peer has begun again, and gives other digits on the operator's decision alone", async () => {
    const first = await digits();
    const base = join(machine.root, "config", "inter-agent-deaddrop");
    const wire = readdirSync(base).find((each) => /^[0-9a-f]{16}$/.test(each)) ?? "";
    rmSync(join(base, wire, "scribe", "pairing.json"));
    await sas("scribe", "forge");
    const changed = { state: "changed", restarted: true, restarts: 1, digits: null };
    expect(await sas("forge", "scribe")).toMatchObject(changed);
    expect(await digits()).toBe("");
    expect((await verify(first)).stderr).toContain("card has changed: the digits are void");
    const text = await run("trust", "sas", "scribe", "--as", "forge");
    expect(text.stdout).toContain("scribe's card has changed once");
    expect(text.stdout).toContain("deaddrop trust sas scribe --again");
    // An agent's shell is not an operator, and its word draws no nonce.
    const card = readFileSync(cardPath("forge"));
    const again = (...flags: readonly string[]) =>
      run("trust", "sas", "scribe", "--again", "--as", "forge", ...flags);
    expect((await again()).stderr).toContain("is the operator's to decide");
    expect(readFileSync(cardPath("forge"))).toEqual(card);
    expect((await again(...BY_FLAGS)).stdout).toContain("has yet to look at your card");
    const second = await digits();
    expect(second).toMatch(/^[0-9]{6}$/);
    expect(second).not.toBe(first);
    expect((await again(...BY_FLAGS)).stderr).toContain("nothing of scribe waits to begin again");
    const journal = readFileSync(operatorJournal(wire), "utf8");
    expect(journal).toContain("trust sas --again");
    expect((await verify(second)).stdout).toBe("scribe is VERIFIED\n");
  });

  it.each([
    ["a card of somebody else", () => cardOf("quill", 3), "it is quill's, not scribe's"],
    ["no card", () => Buffer.from("{"), "no JSON object"],
    ["a file far too large", () => Buffer.alloc(100_000, 32), "at most"],
  ])("refuses %s in its place", async (_what, bytes, words) => {
    writeFileSync(cardPath("scribe"), bytes());
    const looked = await run("trust", "sas", "scribe", "--as", "forge");
    expect([looked.code, looked.stdout]).toEqual([1, expect.stringContaining(words)]);
    const refused = await verify("123456");
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("no digits")]);
    expect((await rowOf("forge", "scribe"))?.keys).toEqual([]);
  });

  it("refuses its private file when others can read it, and when it is damaged", async () => {
    await digits();
    const base = join(machine.root, "config", "inter-agent-deaddrop");
    const wire = readdirSync(base).find((each) => /^[0-9a-f]{16}$/.test(each)) ?? "";
    const file = join(base, wire, "forge", "pairing.json");
    chmodSync(file, 0o644);
    expect((await run("trust", "sas", "scribe", "--as", "forge")).stderr).toContain("chmod 600");
    chmodSync(file, 0o600);
    writeFileSync(file, readFileSync(file, "utf8").replace('"nonce"', '"once"'));
    expect((await run("trust", "sas", "scribe", "--as", "forge")).stderr).toContain(
      "lacks its nonce",
    );
  });
});

describe("trust verify", () => {
  it("makes a peer VERIFIED whose digits are the same, spaces or not", async () => {
    const six = await digits();
    const { code, stdout } = await verify(`${six.slice(0, 3)} ${six.slice(3)}`);
    expect([code, stdout]).toEqual([0, "scribe is VERIFIED\n"]);
    expect((await rowOf("forge", "scribe"))?.tier).toBe("VERIFIED");
    expect((await rowOf("scribe", "forge"))?.tier).toBe("UNTRUSTED");
  });

  it("stops the key of whoever had put a card there first", async () => {
    writeFileSync(cardPath("scribe"), cardOf("scribe", 9));
    await sas("forge", "scribe");
    const [squatter] = (await rowOf("forge", "scribe"))?.keys ?? [];
    await verify(await digits());
    const row = await rowOf("forge", "scribe");
    expect(row?.tier).toBe("VERIFIED");
    expect(row?.keys.map(({ key_id: id, active }) => [id === squatter?.key_id, active])).toEqual([
      [true, false],
      [false, true],
    ]);
  });

  it("leaves the tries to the operator: an agent's shell uses up none", async () => {
    await digits();
    for (let tries = 0; tries < 4; tries += 1) {
      const { stderr } = await run("trust", "verify", "scribe", "000000", "--as", "forge");
      expect(stderr).toContain("is the operator's to decide");
    }
    expect((await rowOf("forge", "scribe"))?.blocked).toBe(false);
  });

  it("blocks a peer after three wrong tries, until the operator unblocks it", async () => {
    const six = await digits();
    const wrong = six === "000000" ? "000001" : "000000";
    for (const left of [2, 1]) {
      const { code, stderr } = await verify(wrong);
      expect([code, stderr]).toEqual([1, expect.stringContaining(`tries left: ${left}`)]);
    }
    expect((await verify(wrong)).stderr).toContain("scribe is blocked: wrong digits 3 times");
    expect((await verify(six)).stderr).toContain("scribe is blocked");
    expect(await rowOf("forge", "scribe")).toMatchObject({ blocked: true, tier: "UNTRUSTED" });
    await json("trust", "unblock", "scribe", "--as", "forge", ...BY_FLAGS);
    expect((await verify(six)).code).toBe(0);
    expect(await rowOf("forge", "scribe")).toMatchObject({ blocked: false, tier: "VERIFIED" });
  });

  it("takes no digits of a peer that commits itself to nothing, unless told to", async () => {
    writeFileSync(cardPath("scribe"), cardOf("scribe", 9));
    const looked = await sas("forge", "scribe");
    expect(looked.state).toBe("static");
    const refused = await verify(looked.digits ?? "");
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining("prove too little"),
    ]);
    const wrong = looked.digits === "000000" ? "000001" : "000000";
    expect((await verify(wrong, "--accept-static-sas")).stderr).toContain("tries left: 2");
    expect((await verify(looked.digits ?? "", "--accept-static-sas")).code).toBe(0);
    expect((await rowOf("forge", "scribe"))?.tier).toBe("VERIFIED");
  });

  it.each([
    ["12345", "not six digits"],
    ["abcdef", "not six digits"],
  ])("refuses %j", async (typed, words) => {
    await digits();
    expect((await verify(typed)).stderr).toContain(words);
  });

  it("is the operator's: not an agent's shell's", async () => {
    const six = await digits();
    const { code, stderr } = await run("trust", "verify", "scribe", six, "--as", "forge");
    expect([code, stderr]).toEqual([1, expect.stringContaining("is the operator's to decide")]);
    expect((await rowOf("forge", "scribe"))?.tier).toBe("UNTRUSTED");
  });
});

describe("trust promote, demote, block and unblock", () => {
  const change = (...args: readonly string[]) =>
    run("trust", ...args, "--as", "forge", ...BY_FLAGS);

  it("go step by step up, and as far down as wanted", async () => {
    const unproved = await change("promote", "scribe");
    expect(unproved.stderr).toContain("compare the digits first: deaddrop trust sas scribe");
    await verify(await digits());
    const skipped = await change("promote", "scribe", "--to", "TRUSTED");
    expect(skipped.stderr).toContain("scribe is VERIFIED; it becomes ATTESTED before TRUSTED");
    expect((await change("promote", "scribe")).stdout).toBe("scribe is ATTESTED\n");
    expect((await change("promote", "scribe")).stdout).toBe("scribe is TRUSTED\n");
    expect((await change("promote", "scribe")).stderr).toContain("there is none above it");
    expect((await change("demote", "scribe")).stdout).toBe("scribe is ATTESTED\n");
    const up = await change("demote", "scribe", "--to", "TRUSTED");
    expect(up.stderr).toContain("TRUSTED is not below it");
    const down = await change("demote", "scribe", "--to", "UNTRUSTED");
    expect(down.stdout).toBe("scribe is UNTRUSTED\n");
    expect((await change("demote", "scribe")).stderr).toContain("there is none below it");
  });

  it("block a peer and keep its tier for when it is unblocked", async () => {
    await verify(await digits());
    expect((await change("block", "scribe")).stdout).toBe("scribe is blocked\n");
    expect((await change("unblock", "scribe")).stdout).toBe("scribe is VERIFIED\n");
  });

  it("know no stranger, no tier that does not exist, and not ourselves", async () => {
    expect((await change("block", "vane")).stderr).toContain('no peer "vane" here');
    expect((await change("promote", "forge")).stderr).toContain("your own key needs no pin");
    expect((await change("promote", "scribe", "--to", "GOD")).code).toBe(1);
  });
});

describe("card build", () => {
  it("writes our card once, and again only when it says something else", async () => {
    const { path } = await json<{ path: string }>("card", "build", "--as", "forge");
    const first = readFileSync(path, "utf8");
    expect((await run("card", "verify", path)).code).toBe(0);
    await json("card", "build", "--as", "forge");
    expect(readFileSync(path, "utf8")).toBe(first);
    rmSync(path);
    await json("card", "build", "--as", "forge");
    expect((await run("card", "verify", path)).code).toBe(0);
    await json("card", "build", "--as", "scribe");
    await json("card", "build", "--as", "forge");
    expect(readFileSync(path, "utf8")).not.toBe(first);
  });
});
