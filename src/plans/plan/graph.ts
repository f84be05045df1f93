import { sanitise } from "../../wire/quote.ts";
import { titleOf, type Plan, type Status, type Step } from "./plan.ts";
import { levelsOf } from "./schedule.ts";

/** Characters of a description in a node. */
const MAX_LABEL = 60;
const MARKS: Readonly<Record<Status, string>> = {
  pending: "[ ]",
  in_progress: "[~]",
  complete: "[x]",
  blocked: "[!]",
};
const COLOURS: readonly string[] = [
  "classDef pending fill:#eeeeee,stroke:#666666",
  "classDef in_progress fill:#ffe9a8,stroke:#a67c00",
  "classDef complete fill:#c9ecc9,stroke:#2f7d2f",
  "classDef blocked fill:#f5c6c6,stroke:#a12727",
];

export const GRAPH_KINDS = ["mermaid", "text"] as const;
export type GraphKind = (typeof GRAPH_KINDS)[number];

export function graphText(plan: Plan, kind: GraphKind): string {
  return kind === "mermaid" ? mermaidGraph(plan) : textGraph(plan);
}

/** The plan as a Mermaid flowchart. Words of the plan are quoted, so none of them is drawn. */
function mermaidGraph({ steps }: Plan): string {
  const names = new Map(steps.map(({ id, index }) => [id, `s${index + 1}`]));
  const rows = steps.map(
    (step) =>
      `  ${names.get(step.id)}["${label(`${step.id}: ${step.description}`)}<br/>${label(step.owner)}"]:::${step.status}`,
  );
  const arrows = steps.flatMap(({ id, deps }) =>
    deps.map((dep) => `  ${names.get(dep)} --> ${names.get(id)}`),
  );
  return ["flowchart TD", ...rows, ...arrows, ...COLOURS.map((row) => `  ${row}`)].join("\n");
}

/** In the signs that Mermaid takes for letters and for nothing else. */
function label(text: string): string {
  return cut(sanitise(text)).replace(
    /["&<>#;`\\[\](){}|]/gu,
    (sign) => `#${sign.codePointAt(0) ?? 0};`,
  );
}

/** The plan as text: steps in rows, those that wait below what they wait for. */
export function textGraph(plan: Plan): string {
  const levels = levelsOf(plan);
  const levelOf = ({ id }: Step): number => levels.get(id) ?? 0;
  return plan.steps
    .toSorted((a, b) => levelOf(a) - levelOf(b))
    .map((step) => {
      const { id, owner, status, deps, parallel } = step;
      const after = deps.length === 0 ? [] : [`after ${deps.join(", ")}`];
      const notes = [...after, ...(parallel ? ["parallel"] : [])].join("; ");
      const text = `${id} ${owner}: ${cut(titleOf(step))}${notes === "" ? "" : ` (${notes})`}`;
      return `${"  ".repeat(levelOf(step))}${MARKS[status]} ${sanitise(text)}`;
    })
    .join("\n");
}

function cut(text: string): string {
  const letters = Array.from(text);
  return letters.length > MAX_LABEL ? `${letters.slice(0, MAX_LABEL - 1).join("")}…` : text;
}
