import { describe, expect, test } from "vitest";
import { apply } from "../../../src/protocol/core.ts";
import { readEntry } from "../../../src/protocol/decisions/record/decision-record.ts";
import {
  decisionsView,
  ratifiedDecisions,
} from "../../../src/protocol/decisions/decisions-view.ts";
import type { CoreEvent } from "../../../src/protocol/events.ts";
import type { State } from "../../../src/protocol/state.ts";
import { fromPlain, type JsonObject } from "../../../src/wire/json/json.ts";
import { OutcomeScript } from "../../support/scripts/outcome-script.ts";
import { NOON } from "../../support/scripts/wire-script.ts";

function entryOf(record: object, signedBy: string | undefined): CoreEvent {
  const fields = fromPlain(record) as JsonObject;
  const valid = signedBy !== undefined;
  const entry = readEntry(fields, { signedBy, valid });
  return { kind: "entry", file: "decisions", at: NOON, entry };
}

/** As an auditor sees it, who is nobody's peer. */
function scriptOf(...steps: string[]): { script: OutcomeScript; state: State } {
  const script = new OutcomeScript("pairwise", ["a", "b"], steps);
  return { script, state: script.fold("") };
}

const texts = (state: State) => ratifiedDecisions(state.proposals).map(({ decision }) => decision);

describe("the decisions that follow from the logs", () => {
  test("are whole records without a recorder", () => {
    const { script, state } = scriptOf("a proposes P", "b acks P", "a beats");
    const [, ack, beat] = script.order;
    const id = script.idOf("P");
    expect(ratifiedDecisions(state.proposals)).toStrictEqual([
      {
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
        ack_ids: [ack?.message.id],
        ratified_by: beat?.message.id,
        supersedes: null,
      },
    ]);
  });

  test("stand in the order in which they were ratified", () => {
    const { state } = scriptOf(
      "a proposes P",
      "a proposes Q thread=second",
      "a proposes R thread=third",
      "b acks Q thread=second",
      "a beats",
      "b acks R thread=third",
      "a beats",
      "b acks P",
      "a beats",
    );
    expect(texts(state)).toEqual(["text of Q", "text of R", "text of P"]);
  });

  test("and of one beat in the order in which they were proposed", () => {
    const { state } = scriptOf(
      "a proposes P",
      "a proposes Q thread=second",
      "b acks Q thread=second",
      "b acks P",
      "a beats",
    );
    expect(texts(state)).toEqual(["text of P", "text of Q"]);
  });

  test("are no open, rejected or reverted proposals", () => {
    expect(texts(scriptOf("a proposes P").state)).toEqual([]);
    expect(texts(scriptOf("a proposes P", "b rejects P", "a beats").state)).toEqual([]);
    expect(texts(scriptOf("a proposes P", "a reverts P").state)).toEqual([]);
  });

  test("are gone for an agent once they are recorded", () => {
    const script = new OutcomeScript(
      "pairwise",
      ["a", "b"],
      ["a proposes P", "b acks P", "a beats"],
    );
    const state = script.fold("a");
    const [decision] = ratifiedDecisions(state.proposals);
    apply(state, entryOf({ ...decision, recorded_by: "a" }, "a"), script.env("a"));
    expect(ratifiedDecisions(state.proposals)).toEqual([]);
    expect(decisionsView(state.decisions).in_force).toEqual([{ ...decision, recorded_by: "a" }]);
  });
});

test("a proved entry is shown with all fields, also where its recorder left out what is empty", () => {
  const { script, state } = scriptOf("a proposes P", "b acks P", "a beats");
  const [decision] = ratifiedDecisions(state.proposals);
  const { refs, affected_domains, domain_owners, supersedes, ...rest } = decision ?? {};
  apply(state, entryOf({ ...rest, recorded_by: "a" }, "a"), script.env(""));
  expect(decisionsView(state.decisions).in_force).toEqual([
    { ...rest, recorded_by: "a", refs, affected_domains, domain_owners, supersedes },
  ]);
  expect({ refs, affected_domains, domain_owners, supersedes }).toEqual({
    refs: [],
    affected_domains: [],
    domain_owners: {},
    supersedes: null,
  });
});

describe("entries that are not proved", () => {
  const claim = { decision_id: "v7", proposal_id: "x", canonical: true, recorded_by: "a" };
  const { canonical: _claim, ...shown } = claim;

  test("are shown with what is wrong with them, and never as canonical", () => {
    const { script, state } = scriptOf("a proposes P");
    apply(state, entryOf(claim, undefined), script.env(""));
    apply(state, entryOf({ ...claim, recorded_by: "b" }, "a"), script.env(""));
    apply(state, entryOf(claim, "a"), script.env(""));
    expect(decisionsView(state.decisions)).toStrictEqual({
      in_force: [],
      pending: [shown],
      unproved: [
        { ...shown, detail: "not signed by an agent that is pinned" },
        { ...shown, recorded_by: "b", detail: "recorded_by is not who signed it" },
      ],
      superseded: [],
    });
  });
});
