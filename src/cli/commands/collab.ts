import { append } from "../collab/append.ts";
import { init } from "../collab/init.ts";
import { next, prompt, status, validate } from "../collab/look.ts";
import { publish } from "../collab/publish.ts";
import { wait, watch } from "../collab/wait.ts";
import { define } from "../command.ts";

/** Rounds of the Agent Collaboration Protocol. Spec 6. */
export const collab = define({
  about:
    "Collaboration rounds: participants turn an objective into a conclusion, in a folder of documents " +
    "and a log of events. Interchangeable with the scripts of the Agent Collaboration Protocol.",
  examples: [
    'deaddrop collab init --folder rounds/cache --participant ann --participant bob --objective "Choose a cache." --completion "The choice is written down"',
    "deaddrop collab wait --folder rounds/cache --participant bob",
  ],
  commands: { init, append, next, wait, status, validate, prompt, watch, publish },
});
