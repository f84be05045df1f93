import { spawnSync } from "node:child_process";
import type { Plan } from "../plan.ts";
import { rowAlone, type Row } from "../row.ts";
import { checkout, has } from "../stage/processes.ts";

const MINUTE_MS = 60_000;

/** P19: the README's test command on two cores. Taken only when it is named: --row P19. */
export function benchTestCommand(_plan: Plan): Promise<Row[]> {
  const what = "npm test on two cores";
  if (!has("taskset"))
    return Promise.resolve([{ id: "P19", what, skipped: "there is no taskset" }]);
  const startedMs = performance.now();
  const done = spawnSync("taskset", ["-c", "0,1", "npm", "test"], {
    cwd: checkout,
    stdio: ["ignore", "ignore", "inherit"],
  });
  const minutes = (performance.now() - startedMs) / MINUTE_MS;
  const verdict = done.status === 0 ? "all passed" : `ended with ${done.status}`;
  return Promise.resolve([
    rowAlone({ id: "P19", what: `${what} (${verdict})`, unit: "minutes", target: { atMost: 6 } }, [
      { value: minutes },
    ]),
  ]);
}
