import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { verifyContext, verifyLine } from "../../src/admission/verify-lines.ts";

interface Vector {
  readonly name: string;
  readonly line: string;
  readonly verdict: "accept" | "refuse";
  readonly reason?: string;
}

const folder = new URL("../vectors/", import.meta.url);
const vectors = readFileSync(new URL("signed.jsonl", folder), "utf8")
  .trimEnd()
  .split("\n")
  .map((text) => JSON.parse(text) as Vector);
const context = verifyContext(readFileSync(new URL("trust.json", folder)), "trust.json");

test("the vectors are all there", () => {
  expect(vectors).toHaveLength(609);
  expect(context).toMatchObject({ ok: true, problems: [] });
});

test.each(vectors)("$name: $verdict $reason", ({ line, verdict, reason }) => {
  if (!context.ok) throw new Error(context.detail);
  const judged = verifyLine(new TextEncoder().encode(line), context.ctx);
  expect(judged).toMatchObject(verdict === "accept" ? { ok: true } : { ok: false, reason });
});
