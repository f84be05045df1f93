import { realpathSync } from "node:fs";
import { relative } from "node:path";
import { hooksFolder, openRepository, requireOwnHooks } from "../../setup/guard/repository.ts";
import { libraryOf } from "../../skills/library/sync.ts";
import { installSkillsHook, removeSkillsHook } from "../../skills/setup/install-hook.ts";
import { define } from "../command.ts";
import { emit } from "../output/output.ts";
import { rows } from "../plans/plan-place.ts";
import { programPath } from "../../setup/program.ts";
import { projectAt } from "./skills-place.ts";

/** `deaddrop skills hooks install`: git checks skills and mirrors before each commit. Spec 7.1. */
export const hooks = define({
  about: "a hook that checks before each commit; your own hooks run first",
  options: {
    "--remove": "take it out, and put back what was there",
    "--shared": "also where core.hooksPath is outside of this repository",
  },
  run(cli, flags) {
    const project = projectAt(cli.cwd);
    const repository = openRepository(project, cli.env);
    const found = hooksFolder(repository);
    const folder = found.path;
    if (flags.remove === true) {
      const { path, isChanged, before } = removeSkillsHook(folder);
      const back = before === undefined ? [] : [`${path} is the hook that was there before`];
      const words = isChanged
        ? [`removed from ${path}`, ...back]
        : [`there is no hook of ours in ${folder}`];
      emit(cli, flags, { hook: path, changed: isChanged, runs_first: null }, () => rows(words));
      return;
    }
    libraryOf(project);
    requireOwnHooks(found, flags.shared);
    const program = {
      node: process.execPath,
      bin: programPath(),
      project: relative(repository.workTree.top, realpathSync(project)) || ".",
    };
    const { path, isChanged, before } = installSkillsHook(folder, program);
    emit(cli, flags, { hook: path, changed: isChanged, runs_first: before ?? null }, () =>
      rows([
        isChanged ? `installed ${path}` : `${path} is there already`,
        ...(before === undefined ? [] : [`runs first: ${before}`]),
        "each commit is checked by deaddrop skills sync --check; --remove takes it out",
      ]),
    );
  },
});
