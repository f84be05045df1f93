import type { Client } from "../api/client.ts";
import { DeaddropError } from "../api/errors.ts";
import type { RequestView } from "../api/views.ts";
import { PLAN_APPROVAL, SHUTDOWN } from "../protocol/asks/requests.ts";
import { definedFields } from "../wire/defined-fields.ts";
import type { JsonObject } from "../wire/json/json-value.ts";
import { quote } from "../wire/quote.ts";
import { closest } from "../wire/suggest.ts";
import { prepareVerdict } from "./answer.ts";
import { endOf, refuseByHand } from "./correct.ts";
import { ANYWAY, EXTRAS, extrasOf, REASON, TO } from "./fields.ts";
import { cutSubject, parentOf, refuseNewest, type Parent } from "./naming/parent.ts";
import { isRecipient, peersOf, recipients, withParties } from "./naming/recipients.ts";
import { newRequestId, requestNamed } from "./naming/request-named.ts";
import { body, choice, flag, text, verb } from "./verb.ts";
import { dueInstant } from "./words/times.ts";
import { bodyFields, withState } from "./words/opening.ts";

const TYPE = /^[a-z][a-z0-9_.-]{0,63}$/;
/** Of a request that names no type. */
const ANY_TYPE = "approval";
const SUBJECTS: ReadonlyMap<string, string> = new Map([
  [SHUTDOWN, "please finish and shut down"],
  [PLAN_APPROVAL, "a plan, for your approval"],
]);

/** Asks for a yes or a no that is tracked until it comes. Spec 3.8. */
export const request = verb({
  about:
    "Asks agents to approve or reject something. Each of them answers for itself with " +
    "`deaddrop respond`; `deaddrop requests` shows what became of it.\n\n" +
    "  shutdown       asks an agent to finish; when it approves, its daemon parks\n" +
    "  plan_approval  submits a plan: do not begin before it is approved\n" +
    "  any other      a name of your own",
  fields: {
    type: text(
      "[type]",
      `shutdown, plan_approval, or a name of your own (else ${ANY_TYPE})`,
      "review, plan_approval (body: the plan), shutdown, incident, …",
    ),
    to: {
      ...TO,
      spelling: "[words...] --to <handle>",
      about: "whom to ask (in a pair the peer), and what",
    },
    subject: text("--subject <text>", "what it is about"),
    body: { ...body("what there is to say"), spelling: "" },
    plan: {
      ...text("--plan <text>", "the plan to be approved"),
      file: { "--plan-file <file>": "the same, from a file" },
    },
    due: text(
      "--due <when>",
      "until when to answer: 30m, 4h, 2d or a time (else 24 hours)",
      "30m, 2d or a time",
    ),
    state: text("--state <line>", "the line of state that a long request opens with"),
    ...EXTRAS,
  },
  needs: [],
  binds: true,
  examples: [
    'deaddrop request shutdown scribe --body "The release is out."',
    'deaddrop request plan_approval lead --plan "1. measure 2. cut over" --wait answered',
  ],
  words: wordsOf,
  async prepare({ client, nowMs }, { type = ANY_TYPE, ...args }) {
    if (!TYPE.test(type)) {
      throw new DeaddropError("usage", `${quote(type)} is no type of request`, {
        hint: "a type is a name in small letters, such as shutdown, plan_approval or review",
      });
    }
    if (type === ANY_TYPE && args.subject === undefined && (args.body ?? "") === "") {
      throw new DeaddropError("usage", "the request does not say what it asks for", {
        hint: 'deaddrop request PEER "subject" "body"',
      });
    }
    const plan = planFields(type, args.plan);
    const text = withState("request", args.body ?? "", args.state);
    const due = args.due === undefined ? {} : { due: dueInstant(args.due, nowMs) };
    const names = { request_id: newRequestId(), request_type: type };
    const to = await recipients(client, args.to);
    const body = { ...bodyFields(text), ...names, ...plan, ...due };
    return {
      draft: {
        to,
        type: "request",
        subject: args.subject ?? SUBJECTS.get(type) ?? cutSubject(type),
        body: await withParties(client, { type: "request", to, body }),
        ...extrasOf(args),
      },
    };
  },
});

/**
 * The type is one word, agents are named before or behind it, and the rest is subject and body. A single
 * word that names nobody is taken for a handle until an agent is named, and when it is like one.
 */
async function wordsOf(client: Client, words: readonly string[]) {
  const peers = await peersOf(client);
  const to: string[] = [];
  const texts: string[] = [];
  let type: string | undefined;
  for (const word of words) {
    const isWord = !/\s/.test(word);
    const isHandle = isWord && (await isRecipient(client, word));
    if (isWord && !isHandle && type === undefined && texts.length === 0) type = word;
    else if (isHandle || (isWord && (to.length === 0 || closest(word, peers) !== undefined))) {
      to.push(word);
    } else texts.push(word);
  }
  const [subject, body, another] = texts;
  if (another !== undefined) {
    throw new DeaddropError("usage", "a request has a subject and a body, not a third text", {
      hint: 'deaddrop request TYPE PEER "subject" "body"',
    });
  }
  return definedFields({ type, to: to.length === 0 ? undefined : to, subject, body });
}

/** The answer to a request, which is named by its `request_id` or event id. Spec 3.8. */
export const respond = verb({
  about: "Answers a request, of which only the first answer counts, or a proposal.",
  fields: {
    request: {
      ...text("<request>", "its request id, or its event id or a prefix of it"),
      aliases: ["id", "request_id"],
    },
    answer: choice(["yes", "no", "approve", "reject"], "[answer]", "yes or no"),
    approve: flag("--approve", "yes"),
    reject: flag("--reject", "no; say why with --reason"),
    reason: REASON,
    anyway: ANYWAY,
  },
  needs: ["request"],
  binds: true,
  examples: [
    "deaddrop respond 4f2a91c0 yes",
    'deaddrop respond 4f2a91c0 no --reason "tests are red; in an hour"',
  ],
  async prepare({ client }, { request: name, answer, approve, reject, ...reasons }) {
    const says = new Set([
      ...(answer === undefined ? [] : [answer === "yes" || answer === "approve"]),
      ...(approve === undefined ? [] : [approve]),
      ...(reject === undefined ? [] : [!reject]),
    ]);
    const [approves] = says;
    if (approves === undefined || says.size > 1) {
      throw new DeaddropError("usage", "approve it, or reject it?", {
        hint: `deaddrop respond ${name} yes, or deaddrop respond ${name} no`,
      });
    }
    await refuseNewest(client, name);
    const parent = await askedOfUs(client, name);
    return prepareVerdict(client, parent, approves ? "accept" : "reject", reasons);
  },
});

/** Takes a request of ours back: it ends for each whom it asks by a line of its own. Spec 3.4.1. */
export const cancelRequest = verb({
  about: "Takes a request of yours back, from everybody or from one agent.",
  fields: {
    request: text("<request>", "its request id, or its event id or a prefix of it"),
    of: text("--of <handle>", "only the request to this agent"),
    reason: REASON,
  },
  needs: ["request"],
  binds: true,
  examples: ["deaddrop requests cancel 4f2a91c0 --of scribe"],
  async prepare({ client }, { request: name, of, reason }) {
    const found = await requestNamed(client, name);
    const open = openOf(client, found, of);
    const parent = await parentOf(client, open[0]?.event_id ?? name);
    refuseByHand(parent);
    const [draft, ...more] = open.map(({ target }) => endOf(parent, [target], reason, target));
    if (draft === undefined) throw new Error("no request is open");
    return { draft, more, answers: parent };
  },
});

/** Those that a cancellation may still end. Throws DeaddropError when there are none. */
function openOf(
  { handle }: Client,
  found: readonly RequestView[],
  of: string | undefined,
): readonly RequestView[] {
  if (found.some(({ from }) => from !== handle)) {
    throw new DeaddropError("refused", "that request is not yours: its asker takes it back", {
      hint: "`deaddrop respond <id> no` refuses it",
    });
  }
  const meant = found.filter(({ target }) => of === undefined || target === of);
  const open = meant.filter(({ status }) => status === "pending");
  if (open.length > 0) return open;
  const [first] = meant;
  const why =
    first === undefined ? `it was not sent to ${of}` : `it has ended: it was ${first.status}`;
  throw new DeaddropError("refused", `not sent: ${why}`, {
    hint: "`deaddrop requests --all` shows what became of each",
  });
}

/** The request itself, which a name of its asker's choosing may name; or a proposal. */
async function askedOfUs(client: Client, name: string): Promise<Parent> {
  try {
    const [found] = await requestNamed(client, name);
    return await parentOf(client, found?.event_id ?? name);
  } catch (error) {
    if (!(error instanceof DeaddropError) || error.code !== "unknown_id") throw error;
    const parent = await parentOf(client, name).catch(() => undefined);
    if (parent?.type !== "proposal") throw error;
    return parent;
  }
}

function planFields(type: string, plan: string | undefined): JsonObject {
  if (plan !== undefined && plan.trim() !== "") return { plan };
  if (type !== PLAN_APPROVAL && plan === undefined) return {};
  throw new DeaddropError("usage", "there is no plan to approve", {
    hint: "give its text (--plan, or --plan-file <file>)",
  });
}
