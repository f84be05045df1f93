import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { amount } from "../support/amounts.ts";
import { CoreStorm } from "../support/core-storm.ts";

// Agents say, ask, answer and read at random, while processes die at any change of a file, stores are lost or
// replaced by older ones, and the files of the wire are damaged. Once it is calm, everybody holds the same.

const root = mkdtempSync(join(tmpdir(), "deaddrop-storm-"));
afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});

const FIRST_SEED = Number(process.env["DEADDROP_SEED"] ?? 1);

test("after each storm all agents hold what was sent, once, and agree on what became of it", async () => {
  for (let seed = FIRST_SEED; seed < FIRST_SEED + amount(6, 400); seed += 1) {
    const storm = new CoreStorm(root, seed);
    try {
      await storm.rage(120);
      await storm.calm();
      storm.check();
    } catch (cause) {
      throw new Error(`seed ${seed}:\n${storm.told.join("\n")}`, { cause });
    } finally {
      storm.wire.close();
    }
    expect(storm.sent).toBeGreaterThan(5);
    rmSync(storm.wire.root, { recursive: true });
  }
});
