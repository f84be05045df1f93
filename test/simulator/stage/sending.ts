import type { Draft } from "../../../src/wire/compose.ts";
import { fromPlain } from "../../../src/wire/json/json.ts";
import type { Play } from "../play.ts";
import type { Member } from "./stage.ts";

export type PlainDraft = Omit<Draft, "body"> & { readonly body: unknown };

/** An agent says something; what it is answered is a promise from then on. */
export async function send(
  play: Play,
  who: Member,
  ...drafts: readonly PlainDraft[]
): Promise<void> {
  const group = drafts.map((draft) => ({ ...draft, body: fromPlain(draft.body) }));
  await play.stage.tell(
    who,
    (agent) => agent.send([group]),
    ([answer]) => {
      for (const { log, event_id: id } of answer?.messages ?? []) play.ledger.promise(log, id);
    },
  );
}

export function others({ stage, away }: Play, who: Member): string[] {
  return [...stage.members.keys()].filter((handle) => handle !== who.handle && !away.has(handle));
}

/** An answer in the thread of another line. */
export function inThread(correlationId: string, to: readonly string[], type: string) {
  return { to, type, subject: type, correlationId };
}
