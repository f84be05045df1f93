// `npm run house`: prints the lines of each room of `src` beside its budget, and fails above one.
import { readdirSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";

/** Lines of each room at most. A room that is not listed has none. */
const BUDGETS = {
  ".": 150,
  wire: 2_700,
  trust: 2_600,
  protocol: 4_600,
  storage: 3_400,
  store: 6_300,
  carriers: 4_400,
  agent: 12_000,
  workers: 250,
  api: 1_400,
  client: 700,
  daemon: 3_400,
  framing: 700,
  sending: 1_700,
  setup: 6_200,
  library: 300,
  collab: 3_000,
  plans: 4_100,
  skills: 2_700,
  agents: 5_200,
  cli: 15_400,
};
/** Less than all rooms together: what one room gains another gives. */
const TOTAL = 80_000;

const rooms = new Map();
for (const name of readdirSync("src", { recursive: true, encoding: "utf8" })) {
  if (!name.endsWith(".ts")) continue;
  const room = name.includes(sep) ? name.split(sep)[0] : ".";
  const lines = readFileSync(join("src", name), "utf8").split("\n").length - 1;
  rooms.set(room, (rooms.get(room) ?? 0) + lines);
}

let total = 0;
for (const [room, lines] of [...rooms].sort(([, a], [, b]) => b - a)) {
  total += lines;
  report(room, lines, BUDGETS[room] ?? 0);
}
report("src", total, TOTAL);

function report(room, lines, budget) {
  console.log(`${room.padEnd(12)} ${String(lines).padStart(7)} of ${String(budget).padStart(7)}`);
  if (lines <= budget) return;
  console.error(
    `${room} is ${lines - budget} lines over its budget: delete what is no longer needed.`,
  );
  process.exitCode = 1;
}
