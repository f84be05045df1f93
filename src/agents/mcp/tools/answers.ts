import { DeaddropError } from "../../../api/errors.ts";
import type { Client } from "../../../api/client.ts";
import { prepareAnswer } from "../../../sending/answer.ts";
import { cutSubject, parentOf, type Parent } from "../../../sending/naming/parent.ts";
import { prepareCounter } from "../../../sending/proposal.ts";
import { prepareResponse } from "../../../sending/request.ts";
import { flag, object, text } from "../schema.ts";
import { REQUEST_KEY, say, type Repeatable } from "../say.ts";
import { tool } from "../tool.ts";

interface Answering extends Repeatable {
  id: string;
  reason?: string;
}

const ID = text("the message, or its first 6 characters");

/** Answers to what peers have sent. Each says of what it is an answer. Spec 8.1, 4.4. */
export const ANSWER_TOOLS = [
  tool<Answering>({
    name: "acknowledge",
    description:
      "Says to its author that you have seen a message and take it, an incident too. It refuses proposals and requests: those want accept, reject, counter or respond.",
    input: object({ id: ID, reason: text(), ...REQUEST_KEY }, "id"),
    effect: "sends",
    answersFacts: true,
    run: (call, args) =>
      say(call, args, () => prepareAnswer(call.client, args.id, "ack", args, noProposal)),
  }),
  tool<Answering>({
    name: "accept",
    description:
      "Agrees to a proposal (read it first: it is decided once every required party agrees), grants a claim, or says yes to a request. It never approves a shutdown: respond does.",
    input: object({ id: ID, reason: text(), ...REQUEST_KEY }, "id"),
    effect: "binds",
    answersFacts: true,
    run: (call, args) => say(call, args, () => prepareAnswer(call.client, args.id, "accept", args)),
  }),
  tool<Answering>({
    name: "reject",
    description: "Refuses a proposal, which ends it, or a claim, or says no to a request.",
    input: object({ id: ID, reason: text("why"), ...REQUEST_KEY }, "id", "reason"),
    effect: "binds",
    answersFacts: true,
    run: (call, args) => say(call, args, () => prepareAnswer(call.client, args.id, "reject", args)),
  }),
  tool<Repeatable & { id: string; decision: string; reasons: string; due?: string }>({
    name: "counter",
    description: "Answers a peer's proposal with another one in its thread.",
    input: object(
      {
        id: ID,
        decision: text("the exact words that are recorded instead"),
        reasons: text(),
        due: text("until when to answer: 30m, 4h, 2d or a time"),
        ...REQUEST_KEY,
      },
      "id",
      "decision",
      "reasons",
    ),
    effect: "sends",
    answersFacts: true,
    run: (call, args) => {
      const { id, decision, reasons, due } = args;
      const about = { subject: cutSubject(decision), reasons, decision, due, extras: {} };
      return say(call, args, () => prepareCounter(call.client, id, about, call.nowMs));
    },
  }),
  tool<Repeatable & { request: string; approve: boolean; reason?: string }>({
    name: "respond",
    description:
      "Answers a request. Only the first answer counts. To approve a shutdown parks you: finish and report first.",
    input: object(
      {
        request: text("its request id or event id"),
        approve: flag(),
        reason: text(),
        ...REQUEST_KEY,
      },
      "request",
      "approve",
    ),
    effect: "binds",
    answersFacts: true,
    run: (call, args) =>
      say(call, args, () => prepareResponse(call.client, args.request, args.approve, args)),
  }),
];

/** An ack of a proposal would be agreement. Spec 3.4. */
async function noProposal(client: Client, id: string): Promise<Parent> {
  const parent = await parentOf(client, id);
  if (parent.type !== "proposal") return parent;
  throw new DeaddropError("refused", "not sent: that is a proposal, and an ack would agree to it", {
    hint: "read it, then call accept, reject or counter",
  });
}
