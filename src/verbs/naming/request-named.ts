import { randomBytes } from "node:crypto";
import type { Client } from "../../api/client.ts";
import { DeaddropError } from "../../api/errors.ts";
import type { RequestView } from "../../api/views.ts";
import { SHUTDOWN } from "../../protocol/asks/requests.ts";
import { quote } from "../../wire/quote.ts";
import { shortId } from "../../framing/short-id.ts";
import { parentOf, type Parent } from "./parent.ts";

const ID_BYTES = 8;

/** A name for a request of ours. Nobody else has to find it unique. Spec 3.8. */
export function newRequestId(): string {
  return randomBytes(ID_BYTES).toString("hex");
}

/**
 * The request that is named by its `request_id`, or by its event id or a prefix of it. Its asker has
 * chosen the first, so a name that two requests have is refused, also when only one of them is open.
 * Spec 8.6. Throws DeaddropError.
 */
export async function requestNamed(client: Client, name: string): Promise<readonly RequestView[]> {
  const named = await client.view("requests", { named: name });
  // No stranger makes a name mean two things.
  const found = named.filter(({ refused }) => refused === null);
  const ids = [...new Set(found.map(({ event_id }) => event_id))];
  if (ids.length === 1) return found;
  if (ids.length === 0) {
    throw new DeaddropError("unknown_id", `no request is named ${quote(name)}`, {
      hint: "give its request id or event id, or the first 6 or more characters; deaddrop requests --all lists them",
    });
  }
  const meanings = found.map(
    ({ event_id, from, target, request_type, subject }) =>
      `${event_id}: ${from} asks ${target}, ${quote(request_type)} ${quote(subject)}`,
  );
  throw new DeaddropError(
    "ambiguous_id",
    [`${quote(name)} could mean:`, ...new Set(meanings)].join("\n"),
    { hint: "give the whole event id of the one that you mean" },
  );
}

/** A message by its event id, a request also by its request id. Throws DeaddropError `unknown_id`. */
export async function messageNamed(client: Client, id: string, of?: "ours"): Promise<Parent> {
  try {
    return await parentOf(client, id, of);
  } catch (error) {
    if (!(error instanceof DeaddropError) || error.code !== "unknown_id") throw error;
    const [found] = await requestNamed(client, id).catch(() => []);
    if (found === undefined) throw error;
    return parentOf(client, found.event_id);
  }
}

/** What is asked of us by that message; undefined when it is no request with an answer. */
export async function requestToUs(
  client: Client,
  { type, event_id }: Parent,
): Promise<RequestView | undefined> {
  if (type !== "request") return undefined;
  const found = await client.view("requests", { named: event_id });
  return found.find((each) => each.event_id === event_id && each.target === client.handle);
}

/** A request with an answer is settled by that answer alone. Spec 3.3. */
export function wantsAnswer({ request_id, request_type, from }: RequestView): DeaddropError {
  const id = shortId(request_id);
  const asks =
    request_type === SHUTDOWN
      ? `this is a shutdown request of ${from}: an approval parks you`
      : `${from} asks for a yes or a no`;
  return new DeaddropError("refused", `not sent: ${asks}`, {
    hint: `${request_type === SHUTDOWN ? "finish and report first, then: " : ""}deaddrop respond ${id} yes, or deaddrop respond ${id} no "why"`,
  });
}

/** Throws for a request that no answer settles any more. Spec 3.8. */
export function refuseSettled(request: RequestView, anyway: boolean): void {
  if (anyway) return;
  const { status, from, answer, refused } = request;
  const again = { hint: "--anyway sends the answer, which changes nothing" };
  if (refused !== null) {
    throw new DeaddropError(
      "refused",
      `not sent: ${from}'s request is refused here: ${refused}`,
      again,
    );
  }
  if (status !== "pending") {
    const words =
      status === "void" ? "is void: it does not say whom it asks" : `has ended: it was ${status}`;
    throw new DeaddropError("refused", `not sent: ${from}'s request ${words}`, again);
  }
  if (answer === null) return;
  const said = answer.approve ? "approved" : "rejected";
  throw new DeaddropError(
    "refused",
    `not sent: you have ${said} it (${shortId(answer.event_id)}), and ${from} closes it with that`,
    { hint: "--anyway sends another answer, which counts only if it is closed with that one" },
  );
}
