import { sanitise } from "../../wire/quote.ts";
import { titleOf, type Plan, type Status, type Step } from "./plan.ts";

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
export function textGraph({ steps }: Plan): string {
  const byId = new Map(steps.map((step) => [step.id, step]));
  const levels = new Map<string, number>();
  const levelOf = (step: Step): number => {
    const deps = step.deps.map((dep) => levels.get(dep));
    return deps.includes(undefined) ? -1 : Math.max(0, ...deps.map((each) => (each ?? 0) + 1));
  };
  // A plan without a cycle has a level for one step more in each pass.
  let left = [...steps];
  while (left.length > 0) {
    for (const step of left) {
      const level = levelOf(step);
      if (level >= 0) levels.set(step.id, level);
    }
    left = left.filter(({ id }) => !levels.has(id));
  }
  const sorted = steps.toSorted((a, b) => (levels.get(a.id) ?? 0) - (levels.get(b.id) ?? 0));
  return sorted.map((step) => row(step, levels.get(step.id) ?? 0, byId)).join("\n");
}

function row(step: Step, level: number, byId: ReadonlyMap<string, Step>): string {
  const { id, owner, status, deps, parallel } = step;
  const after = deps.filter((dep) => byId.has(dep)).join(", ");
  const notes = [...(after === "" ? [] : [`after ${after}`]), ...(parallel ? ["parallel"] : [])];
  const rest = notes.length === 0 ? "" : ` (${notes.join("; ")})`;
  const text = `${id} ${owner}: ${cut(titleOf(step))}${rest}`;
  return `${"  ".repeat(level)}${MARKS[status]} ${sanitise(text)}`;
}

function cut(text: string): string {
  const letters = Array.from(text);
  return letters.length > MAX_LABEL ? `${letters.slice(0, MAX_LABEL - 1).join("")}…` : text;
}
