import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { FinalReport } from "../../../src/plans/report/final-report.ts";
import { makeWire, type Daemon, type Line, type LiveWire } from "./live-wire.ts";
import { BIN, start, until, type Ended, type Started } from "./real-processes.ts";

export const PLAN_ADAPTER = fileURLToPath(new URL("plan-adapter.js", import.meta.url));
export const EXEC = `${process.execPath} ${PLAN_ADAPTER}`;

/** Agents with daemons on one wire, and a project in which they work at plans. */
export interface PlanTeam {
  readonly wire: LiveWire;
  readonly daemons: ReadonlyMap<string, Daemon>;
  readonly project: string;
  /** A file of the project. */
  write(name: string, text: string): string;
  read(name: string): string;
  /** What the adapter does with each step. */
  behave(behaviour: Readonly<Record<string, string>>): void;
  /** Steps that were worked at, as `plan step attempt`. */
  worked(): string[];
  /** A command of an agent, in the project's folder. */
  run(handle: string, ...args: readonly string[]): Started;
  done(handle: string, ...args: readonly string[]): Promise<Ended>;
  worker(handle: string, ...args: readonly string[]): Promise<Started>;
  /** All messages of that type on the wire, of all agents. */
  said(type: string): Line[];
  finalReport(planId: string): FinalReport;
}

export async function planTeam(handles: readonly string[]): Promise<PlanTeam> {
  const wire = makeWire({ handles });
  const [first, second] = handles;
  const logs =
    handles.length === 2
      ? [`${first}_to_${second}.jsonl`, `${second}_to_${first}.jsonl`]
      : handles.map((handle) => `outbox/${handle}.jsonl`);
  const carriers = new Map(handles.map((handle, at) => [handle, logs[at] ?? ""]));
  const started = handles.map(async (handle) => [handle, await wire.daemon(handle)] as const);
  const daemons = new Map(await Promise.all(started));
  const project = join(wire.folder, "project");
  mkdirSync(join(project, "agent"), { recursive: true });
  const run = (handle: string, ...args: readonly string[]): Started => {
    const [command = "", ...rest] = args;
    const flags = ["--wire", wire.dir, "--as", handle];
    const words = [BIN, command, ...flags, ...rest];
    return start(process.execPath, words, { env: wire.env, cwd: project, input: "" });
  };
  const read = (name: string) => readFileSync(join(project, name), "utf8");
  return {
    wire,
    daemons,
    project,
    run,
    read,
    write(name, text) {
      const path = join(project, name);
      writeFileSync(path, text);
      return path;
    },
    behave(behaviour) {
      writeFileSync(join(project, "behaviour.json"), JSON.stringify(behaviour));
    },
    worked: () =>
      existsSync(join(project, "worked.log"))
        ? read("worked.log")
            .split("\n")
            .filter((line) => line !== "")
        : [],
    done: (handle, ...args) => run(handle, ...args).ended,
    async worker(handle, ...args) {
      const worker = run(handle, "plan", "work", "--exec", EXEC, ...args);
      const lock = join(wire.paths(handle).stateDir, "plan-work.lock");
      await until(`the worker of ${handle} runs: ${worker.stderr()}`, () => {
        if (worker.child.exitCode !== null) throw new Error(worker.stderr());
        return existsSync(lock) && readFileSync(lock, "utf8").includes(String(worker.pid));
      });
      return worker;
    },
    said: (type) =>
      [...carriers].flatMap(([handle, log]) =>
        // A carrier may hold copies of lines of others too.
        existsSync(join(wire.dir, log))
          ? wire.lines(log).filter((line) => line.type === type && line.from === handle)
          : [],
      ),
    finalReport: (planId) =>
      JSON.parse(read(`agent/artifacts/plans/${planId}/report.json`)) as FinalReport,
  };
}
