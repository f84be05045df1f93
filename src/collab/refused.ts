/** A command on a round is refused; all reasons at once. Spec 6.3: `error: `, the reasons, exit code 2. */
export class RoundRefused extends Error {
  override readonly name = "RoundRefused";
  readonly reasons: readonly string[];

  constructor(reasons: readonly string[], about: { readonly cause?: unknown } = {}) {
    super(reasons.join("; "), about);
    this.reasons = reasons;
  }
}
