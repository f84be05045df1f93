import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { waitsView } from "../../../src/agent/answers/waits.ts";
import { evidenceDuty } from "../../../src/agent/duties/evidence.ts";
import { KeyDuty } from "../../../src/agent/duties/keys.ts";
import { OperatorDecisions } from "../../../src/agent/lines/operator-decisions.ts";
import type { HeldLine } from "../../../src/store/store.ts";
import { heldAfter } from "../../../src/trust/store.ts";
import { composeLine } from "../../../src/wire/compose.ts";
import { placeJson } from "../../../src/wire/places.ts";
import { makeSigner } from "../../../src/wire/signature.ts";
import { secretOf, WIRE_ID } from "../../support/core-wire.ts";
import { TrustWire } from "../../support/trust-wire.ts";

// What the operator alone decides: which branch of a peer is followed, and where our own chain goes on. Spec 1.6, 2.4.

const root = mkdtempSync(join(tmpdir(), "deaddrop-decisions-"));
afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});
const CARRIER = "forge_to_scribe.jsonl";

function makeWire(): TrustWire {
  return new TrustWire(root, ["forge", "scribe"], {
    duties: ({ ground, trust, paths }) => [
      new KeyDuty(ground, trust, 24),
      evidenceDuty(ground, paths),
    ],
  });
}

function decisions(wire: TrustWire, name: string): OperatorDecisions {
  return new OperatorDecisions(wire.agent(name).core, wire.trust(name), wire.paths(name).evidence);
}

/** Another program signs with the key of an agent, and writes into its carrier. */
function signElsewhere(
  wire: TrustWire,
  subject: string,
  after: Pick<HeldLine, "seq" | "id"> | undefined,
): { seq: number; id: string } {
  const head = after === undefined ? undefined : { seq: after.seq ?? 0, id: after.id };
  const at = new Date(wire.nowMs).toISOString().replace("Z", "000Z");
  const draft = { to: ["scribe"], type: "ship", subject, body: "" };
  const signer = makeSigner("forge", secretOf("forge"));
  const { line, id } = composeLine(draft, { timestamp: at, wireId: WIRE_ID, head }, signer);
  const path = join(wire.dir, CARRIER);
  const before = existsSync(path) ? readFileSync(path, "utf8") : "";
  writeFileSync(path, `${before}${Buffer.from(line).toString()}\n`);
  return { seq: (head?.seq ?? 0) + 1, id };
}

describe("a peer that has forked its chain", () => {
  async function makeFork() {
    const wire = makeWire();
    await wire.settle();
    const one = wire.agent("forge").say("one");
    await wire.settle();
    const first = signElsewhere(wire, "first", one);
    await wire.settle();
    const second = signElsewhere(wire, "second", one);
    signElsewhere(wire, "behind the second", second);
    await wire.settle();
    return { wire, first, second };
  }

  test("is held with its evidence, until the operator follows the branch that was taken in first", async () => {
    const { wire, first, second } = await makeFork();
    const scribe = wire.agent("scribe");
    expect(waitsView(scribe.core, "forge")).toMatchObject([
      { code: "log_forked", place: ["forge", 2, second.id] },
    ]);
    const view = decisions(wire, "scribe").resetPeer("forge");
    expect(view).toMatchObject({
      peer: "forge",
      holds: [
        {
          cause: "log_forked",
          place: ["forge", 2, first.id],
          places: [
            ["forge", 2, first.id],
            ["forge", 2, second.id],
          ],
        },
      ],
    });
    const [path = ""] = view.holds[0]?.evidence ?? [];
    const kept = readFileSync(path, "utf8").trimEnd().split("\n");
    const ids = kept.slice(1).map((each) => (JSON.parse(each) as { id: string }).id);
    expect(ids).toEqual([first.id, second.id]);
    await wire.settle();
    expect(scribe.mail).toEqual(["one", "first"]);
    expect(scribe.core.store.lineAt({ author: "forge", ...second })?.verdict).toBe("log_forked");
    expect(waitsView(scribe.core, "forge")).toEqual([]);
    expect(decisions(wire, "scribe").resetPeer("forge").holds).toEqual([]);
    const refused = readFileSync(wire.paths("scribe").quarantine, "utf8");
    expect(refused).toContain("behind the second");
    wire.close();
  });

  test("is followed along the line that the operator names; one that is not held is refused", async () => {
    const { wire, second } = await makeFork();
    const operator = decisions(wire, "scribe");
    expect(() => operator.resetPeer("forge", { seq: 2, id: "0".repeat(64) })).toThrow(
      "cannot be followed",
    );
    expect(() => operator.resetPeer("nobody")).toThrow("no peer");
    operator.resetPeer("forge", second);
    await wire.settle();
    const { mail } = wire.agent("scribe");
    // What was delivered before the fork stays.
    expect(mail).toEqual(["one", "first", "second", "behind the second"]);
    wire.agent("scribe").loseStore();
    await wire.settle();
    expect(wire.agent("scribe").core.store.chains.whole("forge")).toMatchObject({ seq: 3 });
    wire.close();
  });
});

test("what is dated ahead waits, until the operator takes it", async () => {
  const wire = makeWire();
  await wire.settle();
  wire.nowMs += 20 * 60_000;
  const ahead = signElsewhere(wire, "ahead", undefined);
  wire.nowMs -= 20 * 60_000;
  await wire.settle();
  const scribe = wire.agent("scribe");
  expect(scribe.mail).toEqual([]);
  expect(waitsView(scribe.core, "forge")).toMatchObject([
    { code: "clock_skew", place: ["forge", 1, ahead.id] },
  ]);
  expect(decisions(wire, "scribe").resetPeer("forge").holds).toMatchObject([
    { cause: "clock_skew", place: ["forge", 1, ahead.id] },
  ]);
  await wire.settle();
  expect(scribe.mail).toEqual(["ahead"]);
  wire.close();
});

test("a key that the operator revokes holds its agent behind the last good line", async () => {
  const wire = makeWire();
  await wire.settle();
  const good = wire.agent("forge").say("good");
  await wire.settle();
  const { keyId } = wire.trust("forge").identity.signer;
  decisions(wire, "scribe").revokeKey(keyId);
  wire.agent("forge").say("later");
  await wire.settle();
  const { core, mail } = wire.agent("scribe");
  expect(mail).toEqual(["good"]);
  const believed = core.place.believed("forge");
  expect(believed.tier).toBe("UNTRUSTED");
  expect(heldAfter(believed)).toEqual({ seq: good.seq, id: good.id });
  expect(decisions(wire, "scribe").resetPeer("forge")).toMatchObject({
    holds: [{ cause: "key_revoked", place: null }],
    can_speak: false,
  });
  expect(wire.trust("scribe").store.peers.get("forge")?.held).toBeDefined();
  wire.close();
});

describe("our own key", () => {
  test("without a mark signs nothing, until the operator says that it is used here alone", async () => {
    const wire = makeWire();
    await wire.settle();
    wire.agent("forge").say("one");
    await wire.settle();
    const forge = wire.agent("forge");
    rmSync(forge.markPath);
    forge.loseStore();
    await wire.settle();
    expect(forge.core.readiness.is).toBe("unmarked");
    const answer = await decisions(wire, "forge").reclaim();
    expect(answer).toMatchObject({ goes_on_after: ["forge", 1, expect.any(String)], given_up: [] });
    expect(forge.core.readiness.is).toBe("ready");
    forge.say("two");
    await wire.settle();
    expect(wire.agent("scribe").mail).toEqual(["one", "two"]);
    expect(await decisions(wire, "forge").reclaim()).toMatchObject({ goes_on_after: null });
    wire.close();
  });

  test("in use elsewhere: its lines are adopted, and those of ours that nobody has seen are given up", async () => {
    const wire = makeWire();
    await wire.settle();
    const one = wire.agent("forge").say("one");
    await wire.settle();
    const forge = wire.agent("forge");
    // Ours is committed, and not published before the other copy has written.
    const sent = forge.core.send([{ to: ["scribe"], type: "ship", subject: "ours", body: "" }]);
    const theirs = signElsewhere(wire, "theirs", one);
    const last = signElsewhere(wire, "theirs too", theirs);
    await wire.settle();
    expect(forge.core.readiness.is).toBe("in use");
    const answer = await decisions(wire, "forge").reclaim();
    const lost = sent.is === "sent" ? sent.lines.map(placeJson) : [];
    expect(answer).toMatchObject({ goes_on_after: ["forge", 3, last.id], given_up: lost });
    expect(readFileSync(answer.kept_in ?? "", "utf8")).toContain("ours");
    expect(forge.core.readiness.is).toBe("ready");
    forge.restart();
    await wire.settle();
    expect(forge.say("next").prev).toBe(last.id);
    wire.close();
  });

  test("behind its mark: what is missing is given up, or comes from a file", async () => {
    const wire = makeWire();
    await wire.settle();
    const forge = wire.agent("forge");
    const one = forge.say("one");
    const two = forge.say("two");
    await wire.settle();
    const path = join(wire.dir, CARRIER);
    const lines = readFileSync(path, "utf8").trimEnd().split("\n");
    const copy = join(wire.root, "copy.jsonl");
    writeFileSync(copy, `${lines.join("\n")}\n`);
    const kept = lines.filter((line) => !line.includes('"two"'));
    writeFileSync(path, `${kept.join("\n")}\n`);
    forge.loseStore();
    // Others, who hold the lines, do not run now.
    await forge.core.round();
    expect(forge.core.readiness).toMatchObject({ is: "behind", mark: forge.mark?.seq });
    const missing = join(wire.root, "missing.jsonl");
    await expect(decisions(wire, "forge").reclaim([missing])).rejects.toThrow("no such file");
    await expect(decisions(wire, "forge").reclaim([path])).rejects.toThrow("are missing");
    expect(forge.core.readiness.is).toBe("behind");
    const answer = await decisions(wire, "forge").reclaim([copy]);
    expect(answer.goes_on_after).toEqual(placeJson({ ...two, author: "forge" }));
    forge.loseStore();
    writeFileSync(path, `${kept.join("\n")}\n`);
    await forge.core.round();
    const again = await decisions(wire, "forge").reclaim();
    expect(again.goes_on_after).toEqual(placeJson({ ...one, author: "forge" }));
    expect(forge.mark).toEqual({ seq: one.seq, id: one.id });
    wire.close();
  });
});

test("a fork is kept as evidence once, at most sixteen of an author", async () => {
  const wire = makeWire();
  await wire.settle();
  let before: { seq: number; id: string } | undefined;
  for (let at = 0; at < 18; at += 1) {
    const one = signElsewhere(wire, `one ${at}`, before);
    signElsewhere(wire, `other ${at}`, before);
    await wire.settle(1);
    decisions(wire, "scribe").resetPeer("forge", one);
    wire.agent("scribe").restart();
    await wire.settle(1);
    before = one;
  }
  expect(readdirSync(wire.paths("scribe").evidence)).toHaveLength(16);
  wire.close();
});
