import fc from "fast-check";
import { expect, test } from "vitest";
import type { MachineEvent } from "../../../src/collab/machine/event.ts";
import { deriveCollabState } from "../../../src/collab/machine/machine.ts";
import { amount } from "../../support/amounts.ts";
import { vectorLines } from "../../wire/vector-files.ts";
import {
  EVENTS,
  PHASES,
  secondDerive,
  type SecondRules,
  type SecondVerdict,
} from "../second-implementation.ts";

type Name = MachineEvent["event"];

const NAMES = EVENTS as readonly Name[];
const PRIMARY = "deliverables/adr.md";

/** In the order of code units, 𝒃 is before ﬀ; in that of code points, after it. */
const PARTICIPANTS = ["ann", "𝒃", "ﬀ", "Zoe"];

/** What takes a round on, from each phase; what is wrong in a schema is refused, and tried in vain. */
const GOES_ON: Readonly<Record<string, readonly Name[]>> = {
  drafting: ["proposal_submitted", "deliverable_drafted"],
  reviewing: ["review_submitted"],
  revising: [
    ...["proposal_revised", "proposal_revised", "decision_proposed", "proposal_submitted"],
    ...["deliverable_drafted", "deliverable_revised"],
  ] as Name[],
  decision_review: [
    ...["question_classified", "decision_accepted", "decision_accepted", "decision_accepted"],
    ...["decision_accepted", "decision_proposed", "deliverable_drafted", "deliverable_revised"],
  ] as Name[],
  readiness_check: ["deliverable_frozen", "readiness_passed", "readiness_passed", "completed"],
};

/** A step is one that goes on, or anything at all. */
const step = fc.record({
  goesOn: fc.nat(3).map((chance) => chance > 0),
  name: fc.constantFrom(...NAMES),
  pick: fc.nat(60),
  from: fc.constantFrom(...PARTICIPANTS, "stranger"),
  role: fc.constantFrom("primary", "primary", "supporting", "supporting", "editor", undefined),
  doc: fc.constantFrom(PRIMARY, PRIMARY, "conclusion.md", "decisions.md", undefined),
  skips: fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 1, -1),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const round = fc.record({
  schema: fc.constantFrom(1 as const, 2 as const),
  participants: fc
    .shuffledSubarray(PARTICIPANTS, { minLength: 1 })
    .chain((some) => fc.constantFrom(some, some, PARTICIPANTS.slice(0, 2))),
  steps: fc.array(step, { minLength: 12, maxLength: 45 }),
});

const isDeliverable = (name: string): boolean => name.startsWith("deliverable_");

/** The event of a step, where the round is now. */
function eventOf(taken: Step, { participants }: SecondRules, now: SecondVerdict, seq: number) {
  const { goesOn, pick, name: anyName, from: anybody, role } = taken;
  // Each of these events names a document.
  const doc = role === "supporting" ? (taken.doc ?? "notes.md") : taken.doc;
  const [owner = ""] = participants;
  if (!goesOn) return { seq: seq + taken.skips, from: anybody, event: anyName, role, doc };
  if (!now.ok) return { seq, from: owner, event: "initialized" as const };
  const { currentPhase, waitingFor } = now.state;
  const names = GOES_ON[currentPhase] ?? NAMES;
  const event = names[pick % names.length] ?? "blocked";
  const from = waitingFor[pick % waitingFor.length] ?? owner;
  if (event === "completed") return { seq, from, event, doc: "conclusion.md" };
  return isDeliverable(event)
    ? { seq, from, event, role: "primary", doc: PRIMARY }
    : { seq, from, event };
}

function agreed(rules: SecondRules, events: readonly MachineEvent[]): SecondVerdict {
  const expected = secondDerive(rules, events);
  const found = deriveCollabState(rules, events);
  if (expected.ok) expect(found).toEqual(expected);
  else expect(found).toMatchObject({ ok: false, seq: expected.seq });
  return expected;
}

test("both implementations say the same of any round", () => {
  const phases = new Map<string, number>();
  const allowed = new Set<string>();
  const refused = new Set<string>();
  fc.assert(
    fc.property(round, ({ schema, participants, steps }) => {
      const rules = { schema, participants, primary: schema === 2 ? PRIMARY : undefined };
      let events: readonly MachineEvent[] = [];
      let now = agreed(rules, events);
      for (const each of steps) {
        const event = eventOf(each, rules, now, events.length + 1);
        const tried = [...events, event];
        const verdict = agreed(rules, tried);
        const kind = isDeliverable(event.event) ? `${event.event} ${event.role}` : event.event;
        (verdict.ok ? allowed : refused).add(kind);
        // What is refused is not there, and the round goes on.
        if (!verdict.ok) continue;
        [events, now] = [tried, verdict];
        const { currentPhase: phase } = verdict.state;
        phases.set(phase, (phases.get(phase) ?? 0) + 1);
      }
    }),
    { numRuns: amount(2_000, 100_000) },
  );
  expect([...phases.keys()].toSorted()).toEqual(PHASES.toSorted());
  const kinds = NAMES.flatMap((name) =>
    isDeliverable(name) ? [`${name} primary`, `${name} supporting`] : [name],
  );
  expect([...allowed].toSorted()).toEqual(kinds.toSorted());
  for (const kind of kinds) expect(refused).toContain(kind);
});

test("any participant may initialise, and the first one owns the proposal", () => {
  const rules = { schema: 1 as const, participants: ["ann", "bob"] };
  expect(deriveCollabState(rules, [{ seq: 1, from: "bob", event: "initialized" }])).toEqual({
    ok: true,
    state: { currentPhase: "drafting", proposalOwner: "ann", waitingFor: ["ann"] },
  });
});

test("a refused event may be followed by anything: the first one counts", () => {
  fc.assert(
    fc.property(round, ({ schema, participants, steps }) => {
      const rules = { schema, participants, primary: PRIMARY };
      let events: readonly MachineEvent[] = [];
      for (const each of steps) {
        const now = secondDerive(rules, events);
        events = [...events, eventOf(each, rules, now, events.length + 1)];
      }
      agreed(rules, events);
    }),
    { numRuns: amount(500, 10_000) },
  );
});

interface Sequence {
  readonly schema: 1 | 2;
  readonly participants: readonly string[];
  readonly events: readonly MachineEvent[];
  readonly ok: boolean;
  readonly refused_seq: number | null;
  readonly state: unknown;
}

test("the second implementation says what the published sequences say", () => {
  const sequences = vectorLines<Sequence>("collab/sequences.jsonl");
  expect(sequences).toHaveLength(250);
  for (const { schema, participants, events, ok, refused_seq: seq, state } of sequences) {
    const verdict = secondDerive({ schema, participants, primary: PRIMARY }, events);
    expect(verdict).toMatchObject(ok ? { ok, state } : { ok, seq });
  }
});
