import { setFlagsFromString } from "node:v8";

/**
 * Left alone, Node lets its heap grow to several times what is in use before it clears away what is
 * not: a flood of lines would cost a daemon a hundred megabytes for nothing. Both are limits of
 * growth, so they do no harm to a heap that is large for a reason.
 */
export function keepHeapSmall(): void {
  setFlagsFromString("--heap-growing-percent=30");
  setFlagsFromString("--semi-space-growth-factor=1");
}
