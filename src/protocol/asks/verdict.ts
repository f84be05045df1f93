import type { Place } from "../../wire/places.ts";

/** Whether a condition holds: for good, or not before lines are held that are missing here. */
export type Verdict = "yes" | "no" | { readonly lacks: readonly Place[] };

export function lacking(...lacks: readonly Place[]): Verdict {
  return { lacks };
}

/** Whether all conditions hold: `no` as soon as one does not, whatever else is missing. */
export function allOf(verdicts: Iterable<Verdict>): Verdict {
  const lacks: Place[] = [];
  for (const verdict of verdicts) {
    if (verdict === "no") return "no";
    if (verdict !== "yes") lacks.push(...verdict.lacks);
  }
  return lacks.length === 0 ? "yes" : { lacks };
}

export function isTrue(holds: boolean | undefined): Verdict {
  return holds ? "yes" : "no";
}
