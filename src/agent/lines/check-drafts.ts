import { DeaddropError } from "../../api/errors.ts";
import type { SendAnswer } from "../../api/client.ts";
import { isMembersChange } from "../../protocol/asks/ask-line.ts";
import { requestId } from "../../protocol/asks/requests.ts";
import { touchedBy } from "../../protocol/asks/record.ts";
import type { NotWoken } from "../../protocol/beats/beat.ts";
import { booleanField, field, textsField } from "../../protocol/body.ts";
import { claimProblem } from "../../protocol/claims/claim-line.ts";
import { MAX_LIVE_CLAIMS } from "../../protocol/claims/standing.ts";
import { dueOf } from "../../protocol/due.ts";
import { safeModeEnd, type SafeMode } from "../../protocol/escalations/safe-mode-end.ts";
import { acceptsType, isState, type Tier } from "../../trust/tiers.ts";
import { checkDraft, type Draft } from "../../wire/compose.ts";
import { agentName } from "../../wire/handle.ts";
import { isJsonArray } from "../../wire/json/json.ts";
import { MAX_ROSTER } from "../../wire/limits.ts";
import type { Place } from "../../wire/places.ts";
import { quote } from "../../wire/quote.ts";
import type { Known } from "../duties/duty.ts";

type Facts = Pick<Known, "store" | "history" | "place" | "world" | "members">;

/**
 * Throws DeaddropError for drafts that must not be signed: nobody else would take them for what they say, or a
 * rule of the wire forbids them. Whether their places are held, safe mode and the state of our key are the core's
 * to say. Spec 1.2, 3.4.1, 3.4.6, 3.7, 3.8.
 */
export function checkDrafts(known: Facts, drafts: readonly Draft[]): void {
  const { self, limits } = known.place;
  if (!known.members.has(self)) {
    throw new DeaddropError("refused", `not sent: ${self} has left this wire`, {
      hint: "a member lets it come back with: deaddrop member add",
    });
  }
  for (const draft of drafts) {
    const checked = checkDraft(draft, limits);
    if (!checked.ok) throw badDraft(checked.detail);
    checkRecipients(known, draft);
    checkMeaning(known, draft);
  }
  checkClaimCount(known, drafts);
  checkRequestIds(known, drafts);
}

function checkRecipients({ members, place: { self } }: Facts, { to }: Draft): void {
  const stranger = to.find((name) => name !== "*" && (name === self || !members.has(name)));
  if (stranger === undefined) return;
  const why = stranger === self ? "that is you" : "it is no member of this wire";
  const others = [...members.keys()].filter((member) => member !== self).join(", ");
  throw new DeaddropError("unknown_recipient", `not sent to "${stranger}": ${why}`, {
    hint: others === "" ? "nobody else is on this wire" : `on this wire are: ${others}`,
  });
}

function checkMeaning(known: Facts, draft: Draft): void {
  const { type, body } = draft;
  if (type === "claim") {
    const problem = claimProblem(body);
    if (problem !== undefined)
      throw badDraft(
        problem,
        'a claim is of patterns such as "src/api/**", exclusive or shared, for 24 hours at most',
      );
  }
  if (type !== "proposal" && type !== "request") return;
  const { self } = known.place;
  const problem = voidness(draft, self);
  if (problem !== undefined)
    throw badDraft(
      problem,
      "body.required lists whose answer it takes: handles that it is addressed to, each once",
    );
  if (field(body, "due") !== undefined && dueOf(body, known.world.clock.wallMs()) === undefined)
    throw badDraft(
      "body.due is not a time that can be asked for",
      "it is an instant such as 2026-06-01T10:00:00Z, from 2 minutes to 30 days from now",
    );
  if (type === "proposal") checkOwners(known, draft);
}

/**
 * Why nobody could ever approve an ask, as `readAsk` judges it; undefined: somebody can. Spec
 * 3.4.1.
 *
 * @internal
 */
export function voidness({ to, type, body }: Draft, self: string): string | undefined {
  const required = field(body, "required");
  if (required === undefined) {
    if (type === "proposal" && isMembersChange(body)) return "body.required is missing";
    return to.length === 1 && to[0] !== "*" && to[0] !== self
      ? undefined
      : `a ${type} that is not for one other agent has to name its parties in body.required`;
  }
  if (!isJsonArray(required)) return "body.required is no list of handles";
  if (required.length > MAX_ROSTER) return `body.required has more than ${MAX_ROSTER} handles`;
  const isOfMembers = type === "proposal" && isMembersChange(body);
  if (required.length === 0) return isOfMembers ? undefined : "body.required names nobody";
  const parties = new Set<string>();
  for (const name of required) {
    const party = typeof name === "string" ? agentName(name) : undefined;
    if (party === undefined) return "body.required names what is no handle";
    if (party === self) return "body.required names you, and nobody answers an ask of its own";
    if (parties.has(party)) return `body.required names ${party} twice`;
    if (!to.includes("*") && !to.includes(party))
      return `body.required names ${party}, and to does not`;
    parties.add(party);
  }
  return undefined;
}

/** A decision covers no paths of an owner that was not asked. Spec 3.4.6. */
function checkOwners({ place, members }: Facts, { body, to }: Draft): void {
  if (isMembersChange(body)) return;
  const owners = new Set(Object.values(touchedBy(place.domains)(body).owners));
  const parties = textsField(body, "required")?.map((name) => agentName(name)) ?? to;
  const missing = [...owners].filter(
    (owner) => owner !== place.self && members.has(owner) && !parties.includes(owner),
  );
  if (missing.length === 0) return;
  const names = missing.map((owner) => `--required ${owner}`).join(" ");
  throw badDraft(
    `this needs ${missing.join(", ")} as well`,
    `they own a domain that the proposal touches: ${names}`,
  );
}

/** Of one author so many claims count; readers ignore those beyond. Spec 3.7. */
function checkClaimCount({ store, history, place, world }: Facts, drafts: readonly Draft[]): void {
  const added = drafts.filter(({ type }) => type === "claim").length;
  if (added === 0) return;
  const live = store.claims.live(history, world.clock.wallMs());
  const ours = live.filter(({ line }) => line.place.author === place.self);
  if (ours.length + added <= MAX_LIVE_CLAIMS) return;
  throw new DeaddropError("refused", `not sent: you have ${ours.length} claims already`, {
    hint: `at most ${MAX_LIVE_CLAIMS} count: deaddrop claims lists them, and deaddrop release ends one`,
  });
}

/** A program that answers without a place finds a request by its name. Spec 3.8. */
function checkRequestIds({ store, history, place }: Facts, drafts: readonly Draft[]): void {
  const names = drafts.flatMap(({ type, body }) => requestId({ type, body }) ?? []);
  if (names.length === 0) return;
  const open = store.asks.open(place.self).flatMap(({ ask }) => {
    const line = ask.is === "request" ? history.linked(ask.place) : undefined;
    return line === undefined ? [] : (requestId(line) ?? []);
  });
  const taken = names.find((name, at) => open.includes(name) || names.indexOf(name) < at);
  if (taken === undefined) return;
  throw badDraft(
    `a request of yours with the request_id ${quote(taken)} is open`,
    "leave request_id out, and the request gets a name of its own",
  );
}

/** Nothing is signed that names a place of a chain which is not held. Spec 1.6. */
export function unheldError({ author, seq, id }: Place): DeaddropError {
  const which = seq === null ? "the line" : `line ${seq}`;
  return new DeaddropError(
    "unknown_id",
    `not sent: it names ${which} of ${author} with the id ${id}, which is not held here`,
    { hint: "name a message that you have: deaddrop inbox, deaddrop thread" },
  );
}

/** @param self our handle */
export function safeModeError(type: string, mode: SafeMode, self: string): DeaddropError {
  const why = `${mode.of} did not ack an incident of ${mode.author} in time`;
  return new DeaddropError("safe_mode", `safe mode: "${type}" is not sent: ${why}`, {
    hint: safeModeEnd(mode, self, "agent"),
  });
}

function badDraft(detail: string, hint?: string): DeaddropError {
  return new DeaddropError("bad_draft", `not sent: ${detail}`, { hint });
}

/** What is known of a member when something is sent to it. */
export interface Recipient {
  /** The tier that it has announced that it gives us. */
  readonly tierThere: Tier | undefined;
  /** The tier that we give it. */
  readonly tierHere: Tier | undefined;
  readonly isPaused: boolean;
  /** As its last beat says: its wakes for our mail are used up. */
  readonly notWoken: NotWoken | undefined;
}

/** What the sender is told of recipients that will not read it soon, or at all. Absent: there are none. */
export type RecipientHints = Pick<
  SendAnswer,
  "refused_by" | "awaits_comparison" | "paused" | "not_woken"
>;

/** @param others the other members of the wire @param nowMs wall clock */
export function recipientHints(
  drafts: readonly Draft[],
  others: ReadonlyMap<string, Recipient>,
  nowMs: number,
): RecipientHints {
  const refusedBy: { peer: string; tier: Tier }[] = [];
  const uncompared: string[] = [];
  const paused: string[] = [];
  const notWoken: { peer: string; until: string }[] = [];
  for (const [peer, known] of others) {
    const ours = drafts.filter(({ to }) => to.includes("*") || to.includes(peer));
    if (ours.length === 0) continue;
    const { tierThere, tierHere, isPaused } = known;
    const isRefused =
      tierThere !== undefined && ours.some(({ type }) => !acceptsType(tierThere, type));
    if (isRefused && tierThere !== "UNTRUSTED") refusedBy.push({ peer, tier: tierThere });
    const isMail = ours.some(({ type }) => !isState(type));
    if (isMail && (tierThere ?? tierHere) === "UNTRUSTED") uncompared.push(peer);
    if (isPaused) paused.push(peer);
    const untilMs = sleepsUntil(ours, known, nowMs);
    if (untilMs !== undefined) notWoken.push({ peer, until: new Date(untilMs).toISOString() });
  }
  return {
    ...(refusedBy.length === 0 ? {} : { refused_by: refusedBy }),
    ...(uncompared.length === 0 ? {} : { awaits_comparison: uncompared }),
    ...(paused.length === 0 ? {} : { paused }),
    ...(notWoken.length === 0 ? {} : { not_woken: notWoken }),
  };
}

function sleepsUntil(
  drafts: readonly Draft[],
  { notWoken }: Recipient,
  nowMs: number,
): number | undefined {
  const times = drafts
    .filter((draft) => !isState(draft.type) && !isQuiet(draft))
    .map(({ type, priority, subject }) => {
      const isHigh = priority === "high" || subject.startsWith("urgent:");
      const isUrgent = isHigh || type === "incident";
      return (isUrgent ? notWoken?.urgentUntilMs : notWoken?.untilMs) ?? 0;
    });
  const untilMs = Math.max(0, ...times);
  return untilMs > nowMs ? untilMs : undefined;
}

/**
 * Whether a message wakes no agent, however urgent it is: it asks for nothing. Claims, releases, and acks that
 * accept a proposal or grant a claim; the answer to a request wakes. Spec 8.3.
 */
export function isQuiet({ type, body }: Pick<Draft, "type" | "body">): boolean {
  if (type === "claim" || type === "release") return true;
  if (type === "incident") return field(body, "cause") !== undefined;
  return (
    type === "ack" && booleanField(body, "approve") === true && field(body, "answers") === undefined
  );
}
