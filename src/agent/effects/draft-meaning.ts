import { DeaddropError } from "../../api/errors.ts";
import { field, textsField } from "../../protocol/body.ts";
import { claimProblem } from "../../protocol/claims/claim-line.ts";
import { isLiveClaim, MAX_LIVE_CLAIMS } from "../../protocol/claims/claims-state.ts";
import { ownersNeeded } from "../../protocol/decisions/required-parties.ts";
import { domainsOwned } from "../../protocol/env.ts";
import { dueOf } from "../../protocol/due.ts";
import type { Draft } from "../../wire/compose.ts";
import type { Log } from "../../wire/layout.ts";
import type { Session } from "../session/session.ts";

const HAVE_DUE: ReadonlySet<string> = new Set(["proposal", "request"]);

/** Throws for a draft that readers would not take for what it says it is. Spec 3.4, 3.7, 3.8. */
export function checkMeaning(
  session: Pick<Session, "place" | "world" | "memory">,
  draft: Draft,
  logs: readonly Log[],
): void {
  if (draft.type === "proposal") checkOwners(session, draft, logs);
  if (HAVE_DUE.has(draft.type)) checkDue(draft, session.world.clock.wallMs());
  if (draft.type === "claim") checkClaim(session, draft, logs);
}

/** Spec 3.4: a proposal names every owner of what it touches, by the pinned configuration. */
function checkOwners(session: Pick<Session, "place">, { body }: Draft, logs: readonly Log[]): void {
  const { handle, layout } = session.place;
  const domains = domainsOwned(session.place.domains, layout);
  const readers = logs.flatMap(({ addressee }) => addressee ?? []);
  const required = textsField(body, "required") ?? readers;
  const missing = ownersNeeded(body, domains, handle).filter((owner) => !required.includes(owner));
  if (missing.length === 0) return;
  throw new DeaddropError("bad_draft", `not sent: this needs ${missing.join(", ")} as well`, {
    hint: "they own a domain that the proposal touches: name them with --required; several parties need layout outbox",
  });
}

/** Spec 3.4: readers take a `due` that is out of range as absent, so we do not write it. */
function checkDue({ body }: Draft, nowMs: number): void {
  if (field(body, "due") === undefined || dueOf(body, nowMs) !== undefined) return;
  throw new DeaddropError("bad_draft", "not sent: body.due is not a time that can be asked for", {
    hint: "it is an instant such as 2026-06-01T10:00:00Z, from 2 minutes to 30 days from now",
  });
}

/** Spec 3.7: readers take no claim that says what none can say, and none beyond the limit. */
function checkClaim(
  { memory, world }: Pick<Session, "memory" | "world">,
  { body }: Draft,
  logs: readonly Log[],
): void {
  const problem = claimProblem(body);
  if (problem !== undefined) {
    throw new DeaddropError("bad_draft", `not sent: ${problem}`, {
      hint: 'a claim is of patterns such as "src/api/**", exclusive or shared, for 24 hours at most',
    });
  }
  const nowMs = world.clock.wallMs();
  const isFull = logs.some(({ name }) => {
    const claims = memory.state.claims.byLog.get(name) ?? [];
    return claims.filter((claim) => isLiveClaim(claim, nowMs)).length >= MAX_LIVE_CLAIMS;
  });
  if (!isFull) return;
  throw new DeaddropError("refused", `not sent: you have ${MAX_LIVE_CLAIMS} claims already`, {
    hint: "deaddrop claims lists them, and deaddrop release ends one",
  });
}
