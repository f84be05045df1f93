import type { Heads } from "../../storage/own-log/heads.ts";

interface Head {
  readonly seq: number;
  readonly id: string;
}

/** Of each log the newer head; where both have the same line, the one that is known here. */
export function newerHeads(here: Heads, other: Heads): Heads {
  return { peers: newer(here.peers, other.peers), own: newer(here.own, other.own) };
}

function newer<T extends Head>(
  here: ReadonlyMap<string, T>,
  other: ReadonlyMap<string, T>,
): ReadonlyMap<string, T> {
  const heads = new Map(here);
  for (const [log, head] of other) {
    if (head.seq > (here.get(log)?.seq ?? 0)) heads.set(log, head);
  }
  return heads;
}

/** What is known here and not in the other, in words, one for each log. */
export function aheadOf(here: Heads, other: Heads): readonly string[] {
  return [...ahead(here.own, other.own), ...ahead(here.peers, other.peers)];
}

function ahead(
  here: ReadonlyMap<string, Head>,
  other: ReadonlyMap<string, Head>,
): readonly string[] {
  return [...here].flatMap(([log, { seq, id }]) => {
    const known = other.get(log);
    if (known === undefined) return [`${log}: line ${seq} is known here, none in the backup`];
    if (seq > known.seq) {
      return [`${log}: line ${seq} is known here, the backup knows up to ${known.seq}`];
    }
    return seq === known.seq && id !== known.id
      ? [`${log}: line ${seq} is another one here than in the backup`]
      : [];
  });
}
