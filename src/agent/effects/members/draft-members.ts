import { DeaddropError } from "../../../api/errors.ts";
import { booleanField, textField, textsField } from "../../../protocol/body.ts";
import { supportProblem } from "../../../protocol/members/due-changes.ts";
import { memberChangeIn } from "../../../protocol/members/member-changes.ts";
import type { Draft } from "../../../wire/compose.ts";
import type { Session } from "../../session/session.ts";

/**
 * Throws for a proposal that changes members and for an ack of one where it can never be applied, or our
 * agent has agreed to another one. Spec 3.11.
 */
export function checkMembers(
  { memory, env }: Pick<Session, "memory" | "env">,
  { type, body, to }: Draft,
): void {
  const { state } = memory;
  const problem = type === "proposal" ? ofProposal() : type === "ack" ? ofAck() : undefined;
  if (problem === undefined) return;
  throw new DeaddropError("refused", `not sent: ${problem}`, {
    hint: "deaddrop member list shows who is a member, and which changes are open",
  });

  function ofProposal(): string | undefined {
    const change = memberChangeIn(body);
    if (change === undefined) return undefined;
    const required = textsField(body, "required") ?? to;
    return supportProblem(state, { ...change, required, from: env.self }, undefined, env);
  }

  function ofAck(): string | undefined {
    const change = state.members.changes.get(textField(body, "acks") ?? "");
    if (change === undefined || booleanField(body, "approve") === false) return undefined;
    return supportProblem(state, change, change.id, env);
  }
}

/** Spec 3.5: members may agree on a removal in safe mode. */
export function isRemoval({ type, body }: Draft): boolean {
  return type === "proposal" && memberChangeIn(body)?.action === "remove_member";
}
