import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { amount } from "../../support/amounts.ts";
import { fileOf, NoticeWire, written } from "../../support/notice-wire.ts";

// The store is the record of notices: no death of the process tells one twice, or loses one.

const root = mkdtempSync(join(tmpdir(), "deaddrop-notices-"));
afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});

const DEATHS = amount(12, 48);

test("neither a restart nor a kill tells anything twice, and the file is made again from the store", async () => {
  const wire = await NoticeWire.begin(root, "forge", "scribe");
  const forge = wire.agent("forge");
  for (let steps = 0; steps < DEATHS; steps += 1) {
    const ask = forge.propose(`ask ${steps}`, ["scribe"]);
    await wire.settle(2);
    wire.agent("scribe").answer(ask, true);
    wire.agent("scribe").core.publish();
    forge.dieIn(steps);
    try {
      await wire.pass(1_000, "forge");
    } catch {
      // It has died on the way.
    }
    forge.die();
    await wire.settle(2);
  }
  rmSync(fileOf(forge));
  await wire.settle(1);
  const plain = wire.list("forge").map(({ read: _, ...notice }) => notice);
  expect(plain.map(({ kind }) => kind)).toEqual(Array<string>(DEATHS).fill("approved"));
  expect(written(forge)).toEqual(plain);
});
