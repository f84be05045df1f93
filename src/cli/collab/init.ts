import { resolve } from "node:path";
import { noteDocuments } from "../../collab/folder/document-history.ts";
import { continueFrom, planInit, type InitWish } from "../../collab/folder/init-plan.ts";
import { initRound } from "../../collab/folder/init-round.ts";
import { readRound } from "../../collab/folder/read-round.ts";
import { sanitise } from "../../framing/sanitise.ts";
import { nodeDisk } from "../../storage/disk/node-disk.ts";
import { placesOf, type Cli, type GlobalFlags } from "../context.ts";
import { inputLines } from "../input/input-lines.ts";
import { emit, writeExact } from "../output/output.ts";
import { orRefuse, schemaOf } from "./round-command.ts";

export interface InitFlags extends GlobalFlags {
  folder?: string;
  participant?: string[];
  objective?: string;
  completion?: string[];
  schema?: string;
  resume?: boolean;
  continue?: string;
  primaryDeliverableType?: string;
  primaryDeliverableFile?: string;
  primaryDeliverableCheck?: string[];
  deliverablesMode?: string;
  deliverablesDir?: string;
  repoRoot?: string;
}

/** `deaddrop collab init`: makes a round. Spec 6.3. */
export function init(cli: Cli, flags: InitFlags): Promise<void> {
  return orRefuse(cli, flags, () => make(cli, flags));
}

async function make(cli: Cli, flags: InitFlags): Promise<void> {
  const disk = nodeDisk();
  const { folder } = flags;
  if (flags.resume === true && folder !== undefined) {
    const path = resolve(cli.cwd, folder);
    if (disk.stat(path) !== undefined) {
      emit(cli, flags, { folder: path, made: false }, () => `${sanitise(path)} is there already`);
      return;
    }
  }
  const asked = await withAnswers(cli, wishOf(flags));
  const old = flags.continue;
  const { wish, copied } =
    old === undefined
      ? { wish: asked, copied: {} }
      : continueFrom(disk, resolve(cli.cwd, old), asked);
  const plan = planInit(disk, wish, cli.cwd, copied);
  initRound(disk, plan, cli.clock.nowMs());
  noteDocuments(disk, placesOf(cli.env), plan.folder, readRound(disk, plan.folder).round);
  const { schema, participants } = plan;
  const data = { folder: plan.folder, made: true, schema, participants };
  emit(cli, flags, data, () => `initialized ${sanitise(plan.folder)}, schema ${schema}`);
}

function wishOf(flags: InitFlags): InitWish {
  return {
    folder: flags.folder,
    participants: flags.participant ?? [],
    objective: flags.objective,
    completion: flags.completion ?? [],
    schema: schemaOf(flags.schema),
    type: flags.primaryDeliverableType,
    file: flags.primaryDeliverableFile,
    checks: flags.primaryDeliverableCheck ?? [],
    mode: flags.deliverablesMode,
    dir: flags.deliverablesDir,
    repoRoot: flags.repoRoot,
  };
}

/** On a terminal, what is missing is asked for. Elsewhere the plan says what it is. */
async function withAnswers(cli: Cli, wish: InitWish): Promise<InitWish> {
  if (cli.stdin.isTTY !== true || cli.stderr.isTTY !== true) return wish;
  const lines = inputLines(cli.stdin)[Symbol.asyncIterator]();
  const ask = async (question: string): Promise<string> => {
    // The answer ends the row.
    writeExact(cli.stderr, `${question}: `);
    const line = await lines.next();
    if (line.done === true || line.value === undefined) return "";
    return Buffer.from(line.value).toString("utf8").trim();
  };
  const list = async (question: string): Promise<string[]> => {
    const items: string[] = [];
    for (;;) {
      const item = await ask(`${question} (or Enter)`);
      if (item === "") return items;
      items.push(item);
    }
  };
  const { folder, participants, objective, completion } = wish;
  return {
    ...wish,
    folder: folder ?? (await ask("Folder of the round")),
    participants: participants.length > 0 ? participants : await list("Participant"),
    objective: objective ?? (await ask("Objective")),
    completion: completion.length > 0 ? completion : await list("Completion gate"),
  };
}
