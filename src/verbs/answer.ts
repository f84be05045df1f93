import type { Client } from "../api/client.ts";
import { DeaddropError } from "../api/errors.ts";
import type { ProposalView, RequestView } from "../api/views.ts";
import { shortId } from "../framing/short-id.ts";
import { ANYWAY, ID, REASON } from "./fields.ts";
import { effectNote } from "./incident-effect.ts";
import { SHUTDOWN } from "../protocol/asks/requests.ts";
import type { Draft } from "../wire/compose.ts";
import { definedFields } from "../wire/defined-fields.ts";
import { proposalOf, refuseEnded } from "./ended.ts";
import { answerSubject, parentOf, refuseNewest, type Parent } from "./naming/parent.ts";
import { messageNamed, refuseSettled, requestToUs, wantsAnswer } from "./naming/request-named.ts";
import type { Prepared } from "./prepared.ts";
import { flag, verb } from "./verb.ts";

/** `ack` says that a message was seen and taken; the other two answer what asks for a yes or no. */
type Verdict = "ack" | "accept" | "reject";

const WORDS: Record<Verdict, string> = { ack: "ack", accept: "accepted", reject: "rejected" };
const CAN_BE_DECIDED = ["proposal", "request", "claim"];

interface Reasons {
  readonly reason?: string | undefined;
  /** Also where what is answered has ended: it changes nothing then. */
  readonly anyway?: boolean | undefined;
}

const ANSWER_FIELDS = { id: ID, reason: REASON, anyway: ANYWAY };

/** Agrees to a proposal, or says yes to a request. Spec 3.4, 8.6. */
export const accept = verb({
  about:
    "Agrees to a proposal: once every required party has agreed, the words that `deaddrop pending` " +
    "quotes after `decides:` are recorded. To a request it says yes, but " +
    "for a shutdown: only `deaddrop respond <id> yes` parks you.",
  fields: ANSWER_FIELDS,
  needs: ["id"],
  binds: true,
  examples: ["deaddrop accept 4f2a91"],
  prepare: ({ client }, args) => prepareAnswer(client, args.id, "accept", args, messageNamed),
});

/** Refuses a proposal, or says no to a request. Spec 3.4, 8.6. */
export const reject = verb({
  about: "Refuses a proposal, which ends it, or says no to a request.",
  fields: ANSWER_FIELDS,
  needs: ["id"],
  binds: true,
  examples: ['deaddrop reject 4f2a91 "docs/ is frozen this week"'],
  prepare: ({ client }, args) => prepareAnswer(client, args.id, "reject", args, messageNamed),
});

/** Seen and taken. Of a proposal it is agreement, as `accept` is. Spec 3.4, 8.6. */
export const ack = verb({
  about:
    "Says to its author that you have seen a message and take it. Of a proposal it means " +
    "`deaddrop accept`.",
  fields: {
    id: ID,
    reason: REASON,
    reject: flag("--reject", "the same as `deaddrop reject`"),
    anyway: ANYWAY,
  },
  needs: ["id"],
  examples: ["deaddrop ack 4f2a91", 'deaddrop ack 4f2a91 "on it"'],
  prepare: ({ client }, args) =>
    prepareAnswer(client, args.id, args.reject === true ? "reject" : "ack", args),
});

/**
 * The answer to a message, to its author. `named` finds what is answered, and may refuse what it is.
 * A proposal that has ended is not answered. It never parks the agent: an approval of a shutdown is
 * said by `prepareResponse` alone. Spec 3.3, 3.4, 3.8.
 */
export async function prepareAnswer(
  client: Client,
  id: string,
  verdict: Verdict,
  reasons: Reasons,
  named = parentOf,
): Promise<Prepared> {
  if (verdict !== "ack") await refuseNewest(client, id);
  const parent = await named(client, id);
  if (CAN_BE_DECIDED.includes(parent.type)) await refuseNewest(client, id);
  if (verdict === "accept") {
    const request = await requestToUs(client, parent);
    const isOpen = request?.status === "pending" && request.refused === null;
    if (isOpen && request.request_type === SHUTDOWN) throw wantsAnswer(request);
  }
  return prepareVerdict(client, parent, verdict, reasons);
}

/** The answer to that message, whatever an approval of it sets in motion. */
export async function prepareVerdict(
  client: Client,
  parent: Parent,
  verdict: Verdict,
  { reason, anyway = false }: Reasons,
): Promise<Prepared> {
  if (parent.from === client.handle) {
    throw new DeaddropError("refused", "that message is your own; its addressees answer it", {
      hint: "`deaddrop correct <id> --revert` takes a proposal of yours back",
    });
  }
  if (verdict !== "ack" && !CAN_BE_DECIDED.includes(parent.type)) throw nothingToDecide(parent);
  const request = await requestToUs(client, parent);
  if (request !== undefined && verdict === "ack") throw wantsAnswer(request);
  if (request !== undefined) refuseSettled(request, anyway);
  await refuseEnded(client, parent, anyway);
  const proposal = parent.type === "proposal" ? await proposalOf(client, parent) : undefined;
  return {
    draft: answerOf(parent, verdict, reason, request),
    answers: parent,
    note: await noteOf(client, parent, verdict, proposal),
    agreesTo:
      verdict !== "reject" && proposal?.status === "open"
        ? (proposal.decision ?? undefined)
        : undefined,
  };
}

function nothingToDecide({ type, event_id }: Parent): DeaddropError {
  const id = shortId(event_id);
  const verdict = type === "incident" ? `deaddrop incident ack ${id}` : `deaddrop ack ${id}`;
  return new DeaddropError(
    "refused",
    `a ${type} asks for nothing that can be accepted or rejected`,
    {
      hint: `say what you think of it: deaddrop reply ${id}; or that you have seen it: ${verdict}`,
    },
  );
}

/** What the answer means, or what it does not do. */
async function noteOf(
  client: Client,
  parent: Parent,
  verdict: Verdict,
  proposal: ProposalView | undefined,
): Promise<string | undefined> {
  if (parent.type === "incident") return effectNote(client, parent, "ack");
  if (parent.type === "claim") return claimNote(client, parent);
  if (parent.type !== "proposal") return undefined;
  const notes = [
    ...(verdict === "ack"
      ? ["An ack of a proposal means `deaddrop accept`: you agree to it."]
      : []),
    ...notNeeded(client, proposal),
  ];
  return notes.length === 0 ? undefined : notes.join(" ");
}

/** Spec 3.7: the owners of the paths grant a claim, nobody else. */
async function claimNote(client: Client, { event_id }: Parent): Promise<string | undefined> {
  const claims = await client.view("claims");
  const claim = claims.find((each) => each.event_id === event_id);
  if (claim?.owners.some(({ owner }) => owner === client.handle) === true) return undefined;
  return "You own none of the paths that it claims, so your answer decides nothing.";
}

function notNeeded(client: Client, found: ProposalView | undefined): string[] {
  if (found === undefined || found.required.includes(client.handle)) return [];
  const parties = found.required.length === 0 ? "nobody" : found.required.join(", ");
  return [`The proposal does not need you, so your answer decides nothing: it needs ${parties}.`];
}

function answerOf(
  parent: Parent,
  verdict: Verdict,
  reason: string | undefined,
  request: RequestView | undefined,
): Draft {
  // Agreement to a proposal or a claim is said; an ack of anything else agrees to nothing. Spec 3.4.1, 3.7.
  const says = verdict !== "ack" || ["proposal", "claim"].includes(parent.type);
  return {
    to: [parent.from],
    type: "ack",
    subject: answerSubject(WORDS[verdict], parent),
    body: {
      [says ? answeredIn(parent) : "about"]: parent.place,
      ...definedFields({
        request_id: request?.request_id,
        request_type: request?.request_type,
        approve: says ? verdict !== "reject" : undefined,
        reason,
      }),
    },
    correlationId: parent.correlation_id,
  };
}

/** The field by which a yes or a no names what it answers. Spec 3.4.1, 3.7. */
function answeredIn({ type }: Parent): "acks" | "answers" | "about" {
  if (type === "proposal") return "acks";
  return type === "request" ? "answers" : "about";
}
