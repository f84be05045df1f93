// `npm run house`: prints the lines of each room of `src` beside its budget, and fails above one.
import { readdirSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";

/** Lines of each room at most. A room that is not listed has none. */
const BUDGETS = {
  ".": 50,
  wire: 2_250,
  trust: 2_450,
  protocol: 4_450,
  storage: 2_850,
  store: 5_650,
  carriers: 4_350,
  agent: 11_300,
  workers: 200,
  api: 1_600,
  client: 650,
  daemon: 3_300,
  framing: 650,
  verbs: 2_400,
  setup: 5_600,
  library: 240,
  collab: 2_800,
  plans: 3_750,
  skills: 2_550,
  agents: 4_650,
  cli: 13_900,
};
/** Less than all rooms together: what one room gains another gives. */
const TOTAL = 75_000;

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
