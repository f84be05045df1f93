/** What `deaddrop collab validate` says of a round, a line each. Spec 6.3. */
export interface Finding {
  readonly level: "error" | "warning";
  readonly text: string;
}

export const errors = (texts: readonly string[]): Finding[] =>
  texts.map((text) => ({ level: "error", text }));

export const warnings = (texts: readonly string[]): Finding[] =>
  texts.map((text) => ({ level: "warning", text }));
