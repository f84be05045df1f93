import { conclusionSections } from "../documents/conclusion.ts";
import { deliverableSections, type Declared } from "../documents/deliverable.ts";
import type { Protocol } from "../documents/protocol-file.ts";
import type { Schema } from "../machine/event.ts";

/** The documents of a new round by their names; they validate as they are. Spec 6.2. */
export function documentTemplates(protocol: Protocol): Record<string, string> {
  return {
    "README.md": readme(protocol),
    "proposal.md": proposal(protocol),
    "review.md": "# Review\n",
    "decisions.md": decisions(protocol.deliverables?.primary?.reference),
    "readiness.md": readiness(protocol.gates),
    "conclusion.md": conclusion(protocol.schema),
  };
}

function readme({ schema, objective, participants, deliverables }: Protocol): string {
  const [owner = ""] = participants;
  const primary = deliverables?.primary;
  return lines(
    "# Collaboration round",
    "",
    objective,
    "",
    `- Participants: ${participants.join(", ")}. ${owner} owns the proposal.`,
    `- Schema: ${schema}`,
    ...(primary === undefined ? [] : [`- Primary deliverable: ${primary.reference}`]),
    "",
    "`events.jsonl` is the record, `protocol.json` what follows from it. Do not edit either.",
    "`deaddrop collab next --folder . --participant <you>` says what to do.",
  );
}

function proposal({ objective }: Protocol): string {
  return lines("# Proposal", "", "## Objective", "", objective, "", "## Proposal", "");
}

function decisions(reference: string | undefined): string {
  if (reference === undefined) return "# Decisions\n";
  return lines(
    "# Decisions",
    "",
    "### D1. Initial deliverable declaration",
    "",
    `- Decision: The primary deliverable of this round is ${reference}.`,
    `- Reflected in: ${reference}`,
  );
}

function readiness(gates: readonly string[]): string {
  return lines(
    "# Readiness",
    "",
    "## Open Questions",
    "",
    // Open, so that nobody accepts before the owner has classified. Spec 6.2.
    "- [unresolved] Are all questions about the proposal classified?",
    "",
    "## Blockers",
    "",
    "## Deferred Follow-ups",
    "",
    "## Completion Gates",
    "",
    ...gates.map((gate) => `- [ ] ${gate}`),
    "",
    "## Checklist",
    "",
    "- [ ] Accepted Decisions",
    "- [ ] Assumptions",
    "- [ ] Deferred Follow-ups",
    "- [ ] Implementation Blockers",
    "- [ ] Ready to implement",
  );
}

function conclusion(schema: Schema): string {
  return lines("# Conclusion", ...conclusionSections(schema).flatMap((each) => ["", `## ${each}`]));
}

/** A deliverable with all its sections, as a draft. */
export function deliverableTemplate({ type, checklist }: Declared, title: string): string {
  const sections = deliverableSections(type);
  const status = "Status: Draft";
  const hasStatus = sections.includes("Status");
  return lines(
    `# ${title}`,
    ...(hasStatus ? [] : ["", status]),
    ...sections.flatMap((each) => ["", `## ${each}`, ...(each === "Status" ? ["", status] : [])]),
    ...checklist.flatMap((check) => ["", `## ${check}`]),
    // An empty line after each heading, the last one too: programs fill in a section by both.
    "",
  );
}

function lines(...rows: readonly string[]): string {
  return `${rows.join("\n")}\n`;
}
