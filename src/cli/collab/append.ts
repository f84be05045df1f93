import { appendEvent } from "../../collab/folder/append-event.ts";
import { noteDocuments } from "../../collab/folder/document-history.ts";
import { readRound } from "../../collab/folder/read-round.ts";
import type { Cli } from "../context.ts";
import { emit } from "../output/output.ts";
import { needed, onRound, tellCompleted, wholeNumber, type RoundFlags } from "./round-command.ts";

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
    const wish = {
      ...{
        from: needed("--participant", flags.participant),
        event: needed("--event", flags.event),
      },
      ...{ summary: needed("--summary", flags.summary), doc, role, sha256 },
      replyTo: replyTo === undefined ? undefined : wholeNumber("--reply-to", replyTo, 0),
    };
    const event = appendEvent(disk, folder, wish, {
      nowMs: cli.clock.nowMs(),
      schema,
      completed: (seq) => tellCompleted(cli, seq),
    });
    noteDocuments(disk, places, folder, readRound(disk, folder, schema).round);
    emit(cli, flags, event, () => `appended seq ${event.seq}: ${event.event}`);
  });
}
