import type { Client } from "../api/client.ts";
import { prepareAnswer } from "./answer.ts";
import { EXTRAS, extrasOf, ID, REASON, TO } from "./fields.ts";
import { effectNote } from "./incident-effect.ts";
import { answerSubject, answerTo, incidentNamed } from "./naming/parent.ts";
import { peersOf, recipients } from "./naming/recipients.ts";
import { subjectOf } from "./send.ts";
import { body, choice, text, verb } from "./verb.ts";

/** Tells peers of trouble, and asks each for an ack within a heartbeat of reading it. Spec 3.5. */
export const raiseIncident = verb({
  about:
    "Tells peers, and asks each for an ack within a heartbeat of reading it (default: all peers). " +
    "high and critical stop the wire: when a peer has read one and ten minutes later has not acked " +
    "it, all who trust you send little else (safe mode) until that peer acks it, you resolve it, or " +
    "an operator resumes. low and medium stop nobody.",
  fields: {
    to: { ...TO, spelling: "[peer] --to <handle>" },
    subject: text("[subject] --subject <text>", "what is wrong"),
    body: body("what there is to know"),
    severity: {
      ...choice(["low", "medium", "high", "critical"], "--severity <level>", "how bad it is"),
      default: "medium",
    },
    ...EXTRAS,
  },
  needs: [],
  binds: true,
  examples: ['deaddrop incident raise --severity high "main is broken" "4f2a91c lost a test."'],
  async prepare({ client }, args) {
    const { severity, body: said = "" } = args;
    return {
      draft: {
        to: await addressees(client, args.to),
        type: "incident",
        subject: subjectOf(args.subject, said),
        body: { severity, ...(said === "" ? {} : { text: said }) },
        ...extrasOf(args),
        ackRequired: true,
      },
    };
  },
});

/** Of one incident, to its author. Spec 3.5. */
export const ackIncident = verb({
  about: "Acknowledges an incident to its author.",
  fields: { id: ID, reason: { ...REASON, about: "what you do about it" } },
  needs: ["id"],
  examples: ['deaddrop incident ack 4f2a91 --reason "reverting"'],
  prepare: ({ client }, { id, reason }) =>
    prepareAnswer(client, id, "ack", { reason }, incidentNamed),
});

/** Says in an incident's thread that it is settled, and how. Spec 3.5. */
export const resolveIncident = verb({
  about: "Says in the incident's thread that it is settled.",
  fields: { id: ID, body: body("how"), to: TO, ...EXTRAS },
  needs: ["id"],
  binds: true,
  examples: ['deaddrop incident resolve 4f2a91 "Reverted; main is green."'],
  async prepare({ client }, { id, body: said = "", ...args }) {
    const parent = await incidentNamed(client, id);
    const names = { resolves: parent.place };
    return {
      draft: {
        to: await recipients(client, args.to ?? answerTo(parent, client)),
        type: "incident",
        subject: answerSubject("resolved", parent),
        body: said === "" ? names : { ...names, text: said },
        correlationId: parent.correlation_id,
        ...extrasOf(args),
      },
      answers: parent,
      note: await effectNote(client, parent, "resolution"),
    };
  },
});

/** Each by its handle: who owes an ack is part of what is signed. */
async function addressees(client: Client, given: readonly string[] | undefined): Promise<string[]> {
  const to = await recipients(client, given ?? ["*"]);
  return to.includes("*") ? peersOf(client) : to;
}
