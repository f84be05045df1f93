import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Keys } from "../../src/audit/plan.ts";
import { acceptKey, revokeKey } from "../../src/trust/pins.ts";
import type { KeyEnd, PinnedKey } from "../../src/trust/store.ts";
import { composeLine } from "../../src/wire/compose.ts";
import { makeSigner, publicKeyOf } from "../../src/wire/signature.ts";
import { note, signV31 } from "../trust/people.ts";
import { pinned, PINNED, signerOf, WIRE_ID, WireOnDisk } from "./wire-on-disk.ts";

let wire: WireOnDisk;
beforeEach(() => {
  wire = new WireOnDisk();
});
afterEach(() => {
  wire.remove();
});

const LOG = "scribe_to_forge";
const stolen = pinned("scribe").keys[0] as PinnedKey;

/** The pins after scribe's key was revoked, when this was the last line of its log. */
function revokedAt(end: KeyEnd): { keys: Keys; key: PinnedKey } {
  const revoked = revokeKey(PINNED.store, stolen.keyId, 0, new Map([[LOG, end]]));
  if (!revoked.ok) throw new Error(revoked.detail);
  const key = revoked.store.peers.get("scribe")?.keys[0] as PinnedKey;
  return { keys: { from: "pinned", store: revoked.store }, key };
}

const subjects = (lines: readonly { subject: string }[]) => lines.map(({ subject }) => subject);

describe("what a key has signed", () => {
  it("is listed line by line, and nobody else's", () => {
    wire.say("forge", { subject: "mine" });
    const id = wire.say("scribe", { subject: "one", type: "ship" });
    wire.say("scribe", { subject: "two" });
    expect(wire.keyHistory(stolen)).toEqual([
      {
        ...{ log: LOG, line: 1, seq: 1, event_id: id, type: "ship", subject: "one" },
        ...{ at: "2026-06-01T10:00:02.000Z", received: false },
        ...{ after_the_end: false, corrected_by: [] },
      },
      expect.objectContaining({ line: 2, seq: 2, subject: "two" }),
    ]);
  });

  it("is listed from a time on: our receipt where it was noted, else what the line says", () => {
    for (const subject of ["one", "two", "three"]) wire.say("scribe", { subject });
    const at = Date.UTC(2026, 6, 1);
    const entry = { k: "line", at, log: LOG, line: 2, start: 0, end: 1 };
    wire.write("journal.jsonl", `${JSON.stringify(entry)}\n`);
    const since = (sinceMs: number) =>
      wire.keyHistory(stolen, PINNED, wire.path("journal.jsonl"), sinceMs);
    const all = since(-Infinity);
    expect(all.map(({ at: when, received }) => [when.slice(0, 10), received])).toEqual([
      ["2026-06-01", false],
      ["2026-07-01", true],
      // It stands behind a line that we have received in July, whatever it says.
      ["2026-07-01", false],
    ]);
    expect(subjects(since(at))).toEqual(["two", "three"]);
    expect(since(at + 1)).toEqual([]);
  });

  it("goes on after the end, whatever time it states then", () => {
    wire.say("scribe", { subject: "before" });
    const id = wire.say("scribe", { subject: "the last" });
    const { keys, key } = revokedAt({ seq: 2, id });
    wire.say("scribe", { subject: "late" });
    const lines = wire.keyHistory(key, keys);
    expect(lines.map(({ subject, after_the_end: late }) => [subject, late])).toEqual([
      ["before", false],
      ["the last", false],
      ["late", true],
    ]);
    const farOff = Date.UTC(2030, 0);
    expect(subjects(wire.keyHistory(key, keys, undefined, farOff))).toEqual(["late"]);
  });

  const unchained = (subject: string) => {
    const said = note({ from: "scribe", to: ["forge"], subject });
    const line = signV31(said, { handle: "scribe", key: stolen.key, signer: signerOf("scribe") });
    wire.write(`${LOG}.jsonl`, `${JSON.stringify(line)}\n`);
  };

  it("of lines without a place in the chain is believed up to the last one noted, by an audit", async () => {
    for (const subject of ["one", "two", "three"]) unchained(subject);
    const [, two] = wire.keyHistory(stolen);
    const { keys } = revokedAt({ id: two?.event_id ?? "" });
    // All three are prepared before the first is judged.
    const { messages, violations } = await wire.audit(keys);
    expect([messages, violations.map(({ rule, line }) => [rule, line])]).toEqual([
      2,
      [["untrusted_key", 3]],
    ]);
  });

  it("after the end is told of lines without a place in the chain, too", () => {
    unchained("one");
    const [one] = wire.keyHistory(stolen);
    const { keys, key } = revokedAt({ id: one?.event_id ?? "" });
    unchained("two");
    const lines = wire.keyHistory(key, keys);
    expect(lines.map(({ seq, after_the_end: late }) => [seq, late])).toEqual([
      [null, false],
      [null, true],
    ]);
  });

  it("is found in logs that are not its agent's", () => {
    const { line, id } = wire.sign("scribe", { to: ["forge"], subject: "put elsewhere" });
    wire.write("forge_to_scribe.jsonl", `${line}\n`);
    expect(wire.keyHistory(stolen)).toMatchObject([{ log: "forge_to_scribe", event_id: id }]);
  });

  it("does not count what only claims to be signed with it", () => {
    wire.say("scribe", { subject: "pay 10" });
    const text = readFileSync(wire.path(`${LOG}.jsonl`), "utf8");
    wire.replace(`${LOG}.jsonl`, `${text.replace("pay 10", "pay 99")}not json\n\n`);
    expect(wire.keyHistory(stolen)).toEqual([]);
  });

  it("names the corrections of each line, but not those that the same key has signed", async () => {
    const forged = wire.say("scribe", { subject: "forged" });
    wire.say("scribe", { subject: "not corrected" });
    wire.say("scribe", { type: "correction", body: { corrects: forged } });
    const by = wire.say("forge", { type: "correction", body: { corrects: forged, text: "no" } });
    wire.say("forge", { type: "correction", body: "about nothing" });
    const corrected = wire.keyHistory(stolen).map(({ corrected_by: ids }) => ids);
    expect(corrected).toEqual([[by], [], []]);
  });
});

describe("the chain after a revoked key", () => {
  const secret = new Uint8Array(32).fill(7);
  /** Forge's pins once scribe's new key has been proved. */
  function proved(end: KeyEnd): Keys {
    const { keys } = revokedAt(end);
    const accepted = acceptKey(keys.store, "scribe", publicKeyOf(secret), "");
    if (!accepted.ok) throw new Error(accepted.detail);
    return { from: "pinned", store: accepted.store };
  }
  const write = (seq: number, prev: string | undefined, subject: string): string => {
    const head = prev === undefined ? undefined : { seq: seq - 1, id: prev };
    const draft = { to: ["forge"], type: "feedback" as const, subject, body: "" };
    const place = { timestamp: "2026-06-02T10:00:00Z", log: LOG, wireId: WIRE_ID, head };
    const { line, id } = composeLine(draft, place, makeSigner("scribe", secret));
    wire.write(`${LOG}.jsonl`, `${Buffer.from(line).toString("utf8")}\n`);
    return id;
  };

  it.each([
    ["where its owner had stood", 2],
    ["at its first line again", 1],
    ["behind the attacker's last line", 4],
  ])("begins %s, and is no violation", async (_what, seq) => {
    const ids = ["honest", "forged", "forged too"].map((subject) =>
      wire.say("scribe", { subject }),
    );
    const first = write(seq, ids[seq - 2], "new");
    write(seq + 1, first, "and on");
    const keys = proved({ seq: 3, id: ids[2] ?? "" });
    expect(await wire.audit(keys)).toMatchObject({ messages: 5, violations: [] });
    // Who has proved no key sees a line of a key that is not pinned.
    expect((await wire.audit()).violations.map(({ rule }) => rule)).toContain("untrusted_key");
  });

  it("begins once: what contradicts it then is a fork", async () => {
    const ids = ["honest", "forged"].map((subject) => wire.say("scribe", { subject }));
    const first = write(2, ids[0], "new");
    write(2, ids[0], "another");
    write(3, first, "and on");
    const { violations } = await wire.audit(proved({ seq: 2, id: ids[1] ?? "" }));
    expect(violations).toMatchObject([{ rule: "log_forked", line: 4 }]);
  });

  it("is the revoked key's to the end: a key that was only stopped lets no other fork", async () => {
    const ids = ["honest", "forged"].map((subject) => wire.say("scribe", { subject }));
    write(2, ids[0], "new");
    const { store } = proved({ seq: 2, id: ids[1] ?? "" });
    const peer = store.peers.get("scribe") ?? pinned("scribe");
    const [lost, ...others] = peer.keys;
    const keys = [{ ...(lost ?? stolen), revoked: false }, ...others];
    const peers = new Map(store.peers).set("scribe", { ...peer, keys });
    const { violations } = await wire.audit({ from: "pinned", store: { ...store, peers } });
    expect(violations).toMatchObject([{ rule: "log_forked", line: 3 }]);
  });
});
