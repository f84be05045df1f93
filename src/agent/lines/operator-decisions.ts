import { join } from "node:path";
import { codeOfStorage, DeaddropError } from "../../api/errors.ts";
import { openIfThere, StorageError, type Disk } from "../../storage/disk/disk.ts";
import { wholeLines } from "../../storage/disk/line-splitter.ts";
import { keepEvidence } from "../../storage/files/evidence.ts";
import type { HeldLine } from "../../store/store.ts";
import { follow, noteRevoked, release, revokeKey } from "../../trust/pins.ts";
import type { LinePlace } from "../../trust/store.ts";
import { isSamePlace, placeJson, type ChainPlace, type PlaceJson } from "../../wire/places.ts";
import { parseKeyId } from "../../wire/signature.ts";
import type { PrivateTrust } from "../config/private-trust.ts";
import { holdsView, type HoldsView } from "../answers/holds.ts";
import type { Core } from "../core.ts";
import { FORKS } from "../duties/evidence.ts";

/** After which line of ours our chain goes on, and lines of ours that have lost their place. */
export interface ReclaimAnswer {
  /** Null: at the first. */
  goes_on_after: PlaceJson | null;
  given_up: PlaceJson[];
  /** Where the lines that were given up are kept. */
  kept_in: string | null;
}

/** Of lines that are given up, so many are looked for. */
const MOST_GIVEN_UP = 4_096;

/** What the operator alone decides about chains: of a peer that has forked its own, and ours. Spec 1.6, 2.5. */
export class OperatorDecisions {
  readonly #core: Core;
  readonly #trust: PrivateTrust;
  readonly #evidence: string;

  /** @param evidence the folder of evidence files */
  constructor(core: Core, trust: PrivateTrust, evidence: string) {
    this.#core = core;
    this.#trust = trust;
    this.#evidence = evidence;
  }

  /**
   * Releases a held peer and returns what was held. A fork is resolved in favour of the branch of `named`, by
   * default one signed with an active key; lines dated ahead are admitted. A hold for a revoked key remains.
   *
   * @throws DeaddropError when there is nobody, or nothing to follow
   */
  resetPeer(peer: string, named?: LinePlace): HoldsView {
    const { store } = this.#core;
    const view = this.holds(peer);
    const { fork } = store.chains.whole(peer);
    if (fork === null && named !== undefined) {
      throw new DeaddropError("refused", `the chain of ${peer} has no fork to decide`, {
        hint: `see what is held of it: deaddrop peers show ${peer}`,
      });
    }
    if (fork !== null) this.#follow(peer, fork, named);
    store.write(() => {
      store.acceptDates(peer);
    });
    const { held } = this.#trust.store.peers.get(peer) ?? {};
    if (held !== undefined && held.cause !== "key_revoked")
      this.#trust.change((before) => release(before, peer));
    return view;
  }

  holds(peer: string): HoldsView {
    return holdsView(this.#core, { trust: this.#trust.store, evidence: this.#evidence }, peer);
  }

  /**
   * Stops a key of a peer at once; what it has signed behind `last` is struck, by default behind the line that is
   * followed now. The duty of keys carries it out. @throws DeaddropError when no such key is pinned
   */
  revokeKey(keyId: string, last?: LinePlace): void {
    const author = parseKeyId(keyId)?.handle ?? "";
    const { seq, id } = this.#core.store.chains.whole(author);
    const good = last ?? (id === null ? undefined : { seq, id });
    const nowMs = this.#core.world.clock.wallMs();
    this.#trust.change((store) => {
      const revoked = revokeKey(store, keyId, nowMs);
      if (!revoked.ok) return revoked;
      return noteRevoked(revoked.store, keyId, new Date(nowMs).toISOString(), good);
    });
  }

  /**
   * Our key is used here alone from now on: all that it has signed in our carriers, and in the files `from`, is
   * ours; our chain goes on after the longest branch, and what is missing is given up. With `from` nothing is
   * given up that the mark names. @throws DeaddropError, and nothing is signed before it is repeated
   */
  async reclaim(from: readonly string[] = []): Promise<ReclaimAnswer> {
    const core = this.#core;
    const { self } = core.place;
    const { chains } = core.store;
    if (from.length === 0 && core.readiness.is === "ready")
      return { goes_on_after: null, given_up: [], kept_in: null };
    const before = chains.whole(self);
    await core.readOwnAgain(from.flatMap((path) => linesIn(core.world.disk, path)));
    const { fork } = chains.whole(self);
    const ours = before.id === null ? undefined : { author: self, seq: before.seq, id: before.id };
    if (fork !== null) this.#followOwn(fork, ours);
    this.#requireWhole(from);
    const lost = fork === null || ours === undefined ? [] : this.#lost(fork, ours);
    const kept_in = this.#keep(lost);
    core.store.write((into) => {
      core.endChainHere(into);
    });
    const { seq, id } = chains.whole(self);
    const last = id === null ? null : placeJson({ author: self, seq, id });
    return { goes_on_after: last, given_up: lost.map(placeJson), kept_in };
  }

  #follow(peer: string, fork: number, named: LinePlace | undefined): void {
    const { store } = this.#core;
    const place = named === undefined ? this.#branchOf(peer, fork) : { author: peer, ...named };
    const isLinked = place !== undefined && store.chains.stateOf(place) === "linked";
    if (place === undefined || !isLinked || place.seq < fork) {
      const what = named === undefined ? `line ${fork}` : `line ${named.seq} (${named.id})`;
      throw new DeaddropError("refused", `${what} of ${peer} cannot be followed`, {
        hint: `name a line from ${fork} on that is held, with all before it: deaddrop peers show ${peer}`,
      });
    }
    // The file first: a store that is lost follows it again.
    this.#trust.change((before) => follow(before, peer, place));
    store.write(() => {
      store.chains.follow(place);
    });
  }

  /** The branch of a fork whose tip is signed with an active key; the first received if none or several are. */
  #branchOf(peer: string, fork: number): ChainPlace | undefined {
    const { store, place } = this.#core;
    const active = new Set(
      place.believed(peer).keys.flatMap((key) => (key.active ? key.keyId : [])),
    );
    const good = store.chains
      .tips(peer)
      .filter((tip) => active.has(store.lineAt(tip)?.keyId ?? ""));
    const places = store.chains
      .rivals(peer, fork)
      .flatMap((rival) => (rival.isLinked ? rival.place : []));
    return places.find((each) => good.some((tip) => this.#isOneBranch(each, tip))) ?? places[0];
  }

  /** What the other copy has published is known to others; lines of ours that were not are not. */
  #followOwn(fork: number, ours: ChainPlace | undefined): void {
    const { store, place, mark } = this.#core;
    const tips = store.chains.tips(place.self).filter(({ seq }) => seq >= fork);
    const isUnpublished = fork > (mark?.seq ?? 0);
    const others = tips.filter((tip) => ours === undefined || !this.#isOneBranch(tip, ours));
    const best = (isUnpublished ? others[0] : undefined) ?? tips[0];
    if (best === undefined) return;
    store.write(() => {
      store.chains.follow(best);
    });
  }

  #isOneBranch(one: ChainPlace, other: ChainPlace): boolean {
    const { chains } = this.#core.store;
    return isSamePlace(one, other) || chains.descends(one, other) || chains.descends(other, one);
  }

  /** Lines of ours from a fork on that are not followed; beats are nobody's loss. */
  #lost(fork: number, ours: ChainPlace): (HeldLine & ChainPlace)[] {
    const { store } = this.#core;
    return store
      .chain(ours.author, { after: fork - 1, limit: MOST_GIVEN_UP })
      .flatMap((line) => (line.seq === null ? [] : [{ ...line, seq: line.seq }]))
      .filter(({ aside, type }) => aside === "rejected" && type !== "heartbeat")
      .filter((line) => isSamePlace(line, ours) || store.chains.descends(ours, line));
  }

  /** Lines behind a gap would contradict what we write next. */
  #requireWhole(from: readonly string[]): void {
    const { store, place, mark } = this.#core;
    const { seq } = store.chains.whole(place.self);
    const hasGap = store.chains.gapSince(place.self) !== undefined;
    const isShort = from.length > 0 && mark !== undefined && seq < mark.seq;
    if (!hasGap && !isShort) return;
    const upTo = isShort ? `: the last was line ${mark.seq}` : "";
    throw new DeaddropError("refused", `lines of yours behind line ${seq} are missing${upTo}`, {
      hint: "name another copy as well (--from FILE --from FILE); where there is none, begin with another key: deaddrop key rotate --now",
    });
  }

  #keep(lost: readonly (HeldLine & ChainPlace)[]): string | null {
    const [first] = lost;
    if (first === undefined) return null;
    const { world, place } = this.#core;
    const evidence = this.#evidence;
    const name = keepEvidence(world.disk, evidence, {
      ...{ peer: place.self, log: FORKS, mark: String(first.seq), matter: `given up ${first.id}` },
      about: { evidence: "promises_given_up", at: new Date(world.clock.wallMs()).toISOString() },
      lines: lost.map(({ seq, id, bytes }) => ({ seq, id, line: Buffer.from(bytes).toString() })),
    });
    if (name !== undefined) return join(evidence, name);
    throw new StorageError("exists", evidence, `no room for more files about ${place.self}`, {
      hint: "move the oldest of them away, then reclaim again: lines of ours have to be kept",
    });
  }
}

/** Files that somebody has named: what is wrong with one of them is no trouble of our own disk. */
function linesIn(disk: Disk, path: string): Uint8Array[] {
  try {
    const file = openIfThere(disk, path);
    if (file !== undefined) {
      try {
        return [...wholeLines(file, 0, file.stat().size)].flatMap(({ bytes }) =>
          bytes === undefined ? [] : [Buffer.from(bytes)],
        );
      } finally {
        file.close();
      }
    }
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    const problem = `nothing was changed; ${error.message}`;
    throw new DeaddropError(codeOfStorage(error.code), problem, { hint: error.hint, cause: error });
  }
  throw new DeaddropError("usage", `${path}: there is no such file`, {
    hint: "give the whole path of a copy of our carrier, or of a peer's inbox.jsonl",
  });
}
