import { expect, test } from "vitest";
import { makeGate } from "../../../src/agents/mcp/gate.ts";

/** Work that ends when it is told to. */
function heldWork() {
  const ends: (() => void)[] = [];
  const work = (): Promise<string> =>
    new Promise((resolve) => {
      ends.push(() => resolve("done"));
    });
  return { work, ends };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("16 calls run at once, the others in their order, and beyond 4,096 that wait they are refused", async () => {
  const gate = makeGate();
  const { work, ends } = heldWork();
  const calls = Array.from({ length: 16 + 4_096 }, () => gate(work));
  await settled();
  expect(ends).toHaveLength(16);
  await expect(gate(work)).rejects.toThrow("too many calls wait already");
  ends[3]?.();
  await settled();
  expect(ends).toHaveLength(17);
  for (let at = 0; at < 16 + 4_096; at += 1) {
    ends[at]?.();
    if (at % 16 === 15) await settled();
  }
  expect(new Set(await Promise.all(calls))).toEqual(new Set(["done"]));
});

test("a call that fails gives its turn on", async () => {
  const gate = makeGate();
  for (let call = 0; call < 40; call += 1) {
    await expect(gate(() => Promise.reject(new Error("it fails")))).rejects.toThrow("it fails");
  }
  expect(await gate(async () => "done")).toBe("done");
});

test("eight may wait for mail, and take nobody's turn", async () => {
  const gate = makeGate();
  const { work, ends } = heldWork();
  const waits = Array.from({ length: 8 }, () => gate(work, true));
  await expect(gate(work, true)).rejects.toThrow("too many calls wait already");
  expect(await gate(async () => "done")).toBe("done");
  for (const end of ends) end();
  expect(await Promise.all(waits)).toHaveLength(8);
});
