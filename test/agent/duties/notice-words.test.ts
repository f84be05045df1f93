import { expect, test } from "vitest";
import { quoteSubject } from "../../../src/agent/duties/notice-words.ts";
import type { Believed } from "../../../src/agent/lines/intake.ts";
import { corePlace } from "../../support/core-wire.ts";

// What a notice repeats of a peer's text. Spec 3.12.

function quoted(subject: string, said: Partial<Believed>, author = "scribe"): string {
  const place = corePlace("forge", ["forge", "scribe"]);
  const believed = (handle: string): Believed => ({ ...place.believed(handle), ...said });
  const files = { markPath: "", inboxPath: "" };
  return quoteSubject({ place: { ...place, ...files, believed } }, author, subject);
}

test("a subject is quoted from VERIFIED on, and that of our own agent always", () => {
  expect(quoted("Use tabs", { tier: "VERIFIED" })).toBe('"Use tabs"');
  expect(quoted("Use tabs", { tier: "UNTRUSTED" })).toBe('"(not shown: scribe is UNTRUSTED)"');
  expect(quoted("Use tabs", { blocked: true })).toBe('"(not shown: scribe is of no tier)"');
  expect(quoted("Use tabs", { tier: "UNTRUSTED" }, "forge")).toBe('"Use tabs"');
});

test("it is cut at 80 characters, ends at its own quotation marks, and steers no terminal", () => {
  expect(quoted("𝒳".repeat(81), {})).toBe(`"${"𝒳".repeat(80)}…"`);
  expect(quoted('a" and\u001b[2J more\u202e', {})).toBe(String.raw`"a' and\x1b[2J more\u202e"`);
});
