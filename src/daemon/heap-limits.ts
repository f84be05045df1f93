import { setFlagsFromString } from "node:v8";

/**
 * Without limits Node lets its heap grow to several times what is in use before it collects the
 * rest: a flood of lines would cost a daemon a hundred megabytes for nothing. Both values limit
 * growth, so they do no harm to a heap that has to be large.
 */
export function keepHeapSmall(): void {
  setFlagsFromString("--heap-growing-percent=30");
  setFlagsFromString("--semi-space-growth-factor=1");
}
