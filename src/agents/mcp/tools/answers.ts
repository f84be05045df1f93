import { accept, reject } from "../../../verbs/answer.ts";
import { raiseIncident } from "../../../verbs/incident.ts";
import type { Prepared } from "../../../verbs/prepared.ts";
import { request, respond } from "../../../verbs/request.ts";
import { withdraw } from "../../../verbs/withdraw.ts";
import { PLAN_APPROVAL } from "../../../protocol/asks/requests.ts";
import { callText } from "../../../verbs/check.ts";
import { choice, object, pick, text, type Args } from "../schema.ts";
import { REQUEST_KEY, saying } from "../say.ts";
import { tool, type Call } from "../tool.ts";

const ANSWERS = ["accept", "reject", "withdraw", "approve_shutdown"] as const;

const ANSWER = object(
  { id: text(), answer: choice(ANSWERS), reason: text(), ...REQUEST_KEY },
  "id",
  "answer",
);
const REQUEST = object({
  ...pick(request.fields, "type", "to", "subject", "body"),
  severity: raiseIncident.fields.severity,
  ...pick(request.fields, "due"),
  ...REQUEST_KEY,
});

/** What settles a message: an answer to a peer's, or the end of our own. Spec 8.1, 3.4, 3.8. */
export const ANSWER_TOOL = tool({
  name: "answer",
  description:
    "accept or reject a proposal (to accept binds you to its words), request or claim. withdraw your own, or resolve your own incident. approve_shutdown parks you: finish and report first.",
  input: ANSWER,
  effect: "binds",
  elsewhere: {
    ack: (type, { id, reason: body }) => callText("send", { type, reply_to: id, body }),
    reply: (_, { id, reason: body = "…" }) => callText("send", { reply_to: id, body }),
    counter: (_, { id, reason: reasons }) =>
      callText("propose", { counters: id, decision: "…", reasons }),
  },
  says: [
    ...["accept", "reject", "respond", "withdraw"],
    ...["cancel_request", "resolve_incident", "ack_incident"],
  ],
  run: (call, args) => saying(call, args, () => prepareVerdict(call, args)),
});

/** Asking for what others must answer, or telling them of serious trouble. Spec 8.1, 3.8, 3.5. */
export const REQUEST_TOOL = tool({
  name: "request",
  description:
    "Asks for a yes or no, tracked until it comes. incident, with severity: serious trouble that each peer must ack; high and critical can stop the wire.",
  input: REQUEST,
  effect: "binds",
  says: ["request", "raise_incident"],
  run: (call, args) => saying(call, args, () => prepareAsking(call, args)),
});

async function prepareVerdict(call: Call, args: Args<typeof ANSWER>): Promise<Prepared> {
  const { id, answer, reason } = args;
  if (answer === "withdraw") return withdraw.prepare(call, { id, reason });
  if (answer === "approve_shutdown") {
    return respond.prepare(call, { request: id, approve: true, reason });
  }
  return (answer === "accept" ? accept : reject).prepare(call, { id, reason });
}

async function prepareAsking(call: Call, args: Args<typeof REQUEST>): Promise<Prepared> {
  const { severity, ...about } = args;
  const type = args.type?.trim().toLowerCase();
  if (type !== "incident") {
    const isPlan = type === PLAN_APPROVAL;
    const words = isPlan ? { plan: args.body, body: undefined } : {};
    return request.prepare(call, { ...about, type, ...words });
  }
  return raiseIncident.prepare(call, { ...about, severity });
}
