import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { CoreAgent } from "../../support/core-wire.ts";
import type { Act } from "./acts.ts";
import type { Stage } from "./stage.ts";

/** What happens to an agent, its disk, and the files of the wire. */
export const TROUBLES: readonly (readonly [weight: number, name: string, act: Act])[] = [
  [4, "will die soon", ({ luck }, agent) => agent.dieIn(luck.between(1, 13))],
  [2, "has a full disk soon", fillDisk],
  [1, "dies", die],
  [2, "loses its power", (stage, agent) => stage.cutPower(agent)],
  [1, "restarts", (_stage, agent) => agent.restart()],
  [1, "keeps a copy of its store", keepStore],
  [1, "loses its store", loseStore],
  [1, "gets an old store back", putBackStore],
  [1, "finds its wire deleted", deleteWire],
  [9, "finds a file damaged", damage],
];

function fillDisk({ luck }: Stage, agent: CoreAgent): void {
  agent.fillDiskIn(luck.between(1, 10), luck.between(1, 10));
}

function die(stage: Stage, agent: CoreAgent): void {
  agent.die();
  stage.crashes += 1;
}

function keepStore({ kept }: Stage, agent: CoreAgent): void {
  kept.set(agent.name, agent.keepStore());
}

function loseStore(stage: Stage, agent: CoreAgent): void {
  if (mayLose(stage, agent)) agent.loseStore();
}

function putBackStore(stage: Stage, agent: CoreAgent): void {
  const kept = stage.kept.get(agent.name);
  if (kept !== undefined && mayLose(stage, agent)) agent.putBackStore(kept);
}

/** What others hold of an agent comes back; what it has told nobody is lost with its store. */
function mayLose(stage: Stage, agent: CoreAgent): boolean {
  const own = agent.core.store.chains.whole(agent.name).seq;
  const least = Math.max(own, agent.mark?.seq ?? 0);
  const others = stage.others(agent);
  return (
    others.some(({ core }) => core.store.chains.whole(agent.name).seq >= least) &&
    others.every(
      ({ name, core, mark }) => core.store.chains.whole(name).seq >= (mark?.seq ?? Infinity),
    )
  );
}

function deleteWire(stage: Stage, agent: CoreAgent): void {
  const folder = stage.carrying.folder(agent.name);
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true });
  mkdirSync(join(folder, "outbox"));
  stage.plain?.write();
}

function damage(stage: Stage): void {
  const { luck } = stage;
  const carriers = stage.carriers().map(({ path }) => path);
  if (carriers.length === 0) return;
  const path = luck.pick(carriers);
  const bytes = readFileSync(path);
  const at = luck.between(0, bytes.length);
  const lines = bytes.toString().split("\n").slice(0, -1);
  luck.pick<() => void>([
    () => truncateSync(path, at),
    () => rmSync(path),
    () =>
      writeFileSync(
        path,
        bytes.map((byte, place) => (place === at ? byte ^ 1 : byte)),
      ),
    () => appendFileSync(path, '{"from":"forge","seq":1,"ty'),
    () => appendFileSync(path, `${"x".repeat(at % 100)}\n\n{}\n[1]\n\u0000\n`),
    () => appendFileSync(path, `\n${copied(stage, luck.pick(carriers)).join("\n")}\n`),
    () =>
      writeFileSync(
        path,
        luck
          .shuffled(lines)
          .map((line) => `${line}\n`)
          .join(""),
      ),
    () => putBack(stage, path, bytes),
  ])();
}

const older = new WeakMap<Stage, Map<string, Buffer>>();

/** A backup of the file is put back, where there is one. */
function putBack(stage: Stage, path: string, bytes: Buffer): void {
  const all = older.get(stage) ?? new Map<string, Buffer>();
  older.set(stage, all);
  const before = all.get(path);
  if (before !== undefined) writeFileSync(path, before);
  if (before === undefined || stage.luck.chance(0.3)) all.set(path, bytes);
}

function copied({ luck }: Stage, path: string): string[] {
  if (!existsSync(path)) return [];
  return readFileSync(path, "utf8")
    .split("\n")
    .filter(() => luck.chance(0.5));
}
