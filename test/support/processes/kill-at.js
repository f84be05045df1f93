// Preloaded with --import: the process dies by SIGKILL at the point that DEADDROP_KILL_AT names.
import childProcess from "node:child_process";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

const point = process.env.DEADDROP_KILL_AT;
const die = () => process.kill(process.pid, "SIGKILL");

const { spawn } = childProcess;
childProcess.spawn = (...args) => {
  if (point === "before the program starts") die();
  const child = spawn(...args);
  if (point === "after the program started") die();
  return child;
};

const { renameSync } = fs;
fs.renameSync = (from, to) => {
  const isReport = String(to).includes("plan-work/") && fs.statSync(from).size > 0;
  renameSync(from, to);
  if (point === "after the report was kept" && isReport) die();
};
syncBuiltinESMExports();
