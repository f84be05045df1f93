import { DeaddropError } from "../../../api/errors.ts";
import type { Client } from "../../../api/client.ts";
import { prepareAnswer } from "../../../sending/answer.ts";
import { prepareRelease } from "../../../sending/claim.ts";
import { prepareCorrection } from "../../../sending/correction.ts";
import { prepareIncident, prepareResolution } from "../../../sending/incident.ts";
import { parentOf, type Parent } from "../../../sending/naming/parent.ts";
import { requestNamed } from "../../../sending/naming/request-named.ts";
import type { Prepared } from "../../../sending/prepared.ts";
import { prepareCancellation, prepareRequest, prepareResponse } from "../../../sending/request.ts";
import { PLAN_APPROVAL } from "../../../protocol/asks/requests.ts";
import { choice, object, text, texts, type Args } from "../schema.ts";
import { REQUEST_KEY, say } from "../say.ts";
import { tool, type Call } from "../tool.ts";
import { firstLine } from "./send.ts";

const ANSWERS = ["accept", "reject", "withdraw", "approve_shutdown"] as const;

const ANSWER = object(
  { id: text(), answer: choice(ANSWERS), reason: text(), ...REQUEST_KEY },
  "id",
  "answer",
);
const REQUEST = object(
  {
    type: text("review, plan_approval (body: the plan), shutdown, incident, …"),
    to: texts(),
    subject: text(),
    body: text(),
    severity: choice(["low", "medium", "high", "critical"]),
    due: text("30m, 2d or a time"),
    ...REQUEST_KEY,
  },
  "type",
);

/** What settles a message: an answer to a peer's, or the end of our own. Spec 8.1, 3.4, 3.8. */
export const ANSWER_TOOL = tool({
  name: "answer",
  description:
    "accept or reject a proposal (to accept binds you to its words), request or claim. withdraw your own, or resolve your own incident. approve_shutdown parks you: finish and report first.",
  input: ANSWER,
  effect: "binds",
  elsewhere: {
    ...{ ack: 'call send with type "ack" and reply_to', acknowledge: 'call send with type "ack"' },
    ...{ counter: "call propose with counters", reply: "call send with reply_to" },
    ...{ approve: "accept", yes: "accept", no: "reject", resolve: "withdraw" },
  },
  run: (call, args) => say(call, args, () => prepareVerdict(call.client, args)),
});

/** Asking for what others must answer, or telling them of serious trouble. Spec 8.1, 3.8, 3.5. */
export const REQUEST_TOOL = tool({
  name: "request",
  description:
    "Asks for a yes or no, tracked until it comes. incident, with severity: serious trouble that each peer must ack; high and critical can stop the wire.",
  input: REQUEST,
  effect: "binds",
  run: (call, args) => say(call, args, () => prepareAsking(call, args)),
});

async function prepareVerdict(client: Client, args: Args<typeof ANSWER>): Promise<Prepared> {
  const { id, answer, reason } = args;
  if (answer === "withdraw") return prepareWithdrawal(client, id, reason);
  if (answer === "approve_shutdown") return prepareResponse(client, id, true, { reason });
  return prepareAnswer(client, id, answer, { reason }, messageNamed);
}

async function prepareWithdrawal(client: Client, id: string, reason = ""): Promise<Prepared> {
  const { type, from, event_id: eventId } = await messageNamed(client, id);
  if (from !== client.handle) {
    throw new DeaddropError("refused", `not sent: that ${type} is ${from}'s, not yours`, {
      hint: `answer {"id":"${id}","answer":"reject"} refuses it`,
    });
  }
  switch (type) {
    case "proposal": {
      const correction = { body: reason, reverts: true, extras: {} };
      return prepareCorrection(client, eventId, correction);
    }
    case "request":
      return prepareCancellation(client, eventId, reason === "" ? {} : { reason });
    case "claim":
      return prepareRelease(client, eventId);
    case "incident":
      return prepareResolution(client, eventId, { body: reason, extras: {} });
    default:
      throw new DeaddropError("refused", `not sent: a ${type} cannot be withdrawn`, {
        hint: `send {"type":"correction","reply_to":"${id}","body":"…"} corrects it`,
      });
  }
}

/** By event id; a request also by its request id, which its asker has chosen. */
async function messageNamed(client: Client, id: string): Promise<Parent> {
  try {
    return await parentOf(client, id);
  } catch (error) {
    if (!(error instanceof DeaddropError) || error.code !== "unknown_id") throw error;
    const [found] = await requestNamed(client, id).catch(() => []);
    if (found === undefined) throw error;
    return parentOf(client, found.event_id);
  }
}

async function prepareAsking(
  { client, nowMs }: Call,
  args: Args<typeof REQUEST>,
): Promise<Prepared> {
  const { to, subject, body = "", due, severity } = args;
  const type = args.type.trim().toLowerCase();
  if (type === "incident") {
    const title = subject ?? firstLine(body);
    if (severity === undefined || title === "") {
      throw new DeaddropError("usage", "request: an incident needs severity and subject", {
        hint: "severity is one of low, medium, high, critical",
      });
    }
    return prepareIncident(client, { severity, subject: title, body, to, extras: {} });
  }
  const isPlan = type === PLAN_APPROVAL;
  const about = { type, to, subject, due, extras: {}, body: isPlan ? "" : body };
  return prepareRequest(client, isPlan ? { ...about, plan: body } : about, nowMs);
}
