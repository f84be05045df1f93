import { isHeld } from "../answers/listed.ts";
import { lineAt } from "../../protocol/asks/history.ts";
import { outcomeOf } from "../../protocol/asks/outcome.ts";
import { textField } from "../../protocol/body.ts";
import { setReciprocations } from "../../trust/pins.ts";
import { isState, RECIPROCATIONS_TO_ATTEST, tierNamed } from "../../trust/tiers.ts";
import type { HeldLine, StoreWriter } from "../../store/store.ts";
import { agentName } from "../../wire/handle.ts";
import { fromPlain } from "../../wire/json/json.ts";
import { isChained } from "../../wire/places.ts";
import type { PrivateTrust } from "../config/private-trust.ts";
import { takeChangedAsks, type Duty, type Ground } from "./duty.ts";

const ANNOUNCEMENT = "trust_tier_announcement";
/** `meta`: changes of asks up to here are counted as reciprocations. */
const COUNTED = "reciprocations_counted";
/** Changes of asks that are looked at in one round. */
const MOST_CHANGES = 256;

/**
 * Announces tiers to agents whose lines wait or are refused for theirs, remembers what others announce of ours,
 * and raises who has reciprocated. Spec 2.3.
 */
export class TierDuty implements Duty {
  readonly #ground: Ground;
  readonly #trust: PrivateTrust;

  constructor(ground: Ground, trust: PrivateTrust) {
    this.#ground = ground;
    this.#trust = trust;
  }

  take(_into: StoreWriter, line: HeldLine): void {
    const { place, members, store } = this.#ground;
    const { author, type, verdict, isLive, isOurs } = line;
    if (type === ANNOUNCEMENT) return this.#takeAnnouncement(line);
    if (author === place.self || !isLive || !isOurs || !members.has(author)) return;
    const { tier } = place.believed(author);
    const waits = verdict === null && tier === "UNTRUSTED" && !isState(type);
    if (waits || verdict === "tier_refused") store.tiers.await(author);
  }

  decide(into: StoreWriter): boolean {
    this.#countChanges(into);
    const { store, members, place, readiness } = this.#ground;
    if (readiness.is !== "ready") return false;
    for (const { name, said } of store.tiers.awaiting()) {
      const { tier, blocked } = place.believed(name);
      if (tier === undefined || blocked || said === tier) continue;
      if (!members.has(name) || isHeld(this.#ground, name)) continue;
      this.#ground.say(into, {
        ...{ to: [name], type: ANNOUNCEMENT, subject: `${name} is ${tier} here`, priority: "low" },
        body: fromPlain({ about: name, tier }),
      });
      return true;
    }
    return false;
  }

  /** Raises in the private store who has reciprocated more often than it says. */
  write(): void {
    const { store, world } = this.#ground;
    for (const { handle, tier, tierSetAtMs, reciprocations } of this.#trust.store.peers.values()) {
      if (tier !== "VERIFIED" || reciprocations >= RECIPROCATIONS_TO_ATTEST) continue;
      const count = store.tiers.reciprocations(handle, tierSetAtMs ?? 0);
      if (count <= reciprocations) continue;
      const nowMs = world.clock.wallMs();
      this.#trust.change((before) => setReciprocations(before, handle, count, nowMs));
    }
  }

  #takeAnnouncement(line: HeldLine): void {
    const { history, place, store, members } = this.#ground;
    const said = lineAt(history, line);
    if (said === undefined) return;
    const about = agentName(textField(said.body, "about") ?? "");
    const tier = tierNamed(textField(said.body, "tier") ?? "");
    if (about === undefined || tier === undefined) return;
    if (line.author === place.self && members.has(about)) store.tiers.noteSaid(about, tier);
    // It may stand behind lines that wait; what is refused announces nothing.
    const isTaken = line.verdict === "passed" || line.verdict === null;
    const isBlocked = place.believed(line.author).blocked;
    const isOfUs = about === place.self && members.has(line.author) && isTaken && !isBlocked;
    if (line.author !== place.self && isOfUs) store.tiers.noteGiven(line.author, tier);
  }

  /** Approved proposals of ours count for each party, since it became VERIFIED. */
  #countChanges(into: StoreWriter): void {
    const { store, history, place } = this.#ground;
    for (const { ask, state } of takeChangedAsks(store, into, COUNTED, MOST_CHANGES)) {
      const isOwn = ask.is === "proposal" && ask.place.author === place.self;
      if (!isOwn || state !== "approved" || !isChained(ask.place)) continue;
      const outcome = outcomeOf(history, ask);
      const proposal = store.lineAt(ask.place);
      const close = outcome.is === "approved" ? store.lineAt(outcome.close) : undefined;
      if (close === undefined || proposal === undefined) continue;
      for (const party of ask.parties ?? [])
        store.tiers.reciprocate(party, proposal.n, close.sentMs);
    }
  }
}
