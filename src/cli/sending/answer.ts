import type { Command } from "commander";
import type { Client } from "../../api/client.ts";
import { DeaddropError } from "../../api/errors.ts";
import { safeModeEnd } from "../../protocol/incidents/safe-mode-end.ts";
import type { RequestView } from "../../api/views.ts";
import type { Draft } from "../../wire/compose.ts";
import { withClient, type Cli } from "../context.ts";
import { shortId } from "../output/text.ts";
import { proposalOf, refuseEnded } from "./ended.ts";
import { answerSubject, parentOf, type Parent } from "./parent.ts";
import { refuseSettled, requestToUs, wantsAnswer } from "./request.ts";
import { addWaitFlags, deliver, type SendFlags } from "./send-draft.ts";

export interface AnswerFlags extends Pick<
  SendFlags,
  "wait" | "timeout" | "wire" | "as" | "json" | "peer"
> {
  reason?: string;
  anyway?: boolean;
}

/** `ack` says that a message was seen and taken; the other two answer what asks for a yes or no. */
export type Verdict = "ack" | "accept" | "reject";

const WORDS: Record<Verdict, string> = { ack: "ack", accept: "accepted", reject: "rejected" };
const CAN_BE_DECIDED = ["proposal", "request", "claim"];

export const ANYWAY = "also when what it answers has ended (it changes nothing then)";

export function addAnswerFlags(command: Command): Command {
  return addWaitFlags(command.option("--reason <text>", "why").option("--anyway", ANYWAY));
}

/**
 * Signs the answer to a message, to its author. `named` finds what is answered, and may refuse what
 * it is. A proposal that has ended is not answered. Spec 3.3, 3.4.
 */
export async function answer(
  cli: Cli,
  id: string,
  flags: AnswerFlags,
  verdict: Verdict,
  named = parentOf,
): Promise<void> {
  await withClient(cli, flags, async (client) => {
    const parent = await named(client, id);
    if (parent.from === client.handle) {
      throw new DeaddropError("refused", "that message is your own; its addressees answer it", {
        hint: "`deaddrop correct <id> --revert` takes a proposal of yours back",
      });
    }
    if (verdict !== "ack" && !CAN_BE_DECIDED.includes(parent.type)) throw nothingToDecide(parent);
    const request = await requestToUs(client, parent);
    if (request !== undefined && verdict === "ack") throw wantsAnswer(request);
    if (request !== undefined) refuseSettled(request, flags.anyway === true);
    await refuseEnded(client, parent, flags.anyway === true);
    const draft = answerOf(parent, verdict, flags, request);
    await deliver(cli, flags, client, draft, parent, await noteOf(client, parent, verdict));
  });
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
): Promise<string | undefined> {
  if (parent.type === "incident") return safeModeNote(client, parent);
  if (parent.type === "claim") return claimNote(client, parent);
  if (parent.type !== "proposal") return undefined;
  const notes = [
    ...(verdict === "ack"
      ? ["An ack of a proposal means `deaddrop accept`: you agree to it."]
      : []),
    ...(await notNeeded(client, parent)),
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

async function notNeeded(client: Client, parent: Parent): Promise<string[]> {
  const found = await proposalOf(client, parent);
  if (found === undefined || found.required.includes(client.handle)) return [];
  const parties = found.required.length === 0 ? "nobody" : found.required.join(", ");
  return [`The proposal does not need you, so your answer decides nothing: it needs ${parties}.`];
}

/** Spec 3.5: after the second beat an ack ends nothing. */
async function safeModeNote(client: Client, parent: Parent): Promise<string | undefined> {
  const mode = await client.view("safe_mode");
  if (mode?.incident_id !== parent.event_id) return undefined;
  return `Safe mode has begun by this incident, and an ack does not end it: ${safeModeEnd(mode, client.handle)}`;
}

function answerOf(
  parent: Parent,
  verdict: Verdict,
  { reason }: AnswerFlags,
  request: RequestView | undefined,
): Draft {
  // Spec 3.4, 3.7: agreement to a proposal or a claim is said; an ack of anything else agrees to nothing.
  const says = verdict !== "ack" || ["proposal", "claim"].includes(parent.type);
  const named =
    request === undefined
      ? {}
      : { request_id: request.request_id, request_type: request.request_type };
  return {
    to: [parent.from],
    type: "ack",
    subject: answerSubject(WORDS[verdict], parent),
    body: {
      acks: parent.event_id,
      ...named,
      ...(says ? { approve: verdict !== "reject" } : {}),
      ...(reason === undefined ? {} : { reason }),
    },
    correlationId: parent.correlation_id,
  };
}
