import { spawnSync } from "node:child_process";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { giveBackWhenQuiet, mallocTrim } from "../../src/daemon/heap-limits.ts";

describe("freed memory is given back", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
  afterEach(() => void vi.useRealTimers());

  test("when the daemon becomes quiet, every twenty seconds at the most", () => {
    const trim = vi.fn();
    const quiet = giveBackWhenQuiet(trim);
    quiet(false);
    expect(trim).toHaveBeenCalledTimes(0);
    quiet(true);
    expect(trim).toHaveBeenCalledTimes(1);
    vi.advanceTimersByTime(19_999);
    quiet(false);
    quiet(true);
    expect(trim).toHaveBeenCalledTimes(1);
    vi.advanceTimersByTime(1);
    quiet(false);
    expect(trim).toHaveBeenCalledTimes(1);
    quiet(true);
    expect(trim).toHaveBeenCalledTimes(2);
    quiet(false);
  });
});

test("the GNU C library returns to the system what lies freed between what is in use", (context) => {
  if (mallocTrim() === undefined) context.skip("this C library has no malloc_trim");
  const trimmed = spawnSync(process.execPath, [...NODE_ARGS, "-e", FREEING], { encoding: "utf8" });
  expect(trimmed.stderr).toBe("");
  expect(Number(trimmed.stdout)).toBeGreaterThan(40);
});

const MODULE = new URL("../../src/daemon/heap-limits.ts", import.meta.url).href;
const TYPESCRIPT = new URL("../support/typescript.js", import.meta.url).href;
const NODE_ARGS = ["--expose-gc", "--input-type=module", "--import", TYPESCRIPT];
/** Frees 80 MiB but for their end, and prints how many MiB the trim has given back. */
const FREEING = `
  import { mallocTrim } from ${JSON.stringify(MODULE)};
  import { readFileSync } from "node:fs";
  const trim = mallocTrim();
  const held = () => Number(/^RssAnon:\\s+(\\d+) kB/m.exec(readFileSync("/proc/self/status", "utf8"))[1]);
  let all = Array.from({ length: 20_000 }, () => Buffer.allocUnsafeSlow(4_096).fill(1));
  const end = all.at(-1);
  all = [];
  const before = held();
  let back = 0;
  // Node frees buffers a little after the collection of garbage.
  for (let turn = 0; turn < 100 && back < 40; turn += 1) {
    gc();
    await new Promise((resolve) => setTimeout(resolve, 20));
    trim();
    back = (before - held()) / 1_024;
  }
  process.stdout.write(String(back));
  if (end[0] !== 1) throw new Error("it was in use");
`;
