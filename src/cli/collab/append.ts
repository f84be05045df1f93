import { appendEvent } from "../../collab/folder/append-event.ts";
import { noteDocuments } from "../../collab/folder/document-history.ts";
import { readRound } from "../../collab/folder/read-round.ts";
import { sanitise } from "../../framing/sanitise.ts";
import { define } from "../command.ts";
import { emit } from "../output/output.ts";
import {
  allNeeded,
  onRound,
  PARTICIPANT_OPTIONS,
  tellCompleted,
  wholeNumber,
} from "./round-command.ts";

/** `deaddrop collab append`. Spec 6.3. */
export const append = define({
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
  run: (cli, flags) =>
    onRound(cli, flags, ({ disk, places, folder, schema }) => {
      const { replyTo, doc, role, sha256 } = flags;
      const [from = "", name = "", summary = ""] = allNeeded({
        "--participant": flags.participant,
        "--event": flags.event,
        "--summary": flags.summary,
      });
      const wish = {
        ...{ from, event: name, summary, doc, role, sha256 },
        replyTo: replyTo === undefined ? undefined : wholeNumber("--reply-to", replyTo, 0),
      };
      const event = appendEvent(disk, folder, wish, {
        nowMs: cli.clock.nowMs(),
        schema,
        completed: (seq) => tellCompleted(cli, seq),
        left: ({ message }) =>
          cli.stderr.write(
            `the event is in the log; protocol.json is not written yet (${sanitise(message)}): the next command completes it\n`,
          ),
      });
      noteDocuments(disk, places, folder, readRound(disk, folder, schema).round);
      emit(cli, flags, event, () => `appended seq ${event.seq}: ${event.event}`);
    }),
});
