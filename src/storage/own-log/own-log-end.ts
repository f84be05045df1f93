import type { ChainHead } from "../../wire/chain.ts";
import { MAX_LINE_BYTES } from "../../wire/limits.ts";
import { openIfThere, type Disk, type DiskFile } from "../disk/disk.ts";
import type { OwnHead } from "./heads.ts";
import { isBlank, wholeLines } from "../disk/line-splitter.ts";
import { durableHead } from "./recover-own-log.ts";
import { prefixHash } from "../files/tail.ts";

/** What a line of our own log says of its place in our chain. */
export type OwnClaim =
  /** One of our keys has signed it. */
  | {
      readonly by: "us";
      readonly seq: number;
      readonly id: string;
      readonly prev?: string | undefined;
    }
  /** It names us as its author, and a key of ours that is not among those at hand. */
  | { readonly by: "unknown key"; readonly seq: number; readonly keyId: string };

export interface OwnLogEnd {
  /** The head after every line of our chain that the log shows; what was remembered if that is all. */
  readonly head: OwnHead | undefined;
  /** Lines beyond it in our name, by the keys (the first few) that are not at hand: who signs on may fork. */
  readonly unknownKeys: readonly string[];
  /** Why the chain could not be followed to the end of the log: its daemon will not write to it. */
  readonly problem: string | undefined;
}

const MAX_UNKNOWN_KEYS = 8;

/**
 * How far our own log has come since a head was remembered. A machine that is restored from a backup
 * remembers less than it has signed: what it signed since is in the log, and the next line has to
 * follow that, or one `seq` would be signed twice. Nothing is believed but our own signatures in an
 * unbroken chain. Spec 1.6, 4.1.
 */
export function endOfOwnLog(
  disk: Disk,
  path: string,
  remembered: OwnHead | undefined,
  claimOf: (line: Uint8Array) => OwnClaim | undefined,
): OwnLogEnd {
  const follower = new Follower(remembered);
  // Whatever prevents it is thrown: to guess here is to sign a `seq` twice, or to be stopped later.
  const file = openIfThere(disk, path);
  if (file === undefined) return { head: remembered, unknownKeys: [], problem: undefined };
  try {
    // What is before the remembered end has been seen.
    follow(follower, file, isBeginning(file, remembered) ? (remembered?.end ?? 0) : 0, claimOf);
    const { head, unknownKeys, problem } = follower;
    const isNew = head !== undefined && head.id !== remembered?.id;
    return { head: isNew ? durableHead(file, head, undefined) : remembered, unknownKeys, problem };
  } finally {
    file.close();
  }
}

function follow(
  follower: Follower,
  file: DiskFile,
  from: number,
  claimOf: (line: Uint8Array) => OwnClaim | undefined,
): void {
  const take = (line: Uint8Array): void => {
    const claim = isBlank(line) ? undefined : claimOf(line);
    if (claim !== undefined) follower.take(claim);
  };
  const { size } = file.stat();
  const lines = wholeLines(file, from, size);
  let step = lines.next();
  for (; step.done !== true; step = lines.next()) {
    if (step.value.bytes !== undefined) take(step.value.bytes);
  }
  // A line that only lacks its newline gets it with the next append, and counts from then on.
  const rest = size - step.value;
  if (rest <= MAX_LINE_BYTES) take(file.read(rest, step.value));
}

/** Goes along the chain as long as it is one. */
class Follower {
  head: ChainHead | undefined;
  readonly unknownKeys: string[] = [];
  problem: string | undefined;
  readonly #from: ChainHead | undefined;

  constructor(remembered: ChainHead | undefined) {
    this.#from = remembered;
    this.head = remembered;
  }

  take(claim: OwnClaim): void {
    const { head } = this;
    if (claim.by === "unknown key") {
      const isBeyond = claim.seq > (head?.seq ?? 0);
      // Anybody who writes in the folder can plant such lines, with as many keys as they like.
      const isRoom = this.unknownKeys.length < MAX_UNKNOWN_KEYS;
      if (isBeyond && isRoom && !this.unknownKeys.includes(claim.keyId)) {
        this.unknownKeys.push(claim.keyId);
      }
      return;
    }
    if (this.problem !== undefined || claim.seq <= (this.#from?.seq ?? 0)) return;
    if (claim.id === head?.id) return;
    // A log of which nothing is remembered may begin anywhere: its archive may be elsewhere.
    if (head === undefined || (claim.seq === head.seq + 1 && claim.prev === head.id)) {
      this.head = { seq: claim.seq, id: claim.id };
    } else this.problem = `line ${claim.seq} in it does not follow line ${head.seq}`;
  }
}

/** The file begins with the bytes that were synced when the head was remembered. */
function isBeginning(file: DiskFile, remembered: OwnHead | undefined): boolean {
  if (remembered === undefined || remembered.end === 0) return false;
  const { end } = remembered;
  return file.stat().size >= end && prefixHash(file, end) === remembered.prefixHash;
}
