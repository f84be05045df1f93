import type { Play } from "../play.ts";
import { kept } from "./broken.ts";

/** Minutes in which a line reaches all hosts: the longest cadence, and what a host waits after trouble. */
const MOST_CARRIED = 45;
const MINUTE_MS = 60_000;

/** Passes time until each host has what is in the logs now, and has read it. */
export async function carryAll({ stage, ledger, copies }: Play): Promise<void> {
  if (stage.remote === undefined) return;
  const counts = new Map(stage.logs.map(({ name }) => [name, ledger.standing(name).length]));
  for (let minute = 0; minute < MOST_CARRIED && !copies.haveAll(counts); minute += 1)
    await stage.pass(MINUTE_MS);
  kept(6, copies.haveAll(counts), () => "what is in a log does not reach all hosts");
  await stage.pass(MINUTE_MS);
}
