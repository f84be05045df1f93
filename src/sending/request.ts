import type { Client } from "../api/client.ts";
import { DeaddropError } from "../api/errors.ts";
import type { RequestView } from "../api/views.ts";
import { PLAN_APPROVAL, SHUTDOWN } from "../protocol/asks/requests.ts";
import { type JsonObject, type JsonValue } from "../wire/json/json-value.ts";
import { quote } from "../wire/quote.ts";
import { prepareVerdict, type Reasons } from "./answer.ts";
import { endOf, refuseByHand } from "./correction.ts";
import { cutSubject, parentOf, type Parent } from "./naming/parent.ts";
import { withParties, recipients } from "./naming/recipients.ts";
import { newRequestId, requestNamed } from "./naming/request-named.ts";
import type { Extras, Prepared } from "./prepared.ts";
import { dueInstant } from "./words/times.ts";
import { bodyFields, withState } from "./words/opening.ts";

const TYPE = /^[a-z][a-z0-9_.-]{0,63}$/;
const SUBJECTS: ReadonlyMap<string, string> = new Map([
  [SHUTDOWN, "please finish and shut down"],
  [PLAN_APPROVAL, "a plan, for your approval"],
]);

export interface Request {
  /** `shutdown`, `plan_approval`, or a name of one's own. */
  readonly type: string;
  readonly body: JsonValue;
  /** Whom to ask; in a pair the peer unless given. */
  readonly to?: readonly string[] | undefined;
  readonly subject?: string | undefined;
  /** The plan that is to be approved. */
  readonly plan?: string | undefined;
  /** Until when to answer: a span from now, or an instant. */
  readonly due?: string | undefined;
  readonly state?: string | undefined;
  readonly extras: Extras;
}

/** Asks for a yes or a no that is tracked until it comes. Spec 3.8. `nowMs`: of the wall clock. */
export async function prepareRequest(
  client: Client,
  about: Request,
  nowMs: number,
): Promise<Prepared> {
  const { type } = about;
  if (!TYPE.test(type)) {
    throw new DeaddropError("usage", `${quote(type)} is no type of request`, {
      hint: "a type is a name in small letters, such as shutdown, plan_approval or review",
    });
  }
  const text = withState("request", about.body, about.state);
  const plan = planFields(about);
  const due = about.due === undefined ? {} : { due: dueInstant(about.due, nowMs) };
  const names = { request_id: newRequestId(), request_type: type };
  const to = await recipients(client, about.to);
  const body = { ...bodyFields(text), ...names, ...plan, ...due };
  return {
    draft: {
      to,
      type: "request",
      subject: about.subject ?? SUBJECTS.get(type) ?? cutSubject(type),
      body: await withParties(client, { type: "request", to, body }),
      ...about.extras,
    },
  };
}

/** The answer to a request, which is named by its `request_id` or event id. Spec 3.8. */
export async function prepareResponse(
  client: Client,
  name: string,
  approves: boolean,
  reasons: Reasons,
): Promise<Prepared> {
  const parent = await askedOfUs(client, name);
  return prepareVerdict(client, parent, approves ? "accept" : "reject", reasons);
}

/**
 * Takes a request of ours back, from everybody or from one agent: it ends for each of them by a line of its own. Spec 3.4.1.
 */
export async function prepareCancellation(
  client: Client,
  name: string,
  { of, reason }: { readonly of?: string | undefined; readonly reason?: string | undefined },
): Promise<Prepared> {
  const found = await requestNamed(client, name);
  const open = openOf(client, found, of);
  const parent = await parentOf(client, open[0]?.event_id ?? name);
  refuseByHand(parent);
  const [draft, ...more] = open.map(({ target }) => endOf(parent, [target], reason, target));
  if (draft === undefined) throw new Error("no request is open");
  return { draft, more, answers: parent };
}

/** Those that a cancellation may still end. Throws DeaddropError when there are none. */
function openOf(
  { handle }: Client,
  found: readonly RequestView[],
  of: string | undefined,
): readonly RequestView[] {
  if (found.some(({ from }) => from !== handle)) {
    throw new DeaddropError("refused", "that request is not yours: its asker takes it back", {
      hint: "`deaddrop respond <id> --reject` refuses it",
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

/** The request itself, which a name of its asker's choosing may name. */
async function askedOfUs(client: Client, name: string): Promise<Parent> {
  const [found] = await requestNamed(client, name);
  return parentOf(client, found?.event_id ?? name);
}

function planFields({ type, plan }: Request): JsonObject {
  if (plan !== undefined && plan.trim() !== "") return { plan };
  if (type !== PLAN_APPROVAL && plan === undefined) return {};
  throw new DeaddropError("usage", "there is no plan to approve", {
    hint: "give its text (--plan, or --plan-file <file>)",
  });
}
