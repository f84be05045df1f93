import { afterEach, beforeEach, expect, test } from "vitest";
import { shareOf } from "../../src/audit/lines-ahead.ts";
import type { VerifyAll } from "../../src/wire/signature.ts";
import { verifyHere } from "../support/verify-here.ts";
import { PINNED, WireOnDisk } from "./wire-on-disk.ts";

let wire: WireOnDisk;
beforeEach(() => {
  wire = new WireOnDisk();
});
afterEach(() => {
  wire.remove();
});

test("every signature is checked once, in batches of a bounded size", async () => {
  for (let at = 0; at < 700; at += 1) wire.say("forge", { subject: `${at}` });
  for (let at = 0; at < 20; at += 1) wire.say("scribe", { subject: `${at}` });
  const batches: number[] = [];
  const counting: VerifyAll = (items) => {
    batches.push(items.length);
    return verifyHere(items);
  };
  expect(await wire.audit(PINNED, undefined, counting)).toMatchObject({
    messages: 720,
    violations: [],
  });
  // The end of a source is an empty batch.
  expect(batches.filter((size) => size > 0).toSorted((a, b) => a - b)).toEqual([20, 188, 512]);
});

test("the signatures of the next batch are asked for before those of one are known", async () => {
  for (let at = 0; at < 600; at += 1) wire.say("forge", { subject: `${at}` });
  const answers: (() => void)[] = [];
  const waiting: VerifyAll = (items) =>
    new Promise((resolve, reject) => {
      answers.push(() => void verifyHere(items).then(resolve, reject));
    });
  const audit = wire.audit(PINNED, undefined, waiting);
  expect(answers).toHaveLength(2);
  const timer = setInterval(() => answers.splice(0).forEach((answer) => answer()), 1);
  expect(await audit).toMatchObject({ messages: 600, violations: [] });
  clearInterval(timer);
});

test("many sources share what is read ahead", () => {
  for (const sources of [0, 1, 8, 100, 10_000]) {
    const { lines, bytes } = shareOf(sources);
    expect(lines).toBeGreaterThan(0);
    expect(lines).toBeLessThanOrEqual(512);
    expect(lines * sources).toBeLessThanOrEqual(Math.max(4_096, sources));
    expect(bytes * sources).toBeLessThanOrEqual(8 * 1_048_576);
  }
});
