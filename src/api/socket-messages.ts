/** What a client asks of a daemon over its socket; one JSON object a line. Spec 4.2. */
export interface Request {
  readonly op: string;
  readonly args: unknown;
}

/** A DeaddropError as it crosses the socket. */
export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly hint?: string | undefined;
}

export type Reply =
  { readonly ok: true; readonly result: unknown } | { readonly ok: false; readonly error: Failure };
