import { setFlagsFromString } from "node:v8";

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
export function letHeapShrink(isQuiet: boolean): void {
  setFlagsFromString(isQuiet ? "--optimize-for-size" : "--no-optimize-for-size");
}
