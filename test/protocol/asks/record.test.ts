import { describe, expect, it } from "vitest";
import {
  decisionOf,
  judgeEntry,
  recordsAtMs,
  standingDecisions,
  type TouchedDomains,
  type UnsignedDecision,
} from "../../../src/protocol/asks/record.ts";
import { MINUTE_MS } from "../../../src/wire/durations.ts";
import { fromPlain, type JsonObject } from "../../../src/wire/json/json.ts";
import type { Place, PlaceJson } from "../../../src/wire/places.ts";
import { AskingAgent } from "../../support/asking-agents.ts";

const T = "t1";
const touched: TouchedDomains = () => ({ names: ["parser"], owners: { parser: "forge" } });
const placeOf = ([author, seq, id]: PlaceJson): Place => ({ author, seq, id });

/** Forge proposes, scribe agrees, forge closes; scribe holds all of it. */
function agreed(body: object = {}): {
  forge: AskingAgent;
  scribe: AskingAgent;
  ask: Place;
  yes: PlaceJson;
} {
  const forge = new AskingAgent("forge");
  const scribe = new AskingAgent("scribe");
  const said = { required: ["scribe"], decision: "Frozen until May.", ...body };
  const ask = forge.say({ type: "proposal", thread: T, to: ["scribe"], body: said });
  scribe.read(forge);
  const yes = scribe.say({ type: "ack", thread: T, body: { acks: ask, approve: true } });
  forge.read(scribe);
  forge.close();
  scribe.read(forge);
  return { forge, scribe, ask: placeOf(ask), yes };
}

function decided(agent: AskingAgent, ask: Place, recorder = "forge"): UnsignedDecision {
  const decision = decisionOf(agent.history, ask, touched, recorder);
  if (decision === undefined) throw new Error("nothing is decided");
  return decision;
}

const asEntry = (decision: object): JsonObject =>
  fromPlain({ ...decision, event_id: "e", public_key_id: "k", signature: "s" }) as JsonObject;

describe("the entry of a decision", () => {
  it("follows from the lines, and from no proposal that is not approved", () => {
    const { forge, ask, yes } = agreed({ decision_id: "Freeze it!" });
    const [asked, close] = [forge.lines.at(-2), forge.lines.at(-1)];
    expect(decided(forge, ask)).toEqual({
      decision_id: `freeze-it-${ask.id.slice(0, 8)}`,
      ratified_at: close?.timestamp,
      proposer: "forge",
      acked_by: ["forge", "scribe"],
      decision: "Frozen until May.",
      canonical: true,
      refs: [],
      affected_domains: ["parser"],
      domain_owners: { parser: "forge" },
      correlation_id: T,
      proposal: ["forge", 2, asked?.id],
      acks: [yes],
      close: ["forge", 3, close?.id],
      supersedes: null,
      recorded_by: "forge",
    });
    const open = forge.say({ type: "proposal", thread: T, to: ["scribe"], body: {} });
    expect(decisionOf(forge.history, placeOf(open), touched, "forge")).toBeUndefined();
  });

  it("of an ask in no chain rests on the close of its party", () => {
    const ann = new AskingAgent("ann", false);
    const scribe = new AskingAgent("scribe");
    const ask = ann.say({ type: "proposal", thread: T, to: ["scribe"], body: "Weekly sync." });
    scribe.read(ann);
    scribe.say({ type: "ack", thread: T, body: { acks: ask, approve: true } });
    const [close] = scribe.close();
    expect(decided(scribe, placeOf(ask), "scribe")).toMatchObject({
      ...{ acked_by: ["ann", "scribe"], acks: [close], close, decision: "Weekly sync." },
    });
  });

  it("is proved by the lines alone, pending without them, and unproved when it says something else", () => {
    const { forge, scribe, ask } = agreed();
    const entry = decided(forge, ask);
    expect(judgeEntry(scribe.history, asEntry(entry), "forge").is).toBe("proved");
    const other = { ...entry, recorded_by: "scribe", affected_domains: [] };
    expect(judgeEntry(forge.history, asEntry(other), "scribe").is).toBe("proved");
    const newcomer = new AskingAgent("mason");
    expect(judgeEntry(newcomer.history, asEntry(entry), "forge").is).toBe("pending");
    newcomer.read(forge);
    expect(judgeEntry(newcomer.history, asEntry(entry), "forge").is).toBe("pending");
    for (const change of [
      ...[{ decision: "Frozen for ever." }, { ratified_at: "later" }, { acks: [] }, { more: 1 }],
      ...[{ close: entry.proposal }, { supersedes: "x" }, { canonical: false }],
    ]) {
      const changed = asEntry({ ...entry, ...change });
      expect([change, judgeEntry(scribe.history, changed, "forge").is]).toEqual([
        change,
        "unproved",
      ]);
    }
    expect(judgeEntry(scribe.history, asEntry(entry), "scribe").is).toBe("unproved");
    expect(judgeEntry(scribe.history, asEntry({ ...entry, recorded_by: "ann" }), "ann").is).toBe(
      "unproved",
    );
  });

  it("is recorded by the closer at once, by a party ten minutes later, by nobody else", () => {
    const { forge, scribe, ask } = agreed();
    const decision = decided(forge, ask);
    expect(recordsAtMs(forge.history, decision, "forge")).toBe(forge.nowMs);
    expect(recordsAtMs(scribe.history, decision, "scribe")).toBe(scribe.nowMs + 10 * MINUTE_MS);
    expect(recordsAtMs(scribe.history, decision, "mason")).toBeUndefined();
  });
});

describe("decisions that stand", () => {
  const decision = (id: string, more: Partial<UnsignedDecision> = {}): UnsignedDecision => ({
    ...{ decision_id: id, ratified_at: "", proposer: "forge", decision: id, canonical: true },
    ...{ acked_by: ["forge", "scribe"], refs: [], affected_domains: [], domain_owners: {} },
    ...{ correlation_id: id, proposal: ["forge", 1, id], acks: [], close: ["forge", 2, id] },
    ...{ supersedes: null, recorded_by: "forge", ...more },
  });

  it("of two entries of a proposal the first counts", () => {
    const second = { ...decision("a"), decision: "other" };
    expect(
      standingDecisions([decision("a"), second]).map((each) => each.decision.decision),
    ).toEqual(["a"]);
  });

  it("are superseded by a later one of everybody who agreed to them", () => {
    const later = decision("b", { supersedes: "a", acked_by: ["forge", "scribe", "ann"] });
    const alone = decision("c", { supersedes: "b", acked_by: ["forge", "scribe"] });
    const found = standingDecisions([decision("a"), later, alone]);
    expect(found.map(({ supersededBy }) => supersededBy)).toEqual(["b", undefined, undefined]);
  });

  it("of one thread that do not name each other are shown beside each other", () => {
    const [a, b, c] = ["a", "b", "c"].map((id) => decision(id, { correlation_id: T }));
    if (a === undefined || b === undefined || c === undefined) throw new Error("decisions");
    const found = standingDecisions([a, b, { ...c, supersedes: "a" }]);
    expect(found.map(({ beside }) => beside)).toEqual([[], ["c"], ["b"]]);
  });
});
