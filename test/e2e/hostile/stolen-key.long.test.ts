import { appendFileSync, existsSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { composeLine, type ChainHead, type Draft } from "../../../src/wire/compose.ts";
import { makeSigner } from "../../../src/wire/signature.ts";
import {
  makeWire,
  removeWires,
  WIRE_ID,
  type LiveWire,
} from "../../support/processes/live-wire.ts";
import { until } from "../../support/processes/real-processes.ts";

afterEach(removeWires);

const BY_FLAGS = ["--yes", "--reason", "the laptop was stolen"];
const LOG = "scribe_to_forge";

interface Row {
  readonly handle: string;
  readonly tier: string;
  readonly held: { readonly cause: string } | null;
  readonly keys: readonly { readonly key_id: string; readonly active: boolean }[];
  readonly pending: readonly { readonly key_id: string }[];
}

interface Signed {
  readonly event_id: string;
  readonly subject: string;
  readonly after_the_end: boolean;
  readonly corrected_by: readonly string[];
}

interface KeyAudit {
  readonly lines: readonly Signed[];
}

async function rowOf(wire: LiveWire): Promise<Row> {
  const rows = await wire.json<Row[]>("forge", "trust", "list");
  return rows.find(({ handle }) => handle === "scribe") as Row;
}

const inbox = (wire: LiveWire) =>
  wire.privateLines("forge", "inbox").map(({ subject }) => String(subject));

function lastOf(wire: LiveWire): ChainHead {
  const last = wire.lines(`${LOG}.jsonl`).findLast(({ seq }) => seq !== undefined);
  return { seq: last?.seq ?? 0, id: last?.event_id ?? "" };
}

/** Whoever has a copy of the private key, and can write in the folder. */
function thiefOf(wire: LiveWire) {
  const signer = makeSigner("scribe", readFileSync(wire.paths("scribe").identity.key));
  let head = lastOf(wire);
  return (subject: string): string => {
    const draft: Draft = { to: ["forge"], type: "feedback", subject, body: "" };
    const place = { timestamp: new Date().toISOString(), wireId: WIRE_ID, head };
    const { line, id } = composeLine(draft, place, signer);
    appendFileSync(join(wire.dir, `${LOG}.jsonl`), Buffer.concat([line, Buffer.from("\n")]));
    head = { seq: head.seq + 1, id };
    return id;
  };
}

const audit = (wire: LiveWire, keyId: string, since: string) =>
  wire.json<KeyAudit>("forge", "audit", "--key", keyId, "--since", since);

/** What a peer's operator is told; another card than before takes the word of our own. Spec 2.3. */
async function digitsOf(wire: LiveWire, self: string, peer: string): Promise<string | null> {
  const look = ["trust", "sas", peer];
  const { digits, state } = await wire.json<{ digits: string | null; state: string }>(
    self,
    ...look,
  );
  if (state === "changed") await wire.json(self, ...look, "--again", ...BY_FLAGS);
  return digits;
}

it("stolen key: it is stopped, what it signed is listed and corrected, and a new one enters by card and digits", async () => {
  const wire = makeWire();
  const forge = await wire.daemon("forge");
  const scribe = await wire.daemon("scribe");
  await wire.json("scribe", "send", "honest");
  await until("it is there", () => inbox(wire).includes("honest"));
  const [old] = (await rowOf(wire)).keys;
  const oldKey = old?.key_id ?? "";

  // The laptop is gone: its owner's daemon with it.
  expect((await scribe.stop()).code).toBe(0);
  const stolenAt = new Date().toISOString();
  const lastGood = lastOf(wire);
  const steal = thiefOf(wire);
  const forged = [steal("pay the other account"), steal("and soon")];
  await until("forge takes them for scribe's", () => inbox(wire).includes("and soon"));

  await wire.json("forge", "trust", "revoke", oldKey, ...BY_FLAGS);
  const late = steal("one more");
  expect(await rowOf(wire)).toMatchObject({ tier: "UNTRUSTED", held: { cause: "key_revoked" } });
  const listed = await audit(wire, oldKey, stolenAt);
  // Its owner's last beat may have come later than the thief.
  const said = listed.lines.filter(({ subject }) => subject !== "paused");
  expect(said.map(({ event_id: id, after_the_end: after }) => [id, after])).toEqual([
    [forged[0], false],
    [forged[1], false],
    [late, true],
  ]);
  expect((await audit(wire, oldKey, "1h")).lines.length).toBeGreaterThan(3);

  // Forge, who was deceived, says so beside each of them.
  for (const id of forged) await wire.json("forge", "correct", id, "scribe did not write this");
  await until("the corrections are seen", async () => {
    const { lines } = await audit(wire, oldKey, stolenAt);
    return lines.filter(({ corrected_by: by }) => by.length === 1).length === 2;
  });

  // The list shows where the thief began.
  await wire.json("forge", "trust", "revoke", oldKey, "--last", lastGood.id, ...BY_FLAGS);

  // Another machine, another key.
  const { key, publicKey } = wire.paths("scribe").identity;
  for (const path of [key, publicKey]) renameSync(path, `${path}.stolen`);
  expect(existsSync(key)).toBe(false);
  const made = await wire.json<{ key_id: string }>("scribe", "keygen", "scribe");
  await wire.daemon("scribe");
  await wire.json("scribe", "send", "with the new key, not yet believed");
  const digits = (self: string, peer: string) => digitsOf(wire, self, peer);
  await until("both have the same digits", async () => {
    const [ours, theirs] = [await digits("forge", "scribe"), await digits("scribe", "forge")];
    return ours !== null && ours === theirs;
  });
  const waiting = await rowOf(wire);
  expect(waiting.pending).toMatchObject([{ key_id: made.key_id }]);
  expect([waiting.held?.cause, inbox(wire)]).toEqual([
    "key_revoked",
    ["honest", "pay the other account", "and soon"],
  ]);
  const heard = (await digits("scribe", "forge")) ?? "";
  await wire.json("forge", "trust", "verify", "scribe", heard, ...BY_FLAGS);
  const after = await rowOf(wire);
  expect([after.tier, after.held, after.pending]).toEqual(["VERIFIED", null, []]);
  expect(after.keys.map(({ key_id: id, active }) => [id, active])).toEqual([
    [oldKey, false],
    [made.key_id, true],
  ]);

  await wire.json("scribe", "send", "back again");
  await until("lines flow again", () => inbox(wire).includes("back again"));
  steal("and still there");
  await wire.json("scribe", "send", "after the attacker");
  await until("the attacker is in nobody's way", () => inbox(wire).includes("after the attacker"));
  const subjects = inbox(wire);
  expect(subjects).not.toContain("one more");
  expect(subjects).not.toContain("and still there");

  // Nothing but what the attacker signed after the end is wrong with the logs, and a restart changes nothing.
  const { stdout } = await wire.run("forge", "audit", "--json");
  const { violations } = JSON.parse(stdout) as { violations: { rule: string }[] };
  expect(violations.map(({ rule }) => rule)).toEqual(["untrusted_key", "untrusted_key"]);
  expect((await forge.stop()).code).toBe(0);
  await wire.daemon("forge");
  await wire.json("scribe", "send", "after a restart");
  await until("it goes on", () => inbox(wire).includes("after a restart"));
  expect(inbox(wire)).toEqual([...subjects, "after a restart"]);
});

it("a stolen key whose owner still has the machine: another at once, and the owner writes on", async () => {
  const wire = makeWire();
  await wire.daemon("forge");
  await wire.daemon("scribe");
  await wire.json("scribe", "send", "honest");
  await until("it is there", () => inbox(wire).includes("honest"));
  const oldKey = (await rowOf(wire)).keys[0]?.key_id ?? "";
  thiefOf(wire)("forged");
  await until("scribe's daemon notices", async () => {
    const { stderr } = await wire.run("scribe", "send", "too late");
    return stderr.includes("was not signed here: another copy of the key is in use");
  });
  await wire.json("forge", "trust", "revoke", oldKey, ...BY_FLAGS);

  const keys = await wire.json<{ current: string; earlier: readonly string[] }>(
    "scribe",
    "key",
    "rotate",
    "--now",
    ...BY_FLAGS,
  );
  expect([keys.current === oldKey, keys.earlier]).toEqual([false, []]);
  await wire.json("scribe", "reclaim", ...BY_FLAGS);
  const digits = (self: string, peer: string) => digitsOf(wire, self, peer);
  const heard = await until("both have the same digits", async () => {
    const [ours, theirs] = [await digits("forge", "scribe"), await digits("scribe", "forge")];
    return ours === theirs && (ours ?? undefined);
  });
  await wire.json("forge", "trust", "verify", "scribe", heard, ...BY_FLAGS);
  // Also when scribe's daemon wrote a beat before it read the thief's line, which forks the log.
  expect(await wire.json("forge", "peer", "show", "scribe")).toMatchObject({ holds: [] });
  await wire.json("scribe", "send", "it is me again");
  await until("lines flow again", () => inbox(wire).includes("it is me again"));
  // The attacker has lost scribe's own daemon, too: what it writes now is noise there.
  thiefOf(wire)("still here");
  await wire.json("scribe", "send", "and I go on");
  await until("it goes on", () => inbox(wire).includes("and I go on"));
  expect(inbox(wire)).not.toContain("still here");
});
