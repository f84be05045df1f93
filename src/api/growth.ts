/** Something that grows with use. Spec 4.1. */
export interface GrowthView {
  what:
    "logs" | "journal" | "decisions" | "incidents" | "inbox" | "index" | "quarantine" | "evidence";
  files: number;
  bytes: number;
  /** What to do; absent while it is small, or where it is kept small by itself. */
  advice?: string;
}
