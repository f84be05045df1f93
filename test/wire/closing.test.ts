import { describe, expect, test } from "vitest";
import {
  closingBody,
  closingLineOf,
  continuingBody,
  saysClosed,
  saysContinued,
} from "../../src/wire/roster/closing.ts";
import { fromPlain } from "../../src/wire/json/json.ts";
import {
  answerLog,
  closedProblems,
  logsBefore,
  logsTo,
  makeLayout,
  openLogs,
  ownLogs,
  pairNames,
  writtenTo,
  type Log,
} from "../../src/wire/layout.ts";
import type { Message } from "../../src/wire/message.ts";

const ID = "1".repeat(64);
type Line = Parameters<typeof saysClosed>[0];

function line(change: Partial<Message> = {}): Line {
  return {
    type: "correction",
    from: "a",
    version: "v3.1",
    id: ID,
    log: "a_to_b",
    seq: 7,
    prev: "0".repeat(64),
    body: closingBody("a_to_b", "a"),
    ...change,
  };
}

describe("the line that closes a log", () => {
  const log = { into: "a" };

  test("is a chained correction that names the log and its author's outbox", () => {
    expect(closingLineOf(line(), log)).toEqual({ seq: 7, id: ID });
  });

  test.each<[string, Partial<Message>]>([
    ["of another type", { type: "feedback" }],
    ["unchained", { version: "v2.0" }],
    ["without a place in the chain", { seq: undefined }],
    ["about another log", { body: closingBody("a_to_c", "a") }],
    ["into another outbox", { body: closingBody("a_to_b", "b") }],
    ["that says nothing", { body: fromPlain({}) }],
    ["whose body is a text", { body: "closes" }],
    ["of another author", { from: "b", body: closingBody("a_to_b", "b") }],
  ])("is not one %s", (_name, change) => {
    expect(closingLineOf(line(change), log)).toBeUndefined();
  });

  test("is an ordinary correction where the layout does not close that log", () => {
    expect(closingLineOf(line(), {})).toBeUndefined();
    expect(saysClosed(line())).toBe(true);
  });

  test("is followed by an outbox whose first line names it", () => {
    const body = continuingBody([{ log: "a_to_b", seq: 7, id: ID }]);
    expect(body).toEqual({ continues: [{ log: "a_to_b", seq: 7, event_id: ID }] });
    expect(saysContinued(line({ body, log: "a", seq: 1 }))).toBe(true);
    expect(saysContinued(line({ body, log: "a", seq: 2 }))).toBe(false);
    expect(saysContinued(line({ seq: 1 }))).toBe(false);
  });
});

describe("an outbox layout with closed logs", () => {
  const roster = ["c", "a", "b"];
  const layout = makeLayout("outbox", roster, undefined, pairNames(roster));
  const log = (name: string): Log => layout.logs.get(name)!;
  const names = (logs: readonly Log[]): string[] => logs.map(({ name }) => name);

  test("has the logs of the pairs before the outboxes", () => {
    expect([...layout.logs.keys()].slice(-3)).toEqual(roster);
    expect(names(ownLogs(layout, "a"))).toEqual(["a_to_c", "a_to_b", "a"]);
    expect(names(openLogs(layout, "a"))).toEqual(["a"]);
  });

  test("goes on with them in the order of their readers", () => {
    expect(names(logsBefore(layout, log("a")))).toEqual(["a_to_b", "a_to_c"]);
    expect(logsBefore(layout, log("a_to_b"))).toEqual([]);
    expect([log("a_to_b"), log("a")].map((each) => writtenTo(each))).toEqual(["a", "a"]);
  });

  test("answers what is in the log of a pair in the other log of that pair", () => {
    expect(answerLog(layout, log("a_to_b"), "b")?.name).toBe("b_to_a");
    expect(answerLog(layout, log("a_to_b"), "c")).toBeUndefined();
    expect(answerLog(layout, log("a"), "b")?.name).toBe("b");
  });

  test("writes to outboxes alone", () => {
    expect(names(logsTo(layout, "a", ["b", "c"]))).toEqual(["a"]);
  });

  test("has no closed logs of an agent that came later", () => {
    const later = makeLayout("outbox", [...roster, "d"], undefined, pairNames(roster));
    expect(names(ownLogs(later, "d"))).toEqual(["d"]);
    expect(log("a").continues).toEqual(later.logs.get("a")?.continues);
  });

  test("takes no closed log that belongs to no pair, or has the name of an outbox", () => {
    expect(closedProblems(roster, pairNames(roster))).toEqual([]);
    expect(closedProblems(roster, ["a_to_x"])).toHaveLength(1);
    expect(closedProblems(["a", "b", "a_to_b"], ["a_to_b"])).toHaveLength(1);
  });
});
