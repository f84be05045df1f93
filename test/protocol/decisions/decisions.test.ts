import { describe, expect, test } from "vitest";
import { apply } from "../../../src/protocol/core.ts";
import {
  readEntry,
  type UnsignedDecision,
} from "../../../src/protocol/decisions/record/decision-record.ts";
import { decideDecisions } from "../../../src/protocol/decisions/decisions.ts";
import { decisionsView } from "../../../src/protocol/decisions/decisions-view.ts";
import type { CoreEvent } from "../../../src/protocol/events.ts";
import type { Env } from "../../../src/protocol/env.ts";
import type { State } from "../../../src/protocol/state.ts";
import { fromPlain, type JsonObject } from "../../../src/wire/json/json.ts";
import { sha256Hex } from "../../../src/wire/canonical.ts";
import { OutcomeScript } from "../../support/scripts/outcome-script.ts";
import { hours, NOON, seconds } from "../../support/scripts/wire-script.ts";

const RATIFIED = ["a proposes P", "b acks P", "a beats"];

function entryOf(record: object, signedBy: string | undefined, at = NOON): CoreEvent {
  const fields = fromPlain(record) as JsonObject;
  const valid = signedBy !== undefined;
  return { kind: "entry", file: "decisions", at, entry: readEntry(fields, { signedBy, valid }) };
}

function recordsOf(state: State, env: Env, nowMs: number): UnsignedDecision[] {
  const now = { wallMs: nowMs, monoMs: nowMs };
  const effects = decideDecisions(state.decisions, state.proposals, state.logs, env, now);
  return effects.flatMap((effect) => (effect.do === "record" ? effect.decision : []));
}

function tellsOf(state: State, env: Env): string[] {
  const now = { wallMs: NOON, monoMs: NOON };
  const effects = decideDecisions(state.decisions, state.proposals, state.logs, env, now);
  return effects.flatMap((effect) =>
    effect.do === "tell" ? `${effect.incident.cause} ${effect.incident.peer}` : [],
  );
}

/** A script's decision as its proposer records it, and the state in which it is ratified. */
function ratified(steps = RATIFIED): {
  script: OutcomeScript;
  state: State;
  record: UnsignedDecision;
} {
  const script = new OutcomeScript("pairwise", ["a", "b"], steps);
  const state = script.fold("a");
  const [record] = recordsOf(state, script.env("a"), NOON);
  if (record === undefined) throw new Error("nothing to record");
  return { script, state, record };
}

describe("the record", () => {
  test("has exactly the fields of the spec", () => {
    const { script, record } = ratified();
    const id = script.idOf("P");
    expect(record).toEqual({
      decision_id: `proposes-p-${id.slice(0, 8)}`,
      ratified_at: "2026-11-20T12:00:02.000000Z",
      proposer: "a",
      acked_by: ["a", "b"],
      decision: "text of P",
      canonical: true,
      refs: [],
      affected_domains: [],
      domain_owners: {},
      correlation_id: "2026-11-20T12:00:00.000000Z",
      proposal_id: id,
      ack_ids: [script.order[1]?.message.id],
      ratified_by: script.order[2]?.message.id,
      supersedes: null,
      recorded_by: "a",
    });
  });

  test.each([
    {
      name: "its own id and text",
      body: { decision_id: "v7", decision: "yes" },
      id: "v7",
      text: "yes",
    },
    { name: "a body that is text", body: "do it", id: "a-subject-with-words", text: "do it" },
    {
      name: "nothing but a subject",
      body: {},
      id: "a-subject-with-words",
      text: "A Subject, with words!",
    },
    {
      name: "an id that is no name",
      body: { decision_id: "../x y" },
      id: "x-y",
      text: "A Subject, with words!",
    },
  ])("$name", ({ body, id, text }) => {
    const script = new OutcomeScript("pairwise", ["a", "b"], []);
    const line = script.script.say("a_to_b", NOON, {
      type: "proposal",
      subject: "A Subject, with words!",
      body,
    });
    script.order.push(line);
    script.names.set("P", line.message.id);
    const more = script.script.say("b_to_a", NOON + 1, {
      type: "ack",
      body: { acks: line.message.id },
      thread: line.message.correlationId,
    });
    script.order.push(more, script.script.beat("a_to_b", NOON + 2, { b_to_a: { lines: 1 } }));
    const [record] = recordsOf(script.fold("a"), script.env("a"), NOON);
    expect(record?.decision_id).toBe(`${id}-${line.message.id.slice(0, 8)}`);
    expect(record?.decision).toBe(text);
  });

  test("a long text is cut at 16 KiB between characters, with the digest of the whole", () => {
    const script = new OutcomeScript("pairwise", ["a", "b"], []);
    const text = "x".repeat(16_383) + "éé";
    const line = script.script.say("a_to_b", NOON, { type: "proposal", body: { decision: text } });
    const ack = script.script.say("b_to_a", NOON + 1, {
      type: "ack",
      body: { acks: line.message.id },
      thread: line.message.correlationId,
    });
    const beat = script.script.beat("a_to_b", NOON + 2, { b_to_a: { lines: 1 } });
    script.order.push(line, ack, beat);
    const [record] = recordsOf(script.fold("a"), script.env("a"), NOON);
    const bytes = new TextEncoder().encode(text);
    const note = `[cut: ${bytes.length} bytes, sha256 ${sha256Hex(bytes)}]`;
    expect(record?.decision).toBe(`${"x".repeat(16_383)} ${note}`);
  });

  test("domains come from the proposal's own words and from its paths", () => {
    const script = new OutcomeScript("pairwise", ["a", "b"], []);
    const body = { domains: ["training", "elsewhere"], paths: ["docs/guide/**"] };
    const line = script.script.say("a_to_b", NOON, { type: "proposal", body });
    const ack = script.script.say("b_to_a", NOON + 1, {
      type: "ack",
      body: { acks: line.message.id },
      thread: line.message.correlationId,
    });
    const beat = script.script.beat("a_to_b", NOON + 2, { b_to_a: { lines: 1 } });
    script.order.push(line, ack, beat);
    const domains = new Map([
      ["training", { owner: "a", paths: ["models/**"] }],
      ["prose", { owner: "b", paths: ["docs/**"] }],
      ["other", { owner: "b", paths: ["src/**"] }],
    ]);
    const env = script.env("a", { domains });
    const state = script.fold("a", []);
    for (const event of script.events("a")) apply(state, event, env);
    const [record] = recordsOf(state, env, NOON);
    expect(record?.affected_domains).toEqual(["training", "elsewhere", "prose"]);
    expect(record?.domain_owners).toEqual({ training: "a", prose: "b" });
  });
});

describe("who records, and when", () => {
  test("the proposer at once, and no more once a proved entry is there", () => {
    const { script, state, record } = ratified();
    apply(state, entryOf(record, "a"), script.env("a"));
    expect(recordsOf(state, script.env("a"), NOON)).toEqual([]);
  });

  test("an entry that is not proved stops nobody", () => {
    const { script, state, record } = ratified();
    apply(state, entryOf({ ...record, decision: "other" }, "a"), script.env("a"));
    apply(state, entryOf(record, undefined), script.env("a"));
    expect(recordsOf(state, script.env("a"), NOON)).toHaveLength(1);
  });

  test("also from history", () => {
    const script = new OutcomeScript("pairwise", ["a", "b"], RATIFIED);
    const state = script.fold(
      "a",
      script.events("a", () => ({ live: false })),
    );
    expect(recordsOf(state, script.env("a"), NOON)).toHaveLength(1);
  });

  test("a required party after two beats of the proposer without an entry", () => {
    const at = NOON + seconds(3);
    const once = new OutcomeScript("pairwise", ["a", "b"], [...RATIFIED, "a beats"]);
    expect(recordsOf(once.fold("b"), once.env("b"), at)).toEqual([]);
    const twice = new OutcomeScript("pairwise", ["a", "b"], [...RATIFIED, "a beats", "a beats"]);
    expect(recordsOf(twice.fold("b"), twice.env("b"), at)).toMatchObject([{ recorded_by: "b" }]);
  });

  test("or after two of its cadences of silence, when its log is read to the end", () => {
    const script = new OutcomeScript("pairwise", ["a", "b"], RATIFIED);
    const state = script.fold("b");
    const beatAt = NOON + seconds(2);
    const env = script.env("b");
    expect(recordsOf(state, env, beatAt + seconds(179))).toEqual([]);
    expect(recordsOf(state, env, beatAt + seconds(180))).toHaveLength(1);
    const behind = script.env("b", { caughtUp: () => false });
    expect(recordsOf(state, behind, beatAt + hours(9))).toEqual([]);
  });

  test("an absurd cadence does not put it off: at most T3 each", () => {
    const script = new OutcomeScript("pairwise", ["a", "b"], ["a proposes P", "b acks P"]);
    const extra = { next_eta: "9999-01-01T00:00:00Z" };
    const beat = script.script.beat("a_to_b", NOON + 2, { b_to_a: { lines: 1 } }, extra);
    script.order.push(beat);
    const state = script.fold("b");
    expect(recordsOf(state, script.env("b"), beat.at + seconds(2_399))).toEqual([]);
    expect(recordsOf(state, script.env("b"), beat.at + seconds(2_400))).toHaveLength(1);
  });

  test("nobody who is not a party", () => {
    const steps = ["a proposes P needs=b", "b acks P", "a beats", "a beats", "a beats"];
    const script = new OutcomeScript("outbox", ["a", "b", "c"], steps);
    expect(recordsOf(script.fold("c"), script.env("c"), NOON + hours(9))).toEqual([]);
    expect(recordsOf(script.fold("b"), script.env("b"), NOON)).toHaveLength(1);
  });

  test("an unchained proposal's acker at once, naming its ack", () => {
    const script = new OutcomeScript("pairwise", ["a", "b"], ["a proposes P plain", "b acks P"]);
    const [record] = recordsOf(script.fold("b"), script.env("b"), NOON);
    const ack = script.order[1]?.message;
    expect(record).toMatchObject({ ratified_by: ack?.id, ack_ids: [ack?.id], recorded_by: "b" });
    expect(recordsOf(script.fold("a"), script.env("a"), NOON)).toEqual([]);
  });
});

describe("an entry", () => {
  const viewOf = (state: State) => {
    const view = decisionsView(state.decisions);
    return Object.entries(view).flatMap(([name, list]) => (list.length > 0 ? [name] : []));
  };

  test("that follows from proposal and beat is in force, no matter which party signed it", () => {
    const { script, state, record } = ratified();
    apply(state, entryOf({ ...record, recorded_by: "b" }, "b"), script.env("a"));
    expect(viewOf(state)).toEqual(["in_force"]);
  });

  test.each([
    ["decision", { decision: "something else" }],
    ["decision_id", { decision_id: "other-00000000" }],
    ["ratified_at", { ratified_at: "2026-11-20T12:00:03.000000Z" }],
    ["ratified_by", { ratified_by: "0".repeat(64) }],
    ["acked_by", { acked_by: ["a"] }],
    ["ack_ids", { ack_ids: [] }],
    ["affected_domains", { affected_domains: ["training"] }],
    ["domain_owners", { domain_owners: { training: "a" } }],
    ["supersedes", { supersedes: "x-12345678" }],
    ["refs", { refs: ["docs/a.md"] }],
    ["proposer", { proposer: "b" }],
    ["correlation_id", { correlation_id: "x" }],
    ["canonical", { canonical: false }],
    ["recorded_by", { recorded_by: "b" }],
  ])("forged in %s, with the right ids, is unproved and told", (_field, change) => {
    const { script, state, record } = ratified();
    apply(state, entryOf({ ...record, ...change }, "a"), script.env("a"));
    expect(viewOf(state)).toEqual(["unproved"]);
    expect(decisionsView(state.decisions).unproved[0]).not.toHaveProperty("canonical");
    expect(tellsOf(state, script.env("a"))).toContain("decision_unproved a");
  });

  test("unsigned, or by nobody pinned, is unproved and told to nobody", () => {
    const { script, state, record } = ratified();
    apply(state, entryOf(record, undefined), script.env("a"));
    expect(viewOf(state)).toEqual(["unproved"]);
    expect(tellsOf(state, script.env("a"))).toEqual([]);
  });

  test("by a pinned agent who is no party is unproved", () => {
    const steps = ["a proposes P needs=b", "b acks P", "a beats"];
    const script = new OutcomeScript("outbox", ["a", "b", "c"], steps);
    const state = script.fold("a");
    const [record] = recordsOf(state, script.env("a"), NOON);
    apply(state, entryOf({ ...record, recorded_by: "c" }, "c"), script.env("a"));
    expect(tellsOf(state, script.env("a"))).toEqual(["decision_unproved c"]);
  });

  test("is pending until the beat and what it covers are held, then proved", () => {
    const { script, record } = ratified();
    const [proposal, ack, beat] = script.events("b");
    if (!proposal || !ack || !beat) throw new Error("three lines");
    const env = script.env("b");
    const state = script.fold("b", []);
    apply(state, entryOf(record, "a"), env);
    const views = [viewOf(state)];
    for (const event of [proposal, beat, ack]) {
      apply(state, event, env);
      views.push(viewOf(state));
    }
    expect(views).toEqual([["pending"], ["pending"], ["pending"], ["in_force"]]);
  });

  test("that names a beat which did not ratify is unproved, not pending forever", () => {
    const steps = ["a proposes P", "b asks R", "a beats"];
    const script = new OutcomeScript("pairwise", ["a", "b"], steps);
    const [proposal, asked, beat] = script.events("b");
    if (!proposal || !asked || !beat) throw new Error("three lines");
    const ids = { proposal_id: script.idOf("P"), ratified_by: beat.message.id };
    const state = script.fold("b", [proposal, beat]);
    apply(state, entryOf({ ...ids, recorded_by: "a" }, "a"), script.env("b"));
    expect(viewOf(state)).toEqual(["pending"]);
    apply(state, asked, script.env("b"));
    expect(viewOf(state)).toEqual(["unproved"]);
  });

  test("recorded twice counts once", () => {
    const { script, state, record } = ratified();
    apply(state, entryOf(record, "a"), script.env("a"));
    apply(state, entryOf({ ...record, recorded_by: "b" }, "b"), script.env("a"));
    expect(decisionsView(state.decisions).in_force).toHaveLength(1);
  });

  test("revises nothing to which others had agreed", () => {
    const script = new OutcomeScript(
      "outbox",
      ["a", "b", "c"],
      ["a proposes P needs=b,c", "b acks P", "c acks P", "a beats"],
    );
    const [first] = recordsOf(script.fold("a"), script.env("a"), NOON);
    const line = script.script.say("a", NOON + seconds(9), {
      type: "proposal",
      body: { decision: "ours alone", supersedes: first?.decision_id, required: ["b"] },
    });
    const ack = script.script.say("b", NOON + seconds(10), {
      type: "ack",
      body: { acks: line.message.id },
      thread: line.message.correlationId,
    });
    const beat = script.script.beat("a", NOON + seconds(11), { b: { lines: 2 } });
    script.order.push(line, ack, beat);
    const state = script.fold("a");
    for (const record of recordsOf(state, script.env("a"), NOON)) {
      apply(state, entryOf(record, "a"), script.env("a"));
    }
    expect(decisionsView(state.decisions).in_force).toHaveLength(2);
    expect(decisionsView(state.decisions).superseded).toEqual([]);
  });

  test("that revises another takes its place", () => {
    const script = new OutcomeScript("pairwise", ["a", "b"], RATIFIED);
    const first = recordsOf(script.fold("a"), script.env("a"), NOON)[0];
    const line = script.script.say("a_to_b", NOON + seconds(9), {
      type: "proposal",
      body: { decision: "better", supersedes: first?.decision_id },
    });
    const ack = script.script.say("b_to_a", NOON + seconds(10), {
      type: "ack",
      body: { acks: line.message.id },
      thread: line.message.correlationId,
    });
    const beat = script.script.beat("a_to_b", NOON + seconds(11), { b_to_a: { lines: 2 } });
    script.order.push(line, ack, beat);
    const state = script.fold("a");
    for (const record of recordsOf(state, script.env("a"), NOON)) {
      apply(state, entryOf(record, "a"), script.env("a"));
    }
    const view = decisionsView(state.decisions);
    expect(view.in_force.map(({ decision }) => decision)).toEqual(["better"]);
    expect(view.superseded.map(({ decision }) => decision)).toEqual(["text of P"]);
  });
});
