import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** Bytes that something on the heap still holds: what is garbage does not count. */
export function heapInUse(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}
