import { lineAt } from "../../protocol/asks/history.ts";
import {
  bindingClaims,
  grantsOf,
  rivalsOf,
  type LiveClaim,
  type Rival,
} from "../../protocol/claims/standing.ts";
import { booleanField, field, idField } from "../../protocol/body.ts";
import type { HeldLine, StoreWriter } from "../../store/store.ts";
import { readPlace } from "../../wire/places.ts";
import { claimFacts } from "../answers/claims.ts";
import type { Known } from "./duty.ts";
import { quoteText } from "./notice-words.ts";

/** `meta`: which claims overlap ours, as the agent knows it. */
const KNOWN = "notices claims";
const KINDS = { won: "claim_kept", lost: "claim_lost", contested: "claim_contested" } as const;

type Facts = Pick<Known, "store" | "history" | "place" | "members">;

/** Event ids of our claim and of the other one, what that means for ours, and whose the other one is. */
type Overlap = readonly [ours: string, other: string, is: Rival["is"], peer: string];

/**
 * Tells of claims that overlap ours since, and of overlaps that are over. Within a transaction. Returns whether
 * there are any. Spec 3.7.
 */
export function tellClaims(known: Facts, into: StoreWriter, nowMs: number): boolean {
  const { store, history, place } = known;
  const facts = claimFacts(known, nowMs);
  const binding = bindingClaims(facts);
  const ours = new Map(
    binding.flatMap((claim) =>
      claim.line.place.author === place.self ? [[claim.line.place.id, claim] as const] : [],
    ),
  );
  const said = store.meta(KNOWN) ?? "[]";
  const before = JSON.parse(said) as readonly Overlap[];
  const now = [...ours.values()].flatMap((claim) =>
    rivalsOf(claim, binding, facts).map((rival) => ({ claim, rival })),
  );
  for (const { claim, rival } of now) {
    const { claim: other, is } = rival;
    const isSaid = before.some(
      ([id, otherId, was]) =>
        id === claim.line.place.id && otherId === other.line.place.id && was === is,
    );
    const isNews = [claim, other].some(({ line }) => history.receipt(line.place)?.isLive === true);
    if (isSaid || !isNews) continue;
    const peer = other.line.place.author;
    const about = `${claim.line.place.id} ${other.line.place.id}`;
    store.notices.add({ kind: KINDS[is], about, text: overlapText(claim, rival), peer }, nowMs);
  }
  const alone = before.filter(
    ([id]) => ours.has(id) && !now.some(({ claim }) => claim.line.place.id === id),
  );
  for (const [id, otherId, , peer] of alone) {
    const text = `${peer}'s claim has ended: nothing overlaps yours of ${pathsText(ours.get(id))} any more.`;
    store.notices.add({ kind: "claim_alone", about: `${id} ${otherId}`, text, peer }, nowMs);
  }
  const after = now.map(({ claim, rival: { claim: other, is } }): Overlap => {
    const { author, id } = other.line.place;
    return [claim.line.place.id, id, is, author];
  });
  if (JSON.stringify(after) !== said) into.setMeta(KNOWN, JSON.stringify(after));
  return after.length > 0;
}

/** Tells what the owner of a domain says of a claim of ours. Within the transaction that takes the ack in. */
export function tellGrant(known: Facts, line: HeldLine, nowMs: number): void {
  const { store, history, place } = known;
  const { author, id } = line;
  if (line.type !== "ack" || !line.isLive || !store.notices.hasRoom(author, nowMs)) return;
  // Most agents own nothing: their acks are not read.
  if (![...place.domains.values()].some(({ owner }) => owner === author)) return;
  const said = lineAt(history, line);
  const grants = said && booleanField(said.body, "approve");
  if (said === undefined || grants === undefined) return;
  const named = readPlace(field(said.body, "about"));
  const about = named?.id ?? (line.seq === null ? idField(said.body, "acks") : undefined);
  const facts = claimFacts(known, nowMs);
  const claim = bindingClaims(facts).find(({ line: { place: at } }) => at.id === about);
  if (claim?.line.place.author !== place.self) return;
  if (!grantsOf(claim, facts).some(({ owner }) => owner === author)) return;
  const text = `${author} ${grants ? "granted" : "denied"} your claim of ${pathsText(claim)}.`;
  const kind = grants ? "claim_granted" : "claim_denied";
  store.notices.add({ kind, about: id, text, peer: author }, nowMs);
}

function overlapText(claim: LiveClaim, { claim: other, is }: Rival): string {
  const peer = other.line.place.author;
  const both = `Your claim of ${pathsText(claim)} and one of ${peer} overlap`;
  switch (is) {
    case "won":
      return `${both}: yours was known to ${peer} and holds.`;
    case "lost":
      return `${both}: ${peer}'s was known to you and holds, so yours does not.`;
    case "contested":
      return `${both}, and neither of you knew of the other: neither holds until one of you releases its claim (\`deaddrop release\`).`;
  }
}

/** Paths of ours; a peer's are not repeated. */
function pathsText(claim: LiveClaim | undefined): string {
  const [first = "", ...more] = claim?.paths ?? [];
  return more.length === 0 ? quoteText(first) : `${quoteText(first)} and ${more.length} more`;
}
