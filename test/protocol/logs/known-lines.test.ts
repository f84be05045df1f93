import { describe, expect, test } from "vitest";
import {
  forgetPlain,
  knownLine,
  learnDeciding,
  learnPlain,
  noKnownLines,
  numberThread,
} from "../../../src/protocol/logs/known-lines.ts";
import { eventId } from "../../support/scripts/event-id.ts";

/** Threads of messages that decide nothing: how many of a's log each one has. */
function threadsOf(...sizes: readonly number[]) {
  const names = noKnownLines();
  let line = 0;
  const threads = sizes.map((size) => {
    const thread = numberThread(names);
    const lines = Array.from({ length: size }, () => {
      line += 1;
      learnPlain(names, "a", { id: eventId(`line ${line}`), line, thread });
      return line;
    });
    return { thread, lines };
  });
  const isKnown = (each: number): boolean =>
    knownLine(names, "a", eventId(`line ${each}`))?.line === each;
  return { names, threads, isKnown };
}

describe("a message that decides nothing", () => {
  test("is known by its log and its id", () => {
    const { names, isKnown } = threadsOf(2, 1);
    expect([1, 2, 3, 4].map(isKnown)).toEqual([true, true, true, false]);
    expect(knownLine(names, "a", eventId("line 3"))).toEqual({ line: 3, proposalIn: undefined });
    expect(knownLine(names, "b", eventId("line 3"))).toBeUndefined();
    expect(knownLine(names, "a", "no id")).toBeUndefined();
  });

  test("is forgotten with its thread, at once", () => {
    const { names, threads, isKnown } = threadsOf(1, 8);
    const [{ thread } = { thread: 0 }] = threads;
    forgetPlain(names, thread, new Map([["a", 1]]));
    expect([1, 2, 9].map(isKnown)).toEqual([false, true, true]);
    expect(names.plain.get("a")).toMatchObject({ forgotten: 1, lines: { length: 9 } });
  });

  test("is taken out when more than a quarter of its log is forgotten", () => {
    const { names, threads, isKnown } = threadsOf(1, 1, 2, 4);
    for (const { thread, lines } of threads.slice(0, 2)) {
      forgetPlain(names, thread, new Map([["a", lines.length]]));
    }
    expect(names.plain.get("a")).toMatchObject({ forgotten: 2, lines: { length: 8 } });
    forgetPlain(names, threads[2]?.thread ?? 0, new Map([["a", 2]]));
    expect(names.plain.get("a")).toMatchObject({
      forgotten: 0,
      lines: [5, 6, 7, 8],
      threads: Array(4).fill(threads[3]?.thread),
    });
    expect([1, 2, 3, 4, 5, 6, 7, 8].map(isKnown)).toEqual([
      ...[false, false, false, false, true, true, true, true],
    ]);
  });

  test("that is told again after its thread was forgotten is known in its new thread", () => {
    const { names, threads, isKnown } = threadsOf(1, 8);
    forgetPlain(names, threads[0]?.thread ?? 0, new Map([["a", 1]]));
    const thread = numberThread(names);
    expect(thread).toBe(3);
    learnPlain(names, "a", { id: eventId("line 1"), line: 1, thread });
    expect(isKnown(1)).toBe(true);
    forgetPlain(names, thread, new Map([["a", 1]]));
    expect(isKnown(1)).toBe(false);
  });

  test("of a thread without any is nothing to forget", () => {
    const { names, threads, isKnown } = threadsOf(0, 1);
    forgetPlain(names, threads[0]?.thread ?? 0, new Map([["nowhere", 1]]));
    expect([isKnown(1), [...names.threads]]).toEqual([true, [2]]);
  });
});

test("a proposal says in which thread it is", () => {
  const names = noKnownLines();
  learnDeciding(names, "a", "p", { line: 4, proposalIn: "key" });
  expect(knownLine(names, "a", "p")).toEqual({ line: 4, proposalIn: "key" });
});
