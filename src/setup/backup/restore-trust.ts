import { DeaddropError } from "../../api/errors.ts";
import { joinStores, succeedStore } from "../../trust/store-merge.ts";
import type { TrustStore } from "../../trust/store.ts";
import { parseTrustStore, serialiseTrustStore } from "../../trust/trust-file.ts";

export interface TrustPlan {
  readonly store: TrustStore;
  /** Why this goes back in time; undefined if it does not. */
  readonly older: string | undefined;
}

/**
 * The trust store that takes the place of the one here. Its version is never below the last one seen,
 * and above it when what it says is neither of the two stores: spec 2.1 refuses an older one.
 *
 * @param here undefined: there is none that can be read
 * @param seen the version that was seen last; 0: none was
 */
export function planTrust(
  here: TrustStore | undefined,
  seen: number,
  backup: TrustStore,
): TrustPlan {
  const known = Math.max(seen, here?.version ?? 0);
  if (here !== undefined && sameStore(here, backup) && here.version === backup.version) {
    return { store: here, older: seen > here.version ? olderThan(backup, seen) : undefined };
  }
  const isNewer = backup.version > known || (here === undefined && backup.version === known);
  if (isNewer) {
    const peers = here === undefined ? backup.peers : succeedStore(here, backup);
    const version = sameStore({ ...backup, peers }, backup) ? backup.version : backup.version + 1;
    return { store: checked({ version, peers }), older: undefined };
  }
  const peers = here === undefined ? backup.peers : joinStores(here, backup);
  const isHere =
    here !== undefined && here.version === known && sameStore({ ...here, peers }, here);
  const store = isHere ? here : checked({ version: known + 1, peers });
  return { store, older: olderThan(backup, known) };
}

function olderThan(backup: TrustStore, known: number): string {
  return backup.version === known
    ? `the trust store of the backup has version ${known}, as the one here, and says something else`
    : `the trust store of the backup has version ${backup.version}; version ${known} was seen here`;
}

function sameStore(a: TrustStore, b: TrustStore): boolean {
  return textOf(a) === textOf(b);
}

/** Whom it names first makes no difference. */
function textOf({ peers }: TrustStore): string {
  const sorted = [...peers].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return serialiseTrustStore({ version: 0, peers: new Map(sorted) });
}

/** Two stores together may be more than one may hold. */
function checked(store: TrustStore): TrustStore {
  const read = parseTrustStore(Buffer.from(serialiseTrustStore(store), "utf8"), 0);
  if (read.ok) return store;
  throw new DeaddropError("refused", `the two trust stores do not go together: ${read.detail}`, {
    hint: "move the trust store here away first, if you know that the backup's is the better one",
  });
}
