/** What a client asks of a daemon over its socket; one JSON object a line. Spec 4.2. */
export interface Request {
  readonly op: string;
  readonly args: unknown;
}

/**
 * The same on the socket. `until`: a daemon that comes to it later leaves it undone. So a client
 * that has given up knows what will not happen any more.
 */
export interface SocketRequest extends Request {
  readonly id: number;
  /** In `monotonicMs` of this machine. */
  readonly until: number;
}

/** A DeaddropError as it crosses the socket. */
export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly hint?: string | undefined;
}

export type Reply =
  { readonly ok: true; readonly result: unknown } | { readonly ok: false; readonly error: Failure };

/**
 * What a daemon writes: that it begins with a request, before it looks whether there is still time
 * for it; and then the reply.
 */
export type SocketReply = { readonly id: number } & ({ readonly begun: true } | Reply);

/** How long a client waits for the answer to one request. Spec 4.2. */
export const ANSWER_LIMIT_MS = 10_000;

/** A clock that all processes of a machine share, and that nobody sets. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}
