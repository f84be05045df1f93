import type { Peer, PinnedKey, TrustStore } from "../../src/trust/store.ts";
import { parseTrustFile } from "../../src/trust/trust-file.ts";
import { alice, bob, note, pinned, signV31 } from "../trust/people.ts";
import { vectorFile } from "../wire/vector-files.ts";
import { TORSION_KEY_ID, torsionKey } from "./torsion-signer.ts";

/** Whom the reader of a line believes, and how far. */
export interface Situation {
  readonly name: string;
  readonly store: TrustStore;
}

/** alice's chain; every line names the one before it. */
export const CHAIN = chainOf("w1", 6);

function chainOf(wire: string, length: number): readonly Record<string, unknown>[] {
  const lines: Record<string, unknown>[] = [];
  for (let seq = 1; seq <= length; seq++) {
    const prev = lines.at(-1)?.["event_id"];
    const place = { wire, seq, ...(prev === undefined ? {} : { prev }) };
    lines.push(signV31(note({ ...place, body: `line ${seq}` })));
  }
  return lines;
}

/** The keys of the published vectors, and ours beside them. */
function peers(change: Partial<Peer> = {}): ReadonlyMap<string, Peer> {
  const file = Buffer.from(JSON.stringify(vectorFile("trust.json")));
  const parsed = parseTrustFile(file, "trust.json", "ATTESTED");
  if (!parsed.ok) throw new Error(parsed.detail);
  const crooked: PinnedKey = { ...pinned(alice), keyId: TORSION_KEY_ID, key: torsionKey };
  const published = parsed.document.peers;
  return new Map(
    [alice, bob].map((who) => {
      const peer = published.get(who.handle);
      if (peer === undefined) throw new Error(`${who.handle} is not in the vectors`);
      const keys = [...peer.keys, pinned(who), ...(who === alice ? [crooked] : [])];
      return [who.handle, { ...peer, keys, ...change }];
    }),
  );
}

function situation(name: string, change: Partial<Peer> = {}): Situation {
  return { name, store: { version: 1, peers: peers(change) } };
}

export const SITUATIONS: readonly Situation[] = [
  situation("as the vectors have it"),
  situation("everybody is trusted", { tier: "TRUSTED" }),
  situation("everybody is attested", { tier: "ATTESTED" }),
  situation("keys are verified", { tier: "VERIFIED" }),
  situation("nobody is trusted", { tier: "UNTRUSTED" }),
  situation("everybody is blocked", { blocked: true }),
  situation("no key is pinned", { keys: [] }),
];
