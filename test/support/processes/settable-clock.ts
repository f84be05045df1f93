import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { LiveWire } from "./live-wire.ts";

const SET_CLOCK = new URL("./set-clock.js", import.meta.url);

/** A wall clock that the daemons of a wire share, and that a test sets; `set` takes ms ahead. */
export function settableClock({ folder }: Pick<LiveWire, "folder">) {
  const control = join(folder, "clock");
  const set = (aheadMs: number): void => {
    // In one step: a daemon never reads half of it.
    writeFileSync(`${control}.new`, String(aheadMs));
    renameSync(`${control}.new`, control);
  };
  set(0);
  const nodeArgs = ["--import", `${SET_CLOCK.href}?${pathToFileURL(control).href}`];
  return { set, daemonOptions: { nodeArgs } };
}
