import { codeOfStorage, DeaddropError } from "../api/errors.ts";
import type { RequestKey, SendAnswer } from "../api/client.ts";
import { readAsk } from "../protocol/asks/ask-line.ts";
import type { ChangeRefusal } from "../protocol/asks/members.ts";
import { booleanField, field } from "../protocol/body.ts";
import type { StorageError } from "../storage/disk/disk.ts";
import type { Draft } from "../wire/compose.ts";
import { isJsonObject } from "../wire/json/json.ts";
import { isChained, readPlace } from "../wire/places.ts";
import {
  leaveDrafts,
  memberAckFields,
  memberChangeDraft,
  type MemberChange,
} from "./answers/members.ts";
import { recipientsOf } from "./answers/peers.ts";
import { answeredBefore, sentLines } from "./answers/sent.ts";
import { trouble } from "../api/troubles.ts";
import { stopOf } from "./answers/troubles.ts";
import type { Core } from "./core.ts";
import { checkDrafts, recipientHints, safeModeError, unheldError } from "./lines/check-drafts.ts";
import { readParked } from "./parked.ts";
import type { Session } from "./session/session.ts";

/**
 * What each group sends, all of it in one transaction, or nothing. Spec 4.7.
 *
 * @param key of a group that is alone
 * @throws DeaddropError for what must not be signed, or cannot be written
 */
export function sendGroups(
  session: Session,
  groups: readonly (readonly Draft[])[],
  key?: RequestKey,
): SendAnswer[] {
  const { core } = session;
  const wasParked = readParked(core.store) !== undefined;
  const prepared = groups.map((drafts) => drafts.map((draft) => withMembersTaken(core, draft)));
  checkDrafts(core, prepared.flat());
  const lines = sentLines(core, commit(session, prepared.flat(), key));
  const parks = !wasParked && readParked(core.store) !== undefined;
  const others = recipientsOf(core);
  const nowMs = core.world.clock.wallMs();
  let from = 0;
  return prepared.map((drafts) => {
    const messages = lines.slice(from, from + drafts.length);
    from += drafts.length;
    const hints = recipientHints(drafts, others, nowMs);
    return { outcome: "sent", messages, ...hints, ...(parks ? { parks } : {}) };
  });
}

/** The same for one group, once under its key. Spec 8.1. */
export function sendOnce(session: Session, drafts: readonly Draft[], key: RequestKey): SendAnswer {
  return answered(session, key) ?? sendOne(session, drafts, key);
}

/** What was sent under a key; null: nothing was. */
export function answered({ core }: Pick<Session, "core">, key: RequestKey): SendAnswer | null {
  const messages = answeredBefore(core, key);
  return messages === undefined ? null : { outcome: "sent", messages, repeated: true };
}

/** Proposes a change of members. Spec 3.11. */
export function proposeMembers(session: Session, change: MemberChange): SendAnswer {
  const asked = memberChangeDraft(session.core, change);
  if (!asked.ok) throw membersError(asked);
  return sendOne(session, [asked.draft]);
}

/** Our agent leaves; its open changes of members end first. Spec 3.11. */
export function leaveWire(session: Session): SendAnswer {
  return sendOne(session, leaveDrafts(session.core));
}

function sendOne(session: Session, drafts: readonly Draft[], key?: RequestKey): SendAnswer {
  const [answer] = sendGroups(session, [drafts], key);
  if (answer === undefined) throw new Error("what was sent has no answer");
  return answer;
}

function commit(session: Session, drafts: readonly Draft[], key: RequestKey | undefined) {
  const { core } = session;
  const sent = core.send(drafts, key);
  switch (sent.is) {
    case "sent":
      return sent.lines;
    case "unheld":
      throw unheldError(sent.place);
    case "safe mode":
      throw safeModeError(drafts[0]?.type ?? "", sent.mode, core.place.self);
    case "not ready": {
      const { detail, end } = stopOf(session, sent.readiness);
      throw new DeaddropError("refused", `not sent: ${detail}`, { hint: end });
    }
    case "parked":
      throw new DeaddropError("refused", "not sent: this agent is parked", {
        hint: "it goes on with: deaddrop status wake",
      });
    case "reserved":
      throw new DeaddropError("bad_draft", "not sent: body.parks is for the daemon to write");
  }
}

/** Nothing was signed. */
export function notSent(error: StorageError): DeaddropError {
  const { code, message, hint } = error;
  return new DeaddropError(codeOfStorage(code), `not sent: ${message}`, { hint, cause: error });
}

/** An ack that agrees to a change of members names what ended before it. */
function withMembersTaken(core: Core, draft: Draft): Draft {
  const { type, body } = draft;
  const place = readPlace(field(body, "acks"));
  const isApproving = type === "ack" && booleanField(body, "approve") === true;
  if (!isApproving || place === undefined || !isChained(place) || !isJsonObject(body)) return draft;
  const line = core.history.linked(place);
  if (line === undefined || readAsk(line)?.isOfMembers !== true) return draft;
  const added = memberAckFields(core, place);
  if (!added.ok) throw membersError(added);
  return { ...draft, body: { ...body, ...added.body } };
}

const REFUSALS: Record<
  Exclude<ChangeRefusal["reason"], "roster_forked">,
  { what: string; hint: string }
> = {
  not_a_member: {
    what: "only a member that chains proposes changes, and it leaves by itself",
    hint: "to leave: deaddrop member leave",
  },
  not_one_step: {
    what: "this changes nothing, or more than one member",
    hint: "who is one: deaddrop members",
  },
  void: {
    what: "this change can never be approved",
    hint: "it was made from another roster; its proposer proposes it again: deaddrop members",
  },
  another_change: {
    what: "another change of members is open",
    hint: "it has to end first: deaddrop members",
  },
};

function membersError({ reason }: ChangeRefusal): DeaddropError {
  const forked = trouble("roster_forked", {});
  const { what, hint } =
    reason === "roster_forked" ? { what: forked.detail, hint: forked.end } : REFUSALS[reason];
  return new DeaddropError("refused", `not sent: ${what}`, { hint });
}
