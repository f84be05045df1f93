import type { Client } from "../api/client.ts";
import { DeaddropError } from "../api/errors.ts";
import type { Draft } from "../wire/compose.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../wire/json/json-value.ts";
import { correctionNote, refuseLateRevert } from "./ended.ts";
import { EXTRAS, extrasOf, ID, TO } from "./fields.ts";
import { answerSubject, parentOf, subjectWith, type Parent } from "./naming/parent.ts";
import { recipients } from "./naming/recipients.ts";
import { body, flag, text, verb } from "./verb.ts";
import { neededBody } from "./words/opening.ts";

/** Of an ask that its asker takes back without saying why. */
const TAKEN_BACK = "taken back";

/** The message stays, the correction is shown beside it. Spec 1.7, 3.4. */
export const correct = verb({
  about:
    "Corrects a message; it goes to those who got the message. With --revert it takes back a " +
    "proposal of yours that is not decided yet.",
  fields: {
    id: ID,
    body: body("what is right"),
    revert: flag("--revert", "take the proposal back"),
    subject: text("--subject <text>", "what it is about; what it corrects is added"),
    to: TO,
    ...EXTRAS,
  },
  needs: ["id"],
  examples: [
    'deaddrop correct 4f2a91 "It is port 8443, not 8433."',
    'deaddrop correct 4f2a91 --revert "We found a better way."',
  ],
  async prepare({ client }, { id, revert = false, body: said = "", subject: own, ...args }) {
    if (!revert) neededBody(said);
    const parent = await parentOf(client, id, "ours");
    if (revert && (parent.type !== "proposal" || parent.from !== client.handle)) {
      throw new DeaddropError("refused", "only a proposal of your own can be reverted", {
        hint: "`deaddrop reject <id>` refuses a peer's",
      });
    }
    const readers = await recipients(client, args.to ?? readersOf(parent, client));
    const extras = extrasOf(args);
    const named = own === undefined ? {} : { subject: subjectWith(own, wordOf(revert), parent) };
    if (revert) {
      refuseByHand(parent);
      await refuseLateRevert(client, parent);
      const draft = endOf(parent, readers, said === "" ? undefined : said);
      return { draft: { ...draft, ...named, ...extras }, answers: parent };
    }
    return {
      draft: {
        to: readers,
        type: "correction",
        subject: answerSubject(wordOf(revert), parent),
        body: { corrects: parent.place, text: said },
        correlationId: parent.correlation_id,
        ...named,
        ...extras,
      },
      answers: parent,
      note: await correctionNote(client, parent),
    };
  },
});

/**
 * The line that ends an ask of ours without an approval. Spec 3.4.1.
 *
 * @param of of a request: for whom it ends
 */
export function endOf(
  ask: Parent,
  to: readonly string[],
  why: JsonValue | undefined,
  of?: string,
): Draft {
  return {
    to,
    type: "correction",
    subject: answerSubject(of === undefined ? "reverted" : "cancelled", ask),
    body: {
      ...reasonFields(why),
      decides: ask.place,
      ...(of === undefined ? {} : { of }),
      ...{ outcome: "ended", answers: [] },
    },
    correlationId: ask.correlation_id,
  };
}

/** What is in no chain is closed by the one that it asks. Spec 3.4.5. */
export function refuseByHand({ place: [, seq], type }: Parent): void {
  if (seq !== null) return;
  throw new DeaddropError("refused", `that ${type} was written by hand: whom it asks ends it`, {
    hint: "say that you take it back, and have it rejected: deaddrop reply <id>",
  });
}

function reasonFields(why: JsonValue | undefined): JsonObject {
  if (typeof why === "string") return { reason: why };
  return { reason: TAKEN_BACK, ...(isJsonObject(why) ? why : {}) };
}

function wordOf(reverts: boolean): string {
  return reverts ? "reverted" : "correction";
}

/** All who got it, and its author: also of what was forged in the author's name. Spec 1.7, 2.5. */
function readersOf({ from, to }: Parent, client: Client): string[] {
  if (to.includes("*")) return ["*"];
  return [...new Set([from, ...to])].filter((handle) => handle !== client.handle);
}
