import type { ObligationView } from "../api/views.ts";

/**
 * What an answer sets in motion, by fields of a body that its subject may not show. Everybody who is
 * asked reads it in our words. Spec 3.3.
 */
const REQUESTS: ReadonlyMap<string, string> = new Map([
  ["shutdown", "shutdown request: an approval parks the agent"],
  ["plan_approval", "plan approval request"],
  ["plan_step", "request to do a step of a plan"],
]);
const ACTIONS: ReadonlyMap<string, string> = new Map([
  ["add_key", "proposal that also adds a signing key of its author"],
  ["deactivate_key", "proposal that also ends a signing key of its author"],
  ["members", "proposal that changes who is a member of the wire"],
]);

type Asked = Pick<ObligationView, "type" | "request_type" | "action">;

/** What is asked for; a type of request that its asker has made up is quoted. */
export function askedWords(asked: Asked): string {
  const known = knownWords(asked);
  if (known !== undefined) return known;
  const { type, request_type: named } = asked;
  return named === null || named === "other" ? type : `${type} of type ${JSON.stringify(named)}`;
}

/** The same without a word of a peer; undefined where the type of the message says all. */
export function knownWords({ request_type: named, action }: Asked): string | undefined {
  return REQUESTS.get(named ?? "") ?? ACTIONS.get(action ?? "");
}
