import { DeaddropError } from "../../../api/errors.ts";
import type { Client } from "../../../api/client.ts";
import { fromPlain } from "../../../wire/json/json.ts";
import { prepareAnswer } from "../../../verbs/answer.ts";
import { correct } from "../../../verbs/correct.ts";
import { parentOf, type Parent } from "../../../verbs/naming/parent.ts";
import type { Prepared } from "../../../verbs/prepared.ts";
import { reply } from "../../../verbs/reply.ts";
import { send } from "../../../verbs/send.ts";
import { ship } from "../../../verbs/ship.ts";
import { callText } from "../../../verbs/check.ts";
import { choice, object, pick, text, texts, type Args } from "../schema.ts";
import { REQUEST_KEY, saying } from "../say.ts";
import { tool, type Call } from "../tool.ts";
import { prepareReport } from "./plans.ts";

/** Messages, and what is said of another message without deciding anything. */
const TYPES = ["feedback", "warning", "decision", "ship", "ack", "correction", "report"] as const;

const SEND = object({
  ...pick(send.fields, "subject", "body", "to"),
  type: choice(TYPES),
  reply_to: { ...text("message id"), aliases: ["id", "in_reply_to", "thread"] },
  ...pick(send.fields, "refs", "priority", "ack_required"),
  state: text("what is so now, of ship and warning"),
  // These three belong to a report. What shows the steps says how it is made.
  outcome: text(),
  error: text(),
  // Some models' servers refuse an object whose fields are not listed, so an artifact is JSON text.
  artifacts: texts(),
  on_behalf: text(),
  ...REQUEST_KEY,
});
type SendArgs = Args<typeof SEND>;
type Given = Readonly<Record<string, unknown>>;

/** What other tools say, with the arguments that this one was given. */
const proposing = (type: string, { to, subject, body, reply_to: id }: Given): string =>
  callText("propose", {
    ...(type === "counter" || id !== undefined ? { counters: id ?? "…" } : {}),
    ...{ decision: subject ?? body ?? "…", reasons: subject && body, to },
  });
const asking = (type: string, { to, subject, body }: Given): string =>
  callText("request", { type: type === "request" ? undefined : type, to, subject, body });
const claiming = (type: string, { body }: Given): string =>
  callText("claim", {
    release: type === "release" ? true : undefined,
    paths: typeof body === "string" && /^\S+$/.test(body) ? [body] : ["…"],
  });
const answering = (answer: string, { reply_to: id = "…", body: reason }: Given): string =>
  callText("answer", { id, answer, reason });

/** Saying something that binds nobody. Spec 8.1. */
export const SEND_TOOL = tool({
  name: "send",
  description:
    "Sends a signed message; with reply_to into its thread, to its author. ack: you have seen reply_to and take it. correction of reply_to. ship: done, refs name the files. report on a plan step.",
  input: SEND,
  effect: "sends",
  elsewhere: {
    ...{ proposal: proposing, propose: proposing, counter: proposing },
    ...{ request: asking, incident: asking, shutdown: asking, plan_approval: asking },
    ...{ claim: claiming, release: claiming },
    ...{ accept: answering, reject: answering, withdraw: answering },
  },
  says: ["send", "reply", "ack", "correct", "ship"],
  run: (call, args) => saying(call, args, () => prepare(call, args)),
});

async function prepare(call: Call, args: SendArgs): Promise<Prepared> {
  const { type = "feedback", reply_to: id, body: words = "", on_behalf, ...about } = args;
  if (type === "report") {
    const { outcome, error } = args;
    const artifacts = args.artifacts?.map(artifactIn);
    const report = { request: needed(id, type), outcome, details: words, error, artifacts };
    return prepareReport(call, report);
  }
  if (type === "ack") {
    const reason = words === "" ? undefined : words;
    return prepareAnswer(call.client, needed(id, type), "ack", { reason }, noProposal);
  }
  if (words === "" && type !== "ship") throw missing("body", type);
  const body = on_behalf === undefined ? words : fromPlain({ text: words, on_behalf });
  if (type === "correction") return correct.prepare(call, { ...about, id: needed(id, type), body });
  if (type === "ship") return ship.prepare(call, { ...about, body, thread: id });
  if (id !== undefined) return reply.prepare(call, { ...about, type, id, body });
  return send.prepare(call, { ...about, type, body });
}

/** An artifact as JSON text; a text that is none is a file that was changed. */
function artifactIn(artifact: string): unknown {
  try {
    return JSON.parse(artifact);
  } catch {
    return { file: artifact, status: "changed" };
  }
}

function needed(id: string | undefined, type: string): string {
  if (id === undefined) throw missing("reply_to", type);
  return id;
}

function missing(name: string, type: string): DeaddropError {
  return new DeaddropError("usage", `send: ${name} is missing`, {
    hint: `send {"type":"${type}","${name}":"…"}`,
  });
}

/** An ack of a proposal would be agreement. Spec 3.4. */
async function noProposal(client: Client, id: string): Promise<Parent> {
  const parent = await parentOf(client, id);
  if (parent.type !== "proposal") return parent;
  throw new DeaddropError("refused", "not sent: that is a proposal, and an ack would agree to it", {
    hint: "read it, then call answer (accept, reject), or propose with counters",
  });
}
