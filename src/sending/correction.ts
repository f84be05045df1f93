import type { Client } from "../api/client.ts";
import { DeaddropError } from "../api/errors.ts";
import type { JsonObject, JsonValue } from "../wire/json/json-value.ts";
import { correctionNote, refuseLateRevert } from "./ended.ts";
import { answerSubject, parentOf, subjectWith, type Parent } from "./naming/parent.ts";
import { recipients } from "./naming/recipients.ts";
import type { Extras, Prepared } from "./prepared.ts";

export interface Correction {
  /** What is right; "" for nothing, which only a revert may say. */
  readonly body: JsonValue;
  /** Takes a proposal of our own back, which is not decided yet. */
  readonly reverts: boolean;
  readonly subject?: string | undefined;
  /** All who got what is corrected, unless given. */
  readonly to?: readonly string[] | undefined;
  readonly extras: Extras;
}

/** The message stays, the correction is shown beside it. Spec 1.7, 3.4. */
export async function prepareCorrection(
  client: Client,
  id: string,
  { body, reverts, subject: own, to, extras }: Correction,
): Promise<Prepared> {
  const parent = await parentOf(client, id);
  if (reverts && (parent.type !== "proposal" || parent.from !== client.handle)) {
    throw new DeaddropError("refused", "only a proposal of your own can be reverted", {
      hint: "`deaddrop reject <id>` refuses a peer's",
    });
  }
  if (reverts) await refuseLateRevert(client, parent);
  const word = reverts ? "reverted" : "correction";
  return {
    draft: {
      to: await recipients(client, to ?? readersOf(parent, client)),
      type: "correction",
      subject: own === undefined ? answerSubject(word, parent) : subjectWith(own, word, parent),
      body: correctionBody(parent.event_id, body, reverts),
      correlationId: parent.correlation_id,
      ...extras,
    },
    answers: parent,
    note: await correctionNote(client, parent),
  };
}

/** All who got it, and its author: also of what was forged in the author's name. Spec 1.7, 2.5. */
function readersOf({ from, to }: Parent, client: Client): string[] {
  if (to.includes("*")) return ["*"];
  return [...new Set([from, ...to])].filter((handle) => handle !== client.handle);
}

function correctionBody(eventId: string, text: JsonValue, reverts: boolean): JsonObject {
  const names = reverts ? { reverts: eventId } : { corrects: eventId };
  return text === "" ? names : { ...names, text };
}
