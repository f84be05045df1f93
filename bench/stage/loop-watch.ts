// Loaded into a process that is measured. Writes the longest step of its loop, in milliseconds, to
// the file that DEADDROP_BENCH_LOOP names: at SIGUSR2, which begins again, and at its end.
import { closeSync, openSync, readSync, renameSync, writeFileSync } from "node:fs";

const EVERY_MS = 5;
const NS_PER_MS = 1e6;
const file = process.env["DEADDROP_BENCH_LOOP"];

/** How long this thread was ready and another one had the core: no part of a step of ours. */
function openWaited(): () => number {
  let stat: number;
  try {
    stat = openSync(`/proc/self/task/${process.pid}/schedstat`, "r");
  } catch {
    return () => 0;
  }
  process.once("exit", () => closeSync(stat));
  const bytes = Buffer.alloc(64);
  return () => {
    const text = bytes.toString("latin1", 0, readSync(stat, bytes, 0, bytes.length, 0));
    return Number(text.split(" ")[1]) / NS_PER_MS;
  };
}

if (file !== undefined) {
  const waited = openWaited();
  let longestMs = 0;
  let [lastMs, lastWaitedMs] = [performance.now(), waited()];
  setInterval(() => {
    const [nowMs, nowWaitedMs] = [performance.now(), waited()];
    longestMs = Math.max(longestMs, nowMs - lastMs - EVERY_MS - (nowWaitedMs - lastWaitedMs));
    [lastMs, lastWaitedMs] = [nowMs, nowWaitedMs];
  }, EVERY_MS).unref();
  const write = (): void => {
    writeFileSync(`${file}.new`, JSON.stringify({ longestMs }));
    renameSync(`${file}.new`, file);
    longestMs = 0;
  };
  process.on("SIGUSR2", write);
  process.once("exit", write);
}
