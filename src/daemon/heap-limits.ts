import { createRequire } from "node:module";
import { setFlagsFromString } from "node:v8";
import type * as Koffi from "koffi";

/** A trim takes some milliseconds, and an agent at work is quiet again and again. */
const BETWEEN_TRIMS_MS = 20_000;

/**
 * Without limits Node lets its heap grow to several times what is in use before it collects the
 * rest: a flood of lines would cost a daemon a hundred megabytes for nothing. Both values limit
 * growth, so they do no harm to a heap that has to be large. The second one holds until a first thread
 * is started to check signatures: V8 sets it back then, and a flood takes less CPU without it.
 */
export function keepHeapSmall(): void {
  setFlagsFromString("--heap-growing-percent=30");
  setFlagsFromString("--semi-space-growth-factor=1");
}

/**
 * V8 looks every eight seconds whether it can give back what a flood made the heap take, in steps of some
 * milliseconds. It does so while little is allocated; but of a process that allocates nothing it knows no
 * rate, and goes on waiting. With this flag it does not ask for the rate.
 */
function letHeapShrink(isQuiet: boolean): void {
  setFlagsFromString(isQuiet ? "--optimize-for-size" : "--no-optimize-for-size");
}

/**
 * Gives memory back while the daemon is quiet: told of each beginning and end of that. It has no timer: what
 * V8 frees later goes with the next beat.
 */
export function giveBackWhenQuiet(trim = mallocTrim()): (isQuiet: boolean) => void {
  let trimmedMs = -Infinity;
  return (isQuiet) => {
    letHeapShrink(isQuiet);
    const nowMs = performance.now();
    if (!isQuiet || nowMs - trimmedMs < BETWEEN_TRIMS_MS) return;
    trimmedMs = nowMs;
    trim?.();
  };
}

/**
 * malloc_trim(3) of the GNU C library, through koffi; undefined where there is no such function. The
 * library keeps memory that was freed within its heap: 15 to 18 MiB after a million lines.
 * @internal
 */
export function mallocTrim(): (() => void) | undefined {
  try {
    const koffi = createRequire(import.meta.url)("koffi") as typeof Koffi;
    const trim = koffi.load(null).func("int malloc_trim(size_t)") as (pad: number) => number;
    return () => void trim(0);
  } catch {
    // Another C library, or koffi does not load: then memory stays where it is.
    return undefined;
  }
}
