import { availableParallelism, cpus, loadavg, totalmem } from "node:os";
import type { Plan } from "./plan.ts";
import type { Row } from "./row.ts";
import { filesystemKind } from "../src/storage/disk/fs-kind.ts";
import { checkout, printed } from "./stage/processes.ts";
import { tableMarkdown } from "./table.ts";

/** What a figure depends on besides the program. */
export interface MachineFacts {
  readonly date: string;
  readonly commit: string;
  readonly cores: number;
  readonly cpu: string;
  readonly memoryGib: number;
  readonly filesystem: string;
  readonly system: string;
  readonly node: string;
  /** Mean of a minute, before the first row. */
  readonly load: number;
}

export function machineFacts(): MachineFacts {
  return {
    date: new Date().toISOString().slice(0, 10),
    commit: printed("git", "-C", checkout, "rev-parse", "--short", "HEAD")?.trim() ?? "unknown",
    cores: availableParallelism(),
    cpu: cpus()[0]?.model ?? "unknown",
    memoryGib: Math.round(totalmem() / 1_024 ** 3),
    filesystem: filesystemKind(checkout).name,
    system: `${process.platform} ${process.arch}`,
    node: process.version,
    load: loadavg()[0] ?? 0,
  };
}

/** Measured by their authors on other machines. */
const PUBLISHED: readonly (readonly [what: string, figure: string])[] = [
  ["MCP Agent Mail (Python), send", "118.6 ms mean, 190.6 ms p99, 8.4 sends/s"],
  ["MCP Agent Mail (Rust line), mixed", "about 49 operations/s with a p99 of 2.6 s at 30 agents"],
  ["the Python dead-drop daemon, delivery", "polls every 2 s on one machine, every 90 s between"],
];

/** The page that keeps a run: what was measured, where, and what others publish. */
export function resultsText(machine: MachineFacts, plan: Plan, rows: readonly Row[]): string {
  const { date, commit, cores, cpu, memoryGib, filesystem, system, node, load } = machine;
  return [
    "# Results of the last quiet run",
    "",
    `${date}, commit ${commit}: ${cores} cores (${cpu}), ${memoryGib} GiB, ${filesystem}, ${system},`,
    `Node ${node}, load ${load.toFixed(2)} before the first row; scale ${plan.scale}.`,
    "`npm run bench -- --write` writes this page; [README.md](README.md) says what the rows are.",
    "",
    tableMarkdown(rows),
    "",
    publishedText(),
    "",
  ].join("\n");
}

/** What others publish, said to be theirs. */
export function publishedText(): string {
  return [
    "Published by others of their programs, on machines of theirs; not measured by us:",
    "",
    "| what | published figure |",
    "| --- | --- |",
    ...PUBLISHED.map(([what, figure]) => `| ${what} | ${figure} |`),
  ].join("\n");
}
