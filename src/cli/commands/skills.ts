import { define } from "../command.ts";
import { benchSkills } from "../skills/bench.ts";
import { hooks } from "../skills/hooks.ts";
import { importSkill } from "../skills/import.ts";
import { init } from "../skills/init.ts";
import { list, prompt, show, validate } from "../skills/look.ts";
import { sync } from "../skills/sync.ts";
import { bump, create } from "../skills/write.ts";

/** One library of skills for every tool. Spec 7.1. */
export const skills = define({
  about:
    "Skills: what an agent reads when it is to do something in a certain way. They are written once, in " +
    "agent/skills, and repeated where each tool looks for them. Nothing here needs a wire or a network.",
  examples: [
    "deaddrop skills init",
    "deaddrop skills sync --check",
    'deaddrop skills bump review minor --note "Ask for a test first"',
  ],
  bare: "list",
  commands: {
    init,
    sync,
    validate,
    list,
    show,
    prompt,
    import: importSkill,
    new: create,
    bump,
    hooks: define({
      about: "have git check skills and mirrors",
      commands: {
        install: hooks,
      },
    }),
    bench: benchSkills,
  },
});
