import type { Client, ClientPlace } from "../../api/client.ts";

/** Which agent a server speaks for, and why that is clear. */
export interface Identity {
  readonly place: ClientPlace;
  /** E.g. `--as` or `DEADDROP_AS`. */
  readonly by: string;
}

/**
 * The one identity that a server speaks for. Found once; until it is clear it is looked for again with
 * each `whoami`. Nothing that a model says has a part in it. Spec 8.1.
 */
export interface OneIdentity {
  /** Undefined while it is not clear. */
  readonly known: Identity | undefined;
  /** Throws DeaddropError with what to choose. */
  find(): Identity;
  /** The way to its agent; opened once. */
  client(): Promise<Client>;
  close(): void;
}

export function oneIdentity(
  look: () => Identity,
  open: (place: ClientPlace) => Promise<Client>,
): OneIdentity {
  let known: Identity | undefined;
  let opening: Promise<Client> | undefined;
  let opened: Client | undefined;
  const find = (): Identity => (known ??= look());
  return {
    get known() {
      return known;
    },
    find,
    async client() {
      opening ??= open(find().place);
      try {
        return (opened = await opening);
      } catch (error) {
        // It is tried again with the next call.
        opening = undefined;
        throw error;
      }
    },
    close: () => opened?.close(),
  };
}
