// `npm run house`: prints the lines of each room of `src` beside its budget, and fails above one.
import { readdirSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";

const ROOMS = JSON.parse(readFileSync("build/rooms.json", "utf8"));
/** src/index.ts. */
const INDEX = 50;
/** Less than all rooms together: what one room gains another gives. */
const TOTAL = 75_700;

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
  report(room, lines, room === "." ? INDEX : (ROOMS[room]?.lines ?? 0));
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
