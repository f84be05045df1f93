import { describe, expect, it } from "vitest";
import { documentStep, mergedJson } from "../../../src/transport/copies/documents.ts";

describe("a document", () => {
  it.each([
    // local, remote, agreed, everybody's, mergeable
    ["a", "a", undefined, "same", "same"],
    ["a", "a", "b", "same", "same"],
    ["a", undefined, undefined, "push", "push"],
    ["a", undefined, "a", "push", "push"],
    [undefined, "a", undefined, "take", "take"],
    [undefined, "a", "a", "take", "take"],
    ["a", "b", "a", "take", "take"],
    ["b", "a", "a", "push", "push"],
    ["b", "c", "a", "take", "merge"],
    ["b", "c", undefined, "take", "merge"],
  ] as const)("of all: here %s, there %s, before %s", (local, remote, agreed, plain, merging) => {
    const state = { local, remote, agreed };
    expect(documentStep(state, "everybody's", false)).toBe(plain);
    expect(documentStep(state, "everybody's", true)).toBe(merging);
  });

  it("of ours is pushed, and of another is taken, whatever was before", () => {
    for (const agreed of [undefined, "a", "b", "c"]) {
      const state = { local: "a", remote: "b", agreed };
      expect(documentStep(state, "ours", false)).toBe("push");
      expect(documentStep(state, "another's", false)).toBe("take");
      expect(documentStep({ ...state, local: undefined }, "ours", false)).toBe("same");
      expect(documentStep({ ...state, remote: undefined }, "another's", false)).toBe("same");
    }
  });
});

describe("two JSON objects", () => {
  const merged = (a: unknown, b: unknown): unknown => {
    const text = mergedJson(JSON.stringify(a), JSON.stringify(b));
    return text === undefined ? undefined : JSON.parse(text);
  };

  it("become one with what both have; the first counts where they contradict", () => {
    expect(merged({ a: { x: 1 }, v: 1 }, { a: { y: 2 }, v: 2, w: 3 })).toEqual({
      ...{ a: { x: 1, y: 2 }, v: 1, w: 3 },
    });
    expect(merged({ keys: [{ id: 1 }, { id: 2 }] }, { keys: [{ id: 2 }, { id: 3 }] })).toEqual({
      keys: [{ id: 1 }, { id: 2 }, { id: 3 }],
    });
    expect(merged({ a: [1] }, { a: { b: 1 } })).toEqual({ a: [1] });
  });

  it("are not merged unless both are objects", () => {
    expect(mergedJson("{}", "[]")).toBeUndefined();
    expect(mergedJson("{", "{}")).toBeUndefined();
    expect(mergedJson("{}", "null")).toBeUndefined();
  });

  it("may have a key that objects have by themselves", () => {
    const text = mergedJson('{"__proto__":{"a":1}}', '{"constructor":2}') ?? "";
    expect(Object.keys(JSON.parse(text) as object)).toEqual(["__proto__", "constructor"]);
    expect(({} as Record<string, unknown>)["a"]).toBeUndefined();
  });
});
