import { DeaddropError } from "../../../api/errors.ts";
import type { Client } from "../../../api/client.ts";
import { fromPlain } from "../../../wire/json/json.ts";
import type { JsonValue } from "../../../wire/json/json-value.ts";
import { prepareAnswer } from "../../../sending/answer.ts";
import { prepareCorrection } from "../../../sending/correction.ts";
import { prepareMessage } from "../../../sending/message.ts";
import { cutSubject, parentOf, threadNamed, type Parent } from "../../../sending/naming/parent.ts";
import type { Extras, Prepared } from "../../../sending/prepared.ts";
import { prepareReply } from "../../../sending/reply.ts";
import { prepareShip } from "../../../sending/ship.ts";
import { choice, flag, object, text, texts, type Args } from "../schema.ts";
import { REQUEST_KEY, say } from "../say.ts";
import { tool, type Call } from "../tool.ts";
import { prepareReport } from "./plans.ts";

/** Messages, and what is said of another message without deciding anything. */
const TYPES = ["feedback", "warning", "decision", "ship", "ack", "correction", "report"] as const;

const SEND = object({
  subject: text(),
  body: text(),
  to: texts("handles, * for all"),
  type: choice(TYPES),
  reply_to: text("message id"),
  refs: texts("paths or git:<sha>"),
  priority: choice(["low", "medium", "high"]),
  ack_required: flag(),
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

/** Saying something that binds nobody. Spec 8.1. */
export const SEND_TOOL = tool({
  name: "send",
  description:
    "Sends a signed message; with reply_to into its thread, to its author. ack: you have seen reply_to and take it. correction of reply_to. ship: done, refs name the files. report on a plan step.",
  input: SEND,
  effect: "sends",
  elsewhere: {
    ...{ message: "leave type out", reply: "leave type out", question: "leave type out" },
    ...{ proposal: "call propose", propose: "call propose", counter: "call propose with counters" },
    ...{ request: "call request", incident: 'call request with type "incident"' },
    ...{ shutdown: 'call request with type "shutdown"', plan_approval: "call request" },
    ...{ claim: "call claim", release: "call claim with release" },
    ...{ accept: "call answer", reject: "call answer", withdraw: "call answer" },
  },
  run: (call, args) => say(call, args, () => prepare(call, args)),
});

async function prepare(call: Call, args: SendArgs): Promise<Prepared> {
  const { client } = call;
  const { type = "feedback", reply_to: id, subject, to, state, body: words = "" } = args;
  const extras = extrasOf(args);
  if (type === "report") {
    const { outcome, error } = args;
    const artifacts = args.artifacts?.map(artifactIn);
    const report = { request: needed(id, type), outcome, details: words, error, artifacts };
    return prepareReport(call, report);
  }
  if (type === "ack") {
    const reason = words === "" ? undefined : words;
    return prepareAnswer(client, needed(id, type), "ack", { reason }, noProposal);
  }
  if (words === "" && type !== "ship") throw missing("body", type);
  const body = bodyOf(args);
  if (type === "correction") {
    const correction = { body, reverts: false, subject, to, extras };
    return prepareCorrection(client, needed(id, type), correction);
  }
  const about = { type, body, to, state, extras, subject: subject ?? firstLine(words) };
  if (type === "ship") {
    const prepared = await prepareShip(client, { ...about, digest: commitIn(args) }, process.cwd());
    return id === undefined ? prepared : inThread(client, id, prepared);
  }
  if (id !== undefined) return prepareReply(client, id, { ...about, subject });
  return prepareMessage(client, about);
}

async function inThread(client: Client, id: string, prepared: Prepared): Promise<Prepared> {
  const { correlationId, continues } = await threadNamed(client, id);
  return { ...prepared, draft: { ...prepared.draft, correlationId }, answers: continues };
}

/** A ship of no file is one of a commit, whose id is a digest. */
function commitIn({ refs = [] }: SendArgs): string | undefined {
  const [only] = refs;
  return refs.length === 1 && only?.startsWith("git:") ? only.slice("git:".length) : undefined;
}

/** An artifact as JSON text; a text that is none is a file that was changed. */
function artifactIn(artifact: string): unknown {
  try {
    return JSON.parse(artifact);
  } catch {
    return { file: artifact, status: "changed" };
  }
}

/** Of a message that was given none; the body says it again, and in full. */
export function firstLine(words: string): string {
  const [line = ""] = words.trim().split("\n", 1);
  return cutSubject(line);
}

function extrasOf({ refs, priority, ack_required: ackRequired }: SendArgs): Extras {
  return {
    ...(refs === undefined ? {} : { refs }),
    ...(priority === undefined ? {} : { priority }),
    ...(ackRequired === true ? { ackRequired } : {}),
  };
}

function bodyOf({ body = "", on_behalf: behalf }: SendArgs): JsonValue {
  return behalf === undefined ? body : fromPlain({ text: body, on_behalf: behalf });
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
