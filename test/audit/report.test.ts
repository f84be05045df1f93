import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { addUnread, noUnread } from "../../src/protocol/receipts/unread-lines.ts";
import { eventId } from "../support/scripts/event-id.ts";
import { addViolation, auditView, newTally, tally } from "../../src/audit/report.ts";
import { apply } from "../../src/protocol/core.ts";
import { addEntry } from "../../src/protocol/decisions/record/recorded-entries.ts";
import { readEntry } from "../../src/protocol/decisions/record/decision-record.ts";
import { readSnapshot, writeSnapshot } from "../../src/protocol/snapshot.ts";
import { emptyState } from "../../src/protocol/state.ts";
import type { CoreEvent, LineEvent } from "../../src/protocol/events.ts";
import { fromPlain, type JsonObject } from "../../src/wire/json/json.ts";
import { recall } from "../../src/admission/authenticate.ts";
import { parseMessage } from "../../src/wire/message.ts";
import { makeLayout } from "../../src/wire/layout.ts";
import { OutcomeScript } from "../support/scripts/outcome-script.ts";
import { NOON, scriptEnv } from "../support/scripts/wire-script.ts";

const EXAMPLE = new URL("../data/example-coordination.jsonl", import.meta.url);

function exampleEvents(): LineEvent[] {
  const counts = new Map<string, number>();
  return readFileSync(EXAMPLE, "utf8")
    .trimEnd()
    .split("\n")
    .map((raw) => {
      const bytes = new TextEncoder().encode(raw);
      const parsed = parseMessage(bytes);
      if (!parsed.ok) throw new Error(parsed.detail);
      const message = recall(bytes, parsed.message.id);
      if (message === undefined) throw new Error("the line is not the one that was read");
      const log = message.from === "agent_a" ? "agent_a_to_agent_b" : "agent_b_to_agent_a";
      const line = (counts.get(log) ?? 0) + 1;
      counts.set(log, line);
      const at = message.timestampMs;
      const fixed = { kind: "line", live: false, own: false, refused: undefined } as const;
      return { ...fixed, log, line, at, message, raw, afterGap: false };
    });
}

function audited(events: readonly CoreEvent[], roster: readonly string[]) {
  const env = scriptEnv(makeLayout("pairwise", roster), "");
  const state = emptyState();
  const count = newTally();
  for (const event of events) {
    tally(count, event);
    apply(state, event, env);
  }
  return { view: auditView(state, env, count), state };
}

describe("an audit", () => {
  const roster = ["agent_a", "agent_b"];

  test("of the example: 11 messages, 2 decisions, no violations", () => {
    const { view } = audited(exampleEvents(), roster);
    expect(view.messages).toBe(11);
    expect(view.violations).toEqual([]);
    expect(view.by_type).toEqual({ ack: 2, heartbeat: 1, proposal: 3, ship: 4, warning: 1 });
    expect(view.decisions.map(({ proposer, acked_by: by }) => [proposer, ...by])).toEqual([
      ["agent_a", "agent_a", "agent_b"],
      ["agent_a", "agent_a", "agent_b"],
    ]);
    expect(view.decisions[1]?.decision_id).toMatch(
      /^counter-t1-default-90s-add-t0-at-30s-[0-9a-f]{8}$/u,
    );
  });

  test("is the same when one log is read after the other", () => {
    const events = exampleEvents();
    const sorted = [...events].sort((a, b) => (a.log < b.log ? 1 : a.log > b.log ? -1 : 0));
    expect(audited(sorted, roster).view).toEqual(audited(events, roster).view);
  });

  test("lists refused lines, wrong heads, unproved and doubled entries", () => {
    const script = new OutcomeScript(
      "pairwise",
      ["a", "b"],
      ["a proposes P", "b acks P", "a beats"],
    );
    const wrong = new OutcomeScript("pairwise", ["a", "b"], ["b asks R", "a beats wrong=b"]);
    const events = script.events("");
    const { view } = audited(events, ["a", "b"]);
    const record = { ...view.decisions[0], recorded_by: "a" };
    const entry = (fields: object, signedBy = "a"): CoreEvent => ({
      kind: "entry",
      file: "decisions",
      at: NOON,
      entry: readEntry(fromPlain(fields) as JsonObject, { signedBy, valid: true }),
    });
    const more: CoreEvent[] = [
      { kind: "refused", log: "b_to_a", line: 2, at: NOON, reason: "schema" },
      { kind: "skipped", log: "b_to_a", line: 3, at: NOON },
      entry(record),
      entry({ ...record, recorded_by: "b" }, "b"),
      // The same line once more is a duplicate, as in any log.
      entry(record),
      entry({ ...record, decision: "other" }),
    ];
    const found = audited([...events, ...more], ["a", "b"]).view;
    const idOf = (event: CoreEvent | undefined) => (event?.kind === "entry" ? event.entry.id : "");
    const none = { log: null, line: null };
    expect(found.violations).toEqual([
      { rule: "schema", log: "b_to_a", line: 2, event_id: null, detail: "refused" },
      {
        ...none,
        rule: "decision_twice",
        event_id: idOf(more[3]),
        detail: `proposal ${record.proposal_id} is recorded twice; readers count one`,
      },
      {
        ...none,
        rule: "decision_unproved",
        event_id: idOf(more[5]),
        detail: "decision does not follow from the proposal and its ratification",
      },
    ]);
    expect(found.decisions).toHaveLength(1);
    const heads = audited(wrong.events(""), ["a", "b"]).view.violations;
    expect(heads).toEqual([
      {
        rule: "head_mismatch",
        log: "a_to_b",
        line: 1,
        event_id: null,
        detail: "its heads name another event as the last of 1 lines of b_to_a",
      },
    ]);
    const refused = events.map((event) => ({ ...event, refused: "clock_skew" as const }));
    const [first, ...others] = audited(refused, ["a", "b"]).view.violations;
    expect(first).toEqual({
      rule: "clock_skew",
      log: "a_to_b",
      line: 1,
      event_id: events[0]?.message.id,
      detail: "a signed it, and it is refused",
    });
    expect(others).toHaveLength(2);
  });

  test("does not blame anybody for an entry that nobody pinned has signed", () => {
    const entry = readEntry(fromPlain({ decision: "x" }) as JsonObject, {
      signedBy: undefined,
      valid: false,
    });
    const event: CoreEvent = { kind: "entry", file: "decisions", at: NOON, entry };
    expect(audited([event], ["a", "b"]).view.violations).toEqual([]);
  });

  test("counts what it saw, kinds by name, and threads by who began them", () => {
    const steps = ["a warning W", "b asks R thread=new", "b feedback F", "a asks Q thread=new"];
    const script = new OutcomeScript("pairwise", ["a", "b"], steps);
    const events = script.events("");
    const { view, state } = audited(events, ["a", "b"]);
    expect(view.messages).toBe(4);
    expect(Object.entries(view.by_type)).toEqual([
      ["feedback", 1],
      ["request", 2],
      ["warning", 1],
    ]);
    expect(view.threads).toBe(3);
    state.threads.dropped = 5;
    expect(auditView(state, scriptEnv(makeLayout("pairwise", ["a", "b"]), ""), newTally())).toEqual(
      {
        messages: 0,
        by_type: {},
        threads: 8,
        decisions: [],
        requests: [],
        incidents: [],
        violations: [],
      },
    );
  });

  test.each([9_999, 10_000, 10_003])("lists at most 10,000 violations of %i", (violations) => {
    const count = newTally();
    const violation = { rule: "schema", log: "a_to_b", line: 1, event_id: null, detail: "refused" };
    for (let n = 0; n < violations; n += 1) addViolation(count, violation);
    const env = scriptEnv(makeLayout("pairwise", ["a", "b"]), "");
    const found = auditView(emptyState(), env, count).violations.slice(9_999);
    const more = {
      rule: "more",
      log: null,
      line: null,
      event_id: null,
      detail: "3 more violations are not listed",
    };
    const beyond = { 9_999: [], 10_000: [violation], 10_003: [violation, more] }[violations];
    expect(found).toEqual(beyond);
  });
});

describe("a snapshot", () => {
  test("gives back the state", () => {
    const { state } = audited(exampleEvents(), ["agent_a", "agent_b"]);
    expect(readSnapshot(writeSnapshot(state))).toEqual(state);
  });

  test("keeps keys that look like its own marks", () => {
    const state = emptyState();
    const odd = { $map: "x", $set: ["y"], $object: {} };
    for (const [key, value] of Object.entries(odd)) {
      state.notices.told.set(key, 1);
      const owners = JSON.parse(JSON.stringify({ [key]: value })) as Record<string, string>;
      addEntry(state.decisions.entries, {
        id: key,
        record: { domain_owners: owners },
        signedBy: undefined,
        signatureValid: false,
        verdict: { is: "proved" },
      });
    }
    const proto = JSON.parse('{"__proto__":"z"}') as Record<string, string>;
    const [first] = state.decisions.entries.all.values();
    if (first) first.record.domain_owners = proto;
    expect(readSnapshot(writeSnapshot(state))).toEqual(state);
  });

  test.each(["", "{", "null", "[]", '{"version":0,"state":{}}', '{"state":{}}', '{"version":2}'])(
    "of another version, or damaged, is none: %s",
    (text) => {
      expect(readSnapshot(text === "" ? [] : [text])).toBeUndefined();
    },
  );

  test("of a large state is many short lines, each made when it is asked for", () => {
    const state = emptyState();
    for (let n = 0; n < 5_000; n += 1) {
      state.notices.told.set(`key ${n}`, n);
      state.decisions.unrecorded.add(`proposal ${n}`);
      state.notices.notices.push({ at: n, cause: "x", peer: "a", subject: "", detail: "" });
    }
    const refused = { ranges: [], lastTaken: 0 };
    const taken = { refused, more: undefined, readFloor: 0, news: undefined };
    for (let log = 0; log < 70; log += 1) {
      const unread = noUnread();
      for (let line = 1; line <= 100; line += 1) {
        addUnread(unread, { id: eventId(`line ${line}`), line, at: log, thread: "t" });
      }
      state.receipts.taken.set(`$map ${log}`, { ...taken, unread });
    }
    const lines = [...writeSnapshot(state)];
    expect(readSnapshot(lines)).toEqual(state);
    expect(lines.length).toBeGreaterThan(8);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(80_000);
    const [first] = writeSnapshot(state);
    expect(first?.length).toBeLessThan(2_000);
    for (const damaged of ["{}", "[1]", '[["nothing"],[]]', '[["logs"]]', '["logs",[]]', "["]) {
      expect(readSnapshot([...lines.slice(0, 3), damaged])).toBeUndefined();
    }
  });

  test("refuses numbers that JSON cannot say", () => {
    const state = emptyState();
    state.notices.told.set("x", Infinity);
    expect(() => [...writeSnapshot(state)]).toThrow(TypeError);
  });
});
