import { describe, expect, it } from "vitest";
import { closest } from "../../src/wire/suggest.ts";

describe("closest", () => {
  it.each([
    ["scrbe", "scribe"],
    ["scirbe", "scribe"],
    ["SCRIBE", "scribe"],
    ["scribes", "scribe"],
    ["mson", "mason"],
    ["forge", "forge"],
  ])("takes %s for %s", (word, meant) => {
    expect(closest(word, ["mason", "scribe", "forge"])).toBe(meant);
  });

  it.each(["", "x", "builder", "scr"])("has nothing for %j", (word) => {
    expect(closest(word, ["mason", "scribe", "forge"])).toBeUndefined();
  });
});
