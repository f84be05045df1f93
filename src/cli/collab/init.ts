import { resolve } from "node:path";
import { noteDocuments } from "../../collab/folder/document-history.ts";
import { continueFrom, planInit, type InitWish } from "../../collab/folder/init-plan.ts";
import { initRound } from "../../collab/folder/init-round.ts";
import { readRound } from "../../collab/folder/read-round.ts";
import { sanitise } from "../../framing/sanitise.ts";
import { nodeDisk } from "../../storage/disk/node-disk.ts";
import { define, repeatable, type FlagsOf } from "../command.ts";
import { placesOf, type Cli } from "../context.ts";
import { inputLines } from "../input/input-lines.ts";
import { emit, writeExact } from "../output/output.ts";
import { orRefuse, schemaOf } from "./round-command.ts";

const OPTIONS = {
  "--folder <folder>": "its folder, which must not exist",
  "--participant <name>": repeatable("repeatable; the first one owns the proposal"),
  "--objective <text>": "what the round is about",
  "--completion <gate>": repeatable("what must hold at its end (repeatable)"),
  "--schema <1|2>": "outright",
  "--resume": "a folder that is there already is fine, and stays as it is",
  "--continue <folder>": "take inputs and documents of a round that has ended",
  "--primary-deliverable-type <type>": "adr, design-spec, …, custom",
  "--primary-deliverable-file <file>": "its name, ending in .md",
  "--primary-deliverable-check <check>": repeatable("what it must answer (repeatable)"),
  "--deliverables-mode <internal|external>": "in the round's folder, or in the repository",
  "--deliverables-dir <folder>": "their folder, below it",
  "--repo-root <way>": "from the folder to the repository, for external ones",
} as const;
type Flags = FlagsOf<typeof OPTIONS>;

/** `deaddrop collab init`: makes a round. Spec 6.3. */
export const init = define({
  about: "make a round: schema 2 with a primary deliverable, else schema 1",
  options: OPTIONS,
  run: (cli, flags) => orRefuse(cli, flags, () => make(cli, flags)),
});

async function make(cli: Cli, flags: Flags): Promise<void> {
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

function wishOf(flags: Flags): InitWish {
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
