import { describe, expect, test } from "vitest";
import { apply } from "../../../src/protocol/core.ts";
import { addEntry } from "../../../src/protocol/decisions/record/recorded-entries.ts";
import {
  readEntry,
  type EntryRecord,
} from "../../../src/protocol/decisions/record/decision-record.ts";
import {
  decideDecisions,
  isSuperseded,
  revisionsIn,
  provedEntries,
} from "../../../src/protocol/decisions/decisions.ts";
import type { Effect } from "../../../src/protocol/effects.ts";
import type { CoreEvent } from "../../../src/protocol/events.ts";
import type { Env } from "../../../src/protocol/env.ts";
import type { State } from "../../../src/protocol/state.ts";
import { fromPlain, type JsonObject } from "../../../src/wire/json/json.ts";
import { OutcomeScript } from "../../support/scripts/outcome-script.ts";
import { moment } from "../../support/scripts/scripted-agent.ts";
import { hours, NOON } from "../../support/scripts/wire-script.ts";

const RATIFIED = ["a proposes P", "b acks P", "a beats"];
const MAX_DOUBTFUL = 4_096;

interface Signature {
  readonly by?: string;
  readonly valid?: boolean;
}

function entryOf(record: object, signature: Signature = { by: "a" }): CoreEvent {
  const signed = { signedBy: signature.by, valid: signature.valid ?? signature.by !== undefined };
  const entry = readEntry(fromPlain(record) as JsonObject, signed);
  return { kind: "entry", file: "decisions", at: NOON, entry };
}

function decided(state: State, env: Env, at = NOON): Effect[] {
  return decideDecisions(state.decisions, state.proposals, state.logs, env, moment(at));
}

class Wire {
  readonly script: OutcomeScript;
  readonly state: State;
  readonly env: Env;

  constructor(steps = RATIFIED, self = "a", kind: "pairwise" | "outbox" = "pairwise") {
    this.script = new OutcomeScript(kind, kind === "outbox" ? ["a", "b", "c"] : ["a", "b"], steps);
    this.env = this.script.env(self);
    this.state = this.script.fold(self);
  }

  records(): EntryRecord[] {
    return decided(this.state, this.env).flatMap((it) => (it.do === "record" ? it.decision : []));
  }

  enter(record: object, signature?: Signature): void {
    apply(this.state, entryOf(record, signature), this.env);
  }

  verdicts(): string[] {
    return [...this.state.decisions.entries.all.values()].map(({ verdict }) =>
      verdict.is === "proved" ? "proved" : `${verdict.is}: ${verdict.detail}`,
    );
  }
}

describe("the verdict on an entry", () => {
  const nobody = "unproved: not signed by an agent that is pinned";
  const named = (wire: Wire, change: object = {}) => ({
    proposal_id: wire.script.idOf("P"),
    ratified_by: wire.script.order.at(-1)?.message.id,
    recorded_by: "a",
    ...change,
  });

  test.each<[string, object, Signature, string]>([
    ["that nobody signed", {}, {}, nobody],
    ["with a signature that is not valid", {}, { by: "a", valid: false }, nobody],
    ["valid, but by nobody", {}, { valid: true }, nobody],
    ["of another recorder", { recorded_by: "b" }, {}, nobody],
    [
      "recorded by another than signed it",
      { recorded_by: "b" },
      { by: "a" },
      "unproved: recorded_by is not who signed it",
    ],
    ["of no proposal", { proposal_id: undefined }, { by: "a" }, "unproved: it names no proposal"],
    [
      "of a proposal that is not held",
      { proposal_id: "x" },
      { by: "a" },
      "pending: its proposal is not held",
    ],
    [
      "by one who is no party",
      { recorded_by: "c" },
      { by: "c" },
      "unproved: c is neither the proposer nor required",
    ],
    [
      "of a beat that is not held",
      { ratified_by: "x" },
      { by: "a" },
      "pending: the lines that ratify it are not all held",
    ],
    [
      "of a beat that was judged",
      {},
      { by: "a" },
      "unproved: the proposal is not ratified at the beat named",
    ],
  ])("%s", (_name, change, signature, expected) => {
    const wire = new Wire(["a proposes P needs=b", "a beats"], "a", "outbox");
    wire.enter(named(wire, change), signature);
    expect(wire.verdicts()).toEqual([expected]);
  });

  test("of a proposal that is decided otherwise, or can never be ratified", () => {
    const rejected = new Wire(["a proposes P", "b rejects P", "a beats"]);
    rejected.enter(named(rejected));
    expect(rejected.verdicts()).toEqual(["unproved: the proposal was rejected"]);
    const hopeless = new Wire(["a proposes P needs=a,b", "b acks P"]);
    hopeless.enter(named(hopeless, { ratified_by: "x" }));
    expect(hopeless.verdicts()).toEqual([
      "unproved: the proposal is not ratified at the beat named",
    ]);
  });

  test("that differs says in what, and the operator is told what it is about", () => {
    const wire = new Wire();
    const [record] = wire.records();
    wire.enter({ ...record, refs: ["docs/a.md"] });
    const detail = "decision does not follow from the proposal and its ratification";
    expect(wire.verdicts()).toEqual([`unproved: ${detail}`]);
    const id = [...wire.state.decisions.entries.all.values()][0]?.id;
    expect(decided(wire.state, wire.env).filter((effect) => effect.do === "tell")).toEqual([
      {
        do: "tell",
        incident: {
          key: `decision_unproved:${id}`,
          cause: "decision_unproved",
          peer: "a",
          subject: `decisions.jsonl: "${record?.decision_id}" is not proved`,
          detail: `${detail}; it is not shown as canonical`,
          concernsWire: true,
        },
      },
    ]);
  });

  test("is told by its id when it has no name, and only if it is wrong and signed", () => {
    const wire = new Wire();
    const [record] = wire.records();
    wire.enter({ ...record, proposal_id: "pending" });
    wire.enter(record ?? {}, {});
    wire.enter({ recorded_by: "a" });
    const id = [...wire.state.decisions.entries.all.values()][2]?.id;
    const tells = decided(wire.state, wire.env).flatMap((it) => (it.do === "tell" ? it : []));
    expect(tells.map(({ incident }) => incident.subject)).toEqual([
      `decisions.jsonl: "${id}" is not proved`,
    ]);
  });

  test("of an unchained proposal in two logs is that of the ratified one", () => {
    const wire = new Wire(["a proposes P plain", "b acks P"], "b");
    const [record] = wire.records();
    wire.enter({ ...record, recorded_by: "b" }, { by: "b" });
    expect(wire.verdicts()).toEqual(["proved"]);
    const [proposal] = wire.state.proposals.proposals.values();
    if (proposal === undefined) throw new Error("one proposal");
    const twin = { ...proposal, key: proposal.id, outcome: undefined };
    wire.state.proposals.proposals.set(twin.key, twin);
    wire.enter({ ...record, recorded_by: "b", signature: "again" }, { by: "b", valid: true });
    wire.enter({ ...record, recorded_by: "b", note: 1 }, { by: "b" });
    expect(wire.verdicts().at(-1)).toBe("proved");
  });

  test("is judged again with its own proposal alone", () => {
    const script = new OutcomeScript(
      "pairwise",
      ["a", "b"],
      [
        "a proposes P",
        "a proposes Q thread=second",
        "b acks Q thread=second",
        "b acks P",
        "a beats",
      ],
    );
    const env = script.env("b");
    const events = script.events("b");
    const state = script.fold("b", events.slice(0, 2));
    const enter = (name: string) =>
      apply(state, entryOf({ proposal_id: script.idOf(name), recorded_by: "a" }), env);
    enter("P");
    const [entry] = state.decisions.entries.all.values();
    if (entry === undefined) throw new Error("one entry");
    const mark = { is: "pending", detail: "as it was" } as const;
    entry.verdict = mark;
    apply(state, entryOf({ proposal_id: script.idOf("Q"), recorded_by: "a" }), env);
    const [ack] = events.slice(2);
    if (ack !== undefined) apply(state, ack, env);
    expect(entry.verdict).toBe(mark);
    for (const event of events.slice(3)) apply(state, event, env);
    expect(entry.verdict.is).toBe("unproved");
  });
});

describe("an entry that is there again", () => {
  test("is none, but one that is signed otherwise is", () => {
    const wire = new Wire();
    const [record = {}] = wire.records();
    for (const signature of [{}, {}, { by: "a", valid: false }, { by: "a" }, { by: "a" }]) {
      wire.enter(record, signature);
    }
    expect(wire.verdicts().map((verdict) => verdict.slice(0, 8))).toEqual([
      "unproved",
      "unproved",
      "proved",
    ]);
  });

  test("is taken sixteen times if it is proved, and that of another proposal all the same", () => {
    const wire = new Wire([
      ...RATIFIED,
      "a proposes Q thread=second",
      "b acks Q thread=second",
      "a beats",
    ]);
    const [first = {}, second = {}] = wire.records();
    wire.enter({ ...first, decision: "other" });
    for (let n = 0; n < 20; n += 1) wire.enter({ ...first, note: n });
    wire.enter(second);
    wire.enter({ ...first, decision: "another" });
    expect(wire.verdicts().map((verdict) => verdict.slice(0, 8))).toEqual([
      "unproved",
      ...Array<string>(16).fill("proved"),
      "proved",
    ]);
  });
});

describe("entries that are not proved", () => {
  const ids = (wire: Wire) =>
    [...wire.state.decisions.entries.all.values()].map(
      ({ record, signatureValid }) =>
        `${signatureValid ? "signed" : "blank"} ${record.decision_id}`,
    );
  const flood = (wire: Wire, signature: Signature, count: number) => {
    const entry = entryOf({ decision_id: "0", recorded_by: "a" }, signature);
    if (entry.kind !== "entry") throw new Error("no entry");
    const { id, signedBy, signatureValid } = entry.entry;
    const verdict = { is: "unproved", signed: signatureValid, detail: "" } as const;
    for (let n = 0; n < count; n += 1) {
      const record = { decision_id: `${n}` };
      addEntry(wire.state.decisions.entries, {
        id: `${id} ${n}`,
        record,
        signedBy,
        signatureValid,
        verdict,
      });
    }
  };

  test.each<[string, Signature, Signature]>([
    ["blank", {}, { by: "a" }],
    ["signed", { by: "a" }, {}],
  ])("are kept up to 4,096, and %s ones push out their like alone", (name, mine, others) => {
    const wire = new Wire();
    const [record = {}] = wire.records();
    wire.enter(record);
    flood(wire, others, 2);
    flood(wire, mine, MAX_DOUBTFUL - 1);
    wire.enter({ decision_id: "last", recorded_by: "a" }, mine);
    expect(ids(wire)).toHaveLength(1 + 2 + MAX_DOUBTFUL);
    wire.enter({ decision_id: "one more", recorded_by: "a" }, mine);
    wire.enter({ decision_id: "two more", recorded_by: "a" }, mine);
    const kept = ids(wire);
    expect(kept).toHaveLength(1 + 2 + MAX_DOUBTFUL);
    const other = name === "blank" ? "signed" : "blank";
    expect(kept.slice(1, 5)).toEqual([`${other} 0`, `${other} 1`, `${name} 2`, `${name} 3`]);
    expect(kept.at(-1)).toBe(`${name} two more`);
    expect(provedEntries(wire.state.decisions)).toHaveLength(1);
  });

  test("leave nothing behind when they are pushed out, whatever proposals they name", () => {
    const wire = new Wire();
    for (let n = 0; n < 2 * MAX_DOUBTFUL; n += 1) {
      addEntry(wire.state.decisions.entries, {
        id: `${n}`,
        record: { proposal_id: `none ${n}` },
        ...{ signedBy: undefined, signatureValid: false },
        verdict: { is: "unproved", signed: false, detail: "" },
      });
    }
    const { all, byProposal, doubtful } = wire.state.decisions.entries;
    expect([all.size, byProposal.size, doubtful.unsigned.size]).toEqual(
      Array.from({ length: 3 }, () => MAX_DOUBTFUL),
    );
  });
});

describe("what is to be recorded", () => {
  test("is nothing that is not remembered, not decided, or without its text", () => {
    const wire = new Wire();
    wire.state.decisions.unrecorded.add("forgotten");
    const open = new OutcomeScript("pairwise", ["a", "b"], ["a proposes P"]);
    expect(decided(wire.state, wire.env).map((effect) => effect.do)).toEqual(["record"]);
    const [proposal] = wire.state.proposals.proposals.values();
    if (proposal === undefined) throw new Error("one proposal");
    const { content } = proposal;
    proposal.content = undefined;
    expect(decided(wire.state, wire.env)).toEqual([]);
    proposal.content = content;
    proposal.outcome = undefined;
    expect(decided(wire.state, wire.env)).toEqual([]);
    const state = open.fold("a");
    state.decisions.unrecorded.add(open.idOf("P"));
    expect(decided(state, open.env("a"))).toEqual([]);
  });

  test("is nobody's but a party's, however long it waits", () => {
    const steps = ["a proposes P needs=b", "b acks P", "a beats", "a beats", "a beats"];
    const wire = new Wire(steps, "c", "outbox");
    const [proposal] = wire.state.proposals.proposals.values();
    const asParty = new Wire(steps, "b", "outbox");
    const [kept] = asParty.state.proposals.proposals.values();
    if (proposal === undefined || kept === undefined) throw new Error("one proposal each");
    proposal.content = kept.content;
    wire.state.decisions.unrecorded.add(proposal.key);
    expect(decided(wire.state, wire.env, NOON + hours(9))).toEqual([]);
    expect(decided(asParty.state, asParty.env, NOON).map((it) => it.do)).toEqual(["record"]);
  });

  test("an unchained proposer records what its acker has not, when that is silent", () => {
    const wire = new Wire(["a proposes P plain", "b acks P"]);
    const at = (ms: number) => decided(wire.state, wire.env, NOON + ms).map((it) => it.do);
    expect(at(2 * 90_000 - 1)).toEqual([]);
    expect(at(2 * 90_000)).toEqual(["record"]);
  });

  test("is not forgotten by an auditor, nor an unchained one by an agent before it is settled", () => {
    const auditor = new Wire(RATIFIED, "");
    const [agent, plain] = [new Wire(), new Wire(["a proposes P plain", "b acks P bare"], "b")];
    const kept = [auditor, agent, plain].map((wire) => {
      const [decision] = decided(wire.state, wire.script.env("a")).flatMap((it) =>
        it.do === "record" ? it.decision : [],
      );
      const by = wire === plain ? "b" : "a";
      wire.enter({ ...decision, recorded_by: by }, { by });
      const [proposal] = wire.state.proposals.proposals.values();
      return proposal?.content !== undefined;
    });
    expect(kept).toEqual([true, false, true]);
  });
});

describe("a decision that revises another", () => {
  const entry = (record: EntryRecord) => ({
    id: "",
    record,
    signedBy: "a",
    signatureValid: true,
    verdict: { is: "proved" } as const,
  });
  const old = entry({ decision_id: "v6", proposal_id: "p6", acked_by: ["a", "b"] });

  test.each<[string, EntryRecord, boolean]>([
    ["by its id", { supersedes: "v6", acked_by: ["b", "a", "c"] }, true],
    ["by its proposal", { supersedes: "p6", acked_by: ["a", "b"] }, true],
    ["not by another's", { supersedes: "v5", acked_by: ["a", "b"] }, false],
    ["not with one party alone", { supersedes: "v6", acked_by: ["a"] }, false],
    ["not with nobody", { supersedes: "v6" }, false],
    ["not by nothing", { acked_by: ["a", "b"] }, false],
  ])("names it %s", (_name, record, expected) => {
    expect(isSuperseded(old, revisionsIn([old, entry(record)]))).toBe(expected);
  });

  test("to which nobody agreed is revised by anyone", () => {
    const alone = entry({ decision_id: "v6", proposal_id: "p6" });
    expect(isSuperseded(alone, revisionsIn([entry({ supersedes: "v6" })]))).toBe(true);
  });
});
