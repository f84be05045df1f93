import { append } from "../collab/append.ts";
import { init } from "../collab/init.ts";
import { next, prompt, status, validate } from "../collab/look.ts";
import { publish } from "../collab/publish.ts";
import { USUAL_TIMEOUT_S, wait, watch } from "../collab/wait.ts";
import { define, repeatable } from "../command.ts";

const ROUND_OPTIONS = {
  "--folder <folder>": "the folder of the round",
  "--schema <1|2>": "judge by that schema, whatever the folder says",
} as const;
const PARTICIPANT_OPTIONS = {
  ...ROUND_OPTIONS,
  "--participant <name>": "who you are in this round",
} as const;

/** Rounds of the Agent Collaboration Protocol. Spec 6. */
export const collab = define({
  about:
    "Collaboration rounds: participants turn an objective into a conclusion, in a folder of documents " +
    "and a log of events. Interchangeable with the scripts of the Agent Collaboration Protocol.",
  examples: [
    'deaddrop collab init --folder rounds/cache --participant ann --participant bob --objective "Choose a cache." --completion "The choice is written down"',
    "deaddrop collab wait --folder rounds/cache --participant bob",
  ],
  commands: {
    init: define({
      about: "make a round: schema 2 with a primary deliverable, else schema 1",
      options: {
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
      },
      run: init,
    }),
    append: define({
      about: "say what you have done; refused with all reasons when it is not allowed",
      options: {
        ...PARTICIPANT_OPTIONS,
        "--event <event>": "what: proposal_submitted, review_submitted, …",
        "--summary <text>": "in a sentence",
        "--doc <path>": "the document that it is about",
        "--reply-to <seq>": "the event that it answers",
        "--role <primary|supporting>": "of a deliverable event",
        "--sha256 <hash>": "of a frozen deliverable",
      },
      run: append,
    }),
    next: define({
      about: "say what a participant does now",
      options: PARTICIPANT_OPTIONS,
      run: next,
    }),
    wait: define({
      about: "wait until it is a participant's turn, or the round has ended; exit code 1: timeout",
      options: {
        ...PARTICIPANT_OPTIONS,
        "--timeout <seconds>": `defaults to ${USUAL_TIMEOUT_S} seconds in schema 1, to 0 in schema 2; 0 for no timeout`,
        "--interval <seconds>": "how often to look where the filesystem has no events",
      },
      run: wait,
    }),
    status: define({ about: "where a round is", options: ROUND_OPTIONS, run: status }),
    validate: define({
      about: "everything that is wrong with a round: exit code 0, 1 warnings, 2 errors",
      options: ROUND_OPTIONS,
      run: validate,
    }),
    prompt: define({
      about: "print the text with which a coordinator starts a participant",
      options: PARTICIPANT_OPTIONS,
      run: prompt,
    }),
    watch: define({
      about: "have your daemon tell you, once, when it is your turn",
      options: { ...PARTICIPANT_OPTIONS, "--end": "watch it no longer" },
      run: watch,
    }),
    publish: define({
      about: "propose the conclusion of a completed round as a decision, with its hash",
      options: {
        ...ROUND_OPTIONS,
        "--required <handle>": repeatable("whose ack it takes (repeatable)"),
      },
      run: publish,
    }),
  },
});
