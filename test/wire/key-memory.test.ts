import { describe, expect, it } from "vitest";
import { recallKey, rememberKey } from "../../src/wire/key-memory.ts";

const longest = "k".repeat(32);

describe("keys met lately", () => {
  it("are found again where they stand in a text", () => {
    for (const key of ["subject", "ack_required", "é😀", "", longest]) {
      rememberKey(key);
      expect(recallKey(`{"${key}":1}`, 2)).toBe(key);
      expect(recallKey(`{"before":0,"${key}":1}`, 13)).toBe(key);
    }
  });

  it("are taken for no other key", () => {
    rememberKey("subject");
    rememberKey(longest);
    for (const other of [
      "subjects",
      "subjec",
      "subjecT",
      "Subject",
      "",
      `${longest}k`,
      "tcejbus",
    ]) {
      expect(recallKey(`{"${other}":1}`, 2)).not.toBe("subject");
      expect(recallKey(`{"${other}":1}`, 2)).not.toBe(longest);
    }
  });

  it("are not found where the text ends before they do", () => {
    rememberKey("subject");
    rememberKey(longest);
    expect(recallKey('{"subject', 2)).toBeUndefined();
    expect(recallKey('{"subj', 2)).toBeUndefined();
    expect(recallKey(`{"${longest}`, 2)).toBeUndefined();
  });

  it("are forgotten at once when they are long", () => {
    const long = `${longest}k`;
    rememberKey(long);
    expect(recallKey(`{"${long}":1}`, 2)).toBeUndefined();
    expect(recallKey(`{"${long}${long}":1}`, 2)).toBeUndefined();
  });

  it("give way to a later key with the same place", () => {
    // As in other hashes that multiply by 31, "Aa" and "BB" meet.
    for (const [earlier, later] of [
      ["Aa", "BB"],
      ["BB", "Aa"],
    ] as const) {
      rememberKey(earlier);
      rememberKey(later);
      expect(recallKey(`{"${later}":1}`, 2)).toBe(later);
      expect(recallKey(`{"${earlier}":1}`, 2)).toBeUndefined();
    }
  });
});
