import type { Change } from "./copies/changes.ts";
import type { RemoteFile, RemoteFiles } from "./copies/remote-files.ts";
import type { TransportKind, TransportTrouble } from "./port.ts";

/**
 * Where a wire's files are outside of this machine, and what moves their bytes: git, or a simulator.
 * When that is done, and what becomes of the files, is in `remote-transport.ts`. Spec 5.
 */
export interface Remote {
  readonly kind: TransportKind;
  /** Without any secret. */
  readonly url: string;
  /** What it holds: all that was pushed before the call, at least. Throws TransportError. */
  fetch(): Promise<Fetched>;
  /** All of that version is in the folder: from now on the remote's history must contain it. Durable. */
  noteTaken(version: string): void;
  /**
   * Makes these changes on top of that version, all or none; answers which version that is.
   * Undefined: the remote has moved on. Throws TransportError.
   */
  push(base: string | undefined, changes: readonly Change[]): Promise<string | undefined>;
  /** The operator takes its history as it is now. */
  acceptHistory(): void;
  /** Ends what runs: it fails. */
  stop(): void;
}

/** The remote as one fetch found it. */
export interface Fetched {
  /** Names all that it holds; undefined: nothing was ever pushed. */
  readonly version: string | undefined;
  /** Looks at its files. Throws TransportError. */
  files(): Promise<FetchedFiles>;
}

export interface FetchedFiles {
  /** What we push is added to it. */
  readonly remote: RemoteFiles & { readonly files: Map<string, RemoteFile> };
  /** What was found beside the files of a wire. */
  readonly troubles: readonly TransportTrouble[];
}
