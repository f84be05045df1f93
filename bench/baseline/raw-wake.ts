// A process of its own: the least that a delivery is. Wakes when a file grows, writes what is new to
// another one and syncs it.
import { closeSync, fdatasyncSync, fstatSync, openSync, readSync, watch, writeSync } from "node:fs";

const [from = "", to = ""] = process.argv.slice(2);
const source = openSync(from, "r");
const target = openSync(to, "a");
let at = 0;
const watcher = watch(from, () => {
  const bytes = Buffer.alloc(Math.max(0, fstatSync(source).size - at));
  if (bytes.length === 0) return;
  at += readSync(source, bytes, 0, bytes.length, at);
  writeSync(target, bytes);
  fdatasyncSync(target);
});
process.once("SIGTERM", () => {
  watcher.close();
  closeSync(source);
  closeSync(target);
});
process.stdout.write("ready\n");
