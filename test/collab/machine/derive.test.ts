import { describe, expect, test } from "vitest";
import type { MachineEvent } from "../../../src/collab/machine/event.ts";
import { deriveCollabState } from "../../../src/collab/machine/machine.ts";
import { vectorLines } from "../../wire/vector-files.ts";

interface Sequence {
  readonly schema: 1 | 2;
  readonly participants: readonly string[];
  readonly events: readonly MachineEvent[];
  readonly ok: boolean;
  readonly refused_seq: number | null;
  readonly state: unknown;
}

const SEQUENCES = vectorLines<Sequence>("collab/sequences.jsonl");
const primary = "deliverables/adr.md";

describe("the published sequences", () => {
  test.each(SEQUENCES.map((sequence, at) => [at, sequence] as const))("%i", (_at, sequence) => {
    const { schema, participants, events, ok, refused_seq: refused, state } = sequence;
    const derived = deriveCollabState({ schema, participants, primary }, events);
    if (ok) expect(derived).toEqual({ ok: true, state });
    else expect(derived).toMatchObject({ ok: false, seq: refused });
  });
});

function said(from: string, ...events: readonly MachineEvent["event"][]) {
  return events.map((event) => ({ from, event }));
}

function numbered(steps: readonly { from: string; event: MachineEvent["event"]; doc?: string }[]) {
  return steps.map((step, at): MachineEvent => ({ ...step, seq: at + 1 }));
}

const two = { schema: 1, participants: ["ann", "bob"] } as const;
const accepted = [
  ...said("ann", "initialized", "proposal_submitted"),
  ...said("bob", "review_submitted"),
  ...said("ann", "proposal_revised", "question_classified", "decision_accepted"),
];

describe("facts that the table does not tell", () => {
  test("a round of one participant never leaves drafting", () => {
    const alone = { schema: 1, participants: ["ann"] } as const;
    const derived = deriveCollabState(
      alone,
      numbered(said("ann", "initialized", "proposal_submitted")),
    );
    expect(derived).toMatchObject({ ok: false, seq: 2 });
  });

  test("a second classification asks everybody again", () => {
    const again = numbered([...accepted, ...said("ann", "question_classified")]);
    expect(deriveCollabState(two, again)).toMatchObject({
      state: { currentPhase: "decision_review", waitingFor: ["ann", "bob"] },
    });
  });

  test("a revision voids the classification", () => {
    const early = [...accepted.slice(0, 4), ...said("ann", "decision_accepted")];
    expect(deriveCollabState(two, numbered(early))).toMatchObject({ ok: false, seq: 5 });
  });

  test("blocked may follow completed, and blocked; nothing else follows either", () => {
    const completed = [
      ...accepted,
      ...said("bob", "decision_accepted"),
      ...said("ann", "readiness_passed", "readiness_passed"),
      { from: "ann", event: "completed", doc: "conclusion.md" } as const,
    ];
    expect(deriveCollabState(two, numbered(completed))).toEqual({
      ok: true,
      state: { currentPhase: "completed", proposalOwner: "ann", waitingFor: [] },
    });
    const blocked = [...completed, ...said("bob", "blocked", "blocked")];
    expect(deriveCollabState(two, numbered(blocked))).toMatchObject({
      state: { currentPhase: "blocked" },
    });
    for (const more of ["proposal_revised", "decision_accepted", "completed"] as const) {
      const after = [...blocked, ...said("ann", more)];
      expect(deriveCollabState(two, numbered(after))).toMatchObject({ ok: false, seq: 13 });
    }
  });

  test("a supporting deliverable comes at any time, by anybody, and changes nothing", () => {
    const rules = { schema: 2, participants: ["ann", "bob"], primary } as const;
    const one = (from: string, event: MachineEvent["event"], role: string, seq: number) => ({
      ...{ seq, from, event, role, doc: primary },
    });
    const events: MachineEvent[] = [
      { seq: 1, from: "ann", event: "initialized" },
      one("bob", "deliverable_frozen", "supporting", 2),
      one("ann", "deliverable_drafted", "primary", 3),
    ];
    expect(deriveCollabState(rules, events)).toMatchObject({
      state: { currentPhase: "drafting", waitingFor: ["ann"] },
    });
    const second = [...events, one("ann", "deliverable_frozen", "primary", 4)];
    expect(deriveCollabState(rules, second)).toMatchObject({ ok: false, seq: 4 });
  });

  test("whom it waits for is sorted by code point", () => {
    const rules = { schema: 1, participants: ["ann", "𝒃", "ﬀ", "Zoe"] } as const;
    const events = numbered(said("ann", "initialized", "proposal_submitted"));
    expect(deriveCollabState(rules, events)).toMatchObject({
      state: { waitingFor: ["Zoe", "ﬀ", "𝒃"] },
    });
  });

  test("the seq goes 1, 2, 3; and only participants speak", () => {
    const gap = [{ seq: 1, from: "ann", event: "initialized" } as const];
    expect(deriveCollabState(two, [{ ...gap[0], seq: 2 } as MachineEvent])).toMatchObject({
      ok: false,
      seq: 1,
    });
    expect(
      deriveCollabState(two, [...gap, { seq: 2, from: "eve", event: "blocked" }]),
    ).toMatchObject({ ok: false, seq: 2, reason: "'eve' is not a participant" });
    expect(deriveCollabState(two, [])).toMatchObject({ ok: false, seq: 1 });
  });
});
