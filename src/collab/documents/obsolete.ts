/** Files of older rounds, which must not be there nor be named. Spec 6. */
export const OBSOLETE_FILES = ["state.log", "discussion.md", "opinions.md"] as const;

/** Files that every round has. */
export const ROUND_FILES = [
  "protocol.json",
  "events.jsonl",
  "proposal.md",
  "review.md",
  "decisions.md",
  "readiness.md",
  "conclusion.md",
] as const;
