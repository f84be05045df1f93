import { describe, expect, it } from "vitest";
import { answerLog, logsTo, makeLayout, ownLogs, type Log } from "../../src/wire/layout.ts";

const names = (logs: Iterable<Log>): string[] => [...logs].map(({ name }) => name);

describe("layout pairwise", () => {
  const layout = makeLayout("pairwise", ["a", "b", "c"]);
  const log = (name: string): Log => layout.logs.get(name)!;

  it("has a log for each ordered pair", () => {
    expect([...layout.logs.keys()].sort()).toEqual([
      "a_to_b",
      "a_to_c",
      "b_to_a",
      "b_to_c",
      "c_to_a",
      "c_to_b",
    ]);
    expect(log("a_to_b")).toEqual({
      name: "a_to_b",
      owner: "a",
      addressee: "b",
      path: "a_to_b.jsonl",
    });
    expect(names(ownLogs(layout, "b"))).toEqual(["b_to_a", "b_to_c"]);
    expect(ownLogs(layout, "x")).toEqual([]);
  });

  it("answers in the other direction", () => {
    expect(answerLog(layout, log("a_to_b"), "b")).toBe(log("b_to_a"));
    expect(answerLog(layout, log("a_to_b"), "a")).toBeUndefined();
    expect(answerLog(layout, log("a_to_b"), "c")).toBeUndefined();
  });

  it("writes to each recipient's log", () => {
    expect(names(logsTo(layout, "a", ["b"]))).toEqual(["a_to_b"]);
    expect(names(logsTo(layout, "a", ["c", "b", "c"]))).toEqual(["a_to_b", "a_to_c"]);
    expect(names(logsTo(layout, "a", ["*"]))).toEqual(["a_to_b", "a_to_c"]);
    expect(names(logsTo(layout, "a", ["a", "x"]))).toEqual([]);
    expect(names(logsTo(layout, "x", ["*"]))).toEqual([]);
  });

  it("keeps handles apart that a split file name would confuse", () => {
    const odd = makeLayout("pairwise", ["a_to_b", "c"]);
    expect(odd.logs.get("a_to_b_to_c")).toMatchObject({ owner: "a_to_b", addressee: "c" });
  });
});

describe("layout outbox", () => {
  const layout = makeLayout("outbox", ["a", "b", "c"]);
  const log = (name: string): Log => layout.logs.get(name)!;

  it("has a log for each agent", () => {
    expect([...layout.logs.keys()]).toEqual(["a", "b", "c"]);
    expect(log("a")).toEqual({
      name: "a",
      owner: "a",
      addressee: undefined,
      path: "outbox/a.jsonl",
    });
    expect(names(ownLogs(layout, "b"))).toEqual(["b"]);
  });

  it("answers in one's own log", () => {
    expect(answerLog(layout, log("a"), "b")).toBe(log("b"));
    expect(answerLog(layout, log("a"), "a")).toBeUndefined();
    expect(answerLog(layout, log("a"), "x")).toBeUndefined();
  });

  it("writes to one's own log, once", () => {
    expect(names(logsTo(layout, "a", ["b", "c"]))).toEqual(["a"]);
    expect(names(logsTo(layout, "a", ["*"]))).toEqual(["a"]);
    expect(names(logsTo(layout, "a", ["x"]))).toEqual([]);
    expect(names(logsTo(layout, "a", ["x", "b"]))).toEqual(["a"]);
    expect(names(logsTo(layout, "x", ["b"]))).toEqual([]);
  });
});
