import { appendEvent } from "../../collab/folder/append-event.ts";
import { noteDocuments } from "../../collab/folder/document-history.ts";
import { readRound } from "../../collab/folder/read-round.ts";
import { sanitise } from "../../framing/sanitise.ts";
import type { Cli } from "../context.ts";
import { emit } from "../output/output.ts";
import {
  allNeeded,
  onRound,
  tellCompleted,
  wholeNumber,
  type RoundFlags,
} from "./round-command.ts";

export interface AppendFlags extends RoundFlags {
  event?: string;
  summary?: string;
  doc?: string;
  replyTo?: string;
  role?: string;
  sha256?: string;
}

/** `deaddrop collab append`. Spec 6.3. */
export function append(cli: Cli, flags: AppendFlags): Promise<void> {
  return onRound(cli, flags, ({ disk, places, folder, schema }) => {
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
  });
}
