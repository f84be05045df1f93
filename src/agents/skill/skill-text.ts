import type { Identity } from "../mcp/identity.ts";

/** The text of the skill, by which agents learn how to use a wire. Spec 8.1. */
export interface SkillText {
  /** Its short form, which an MCP server gives as its instructions: the largest client cuts at 2 KB. */
  readonly instructions: string;
  /** All of it, without its front matter. */
  readonly body: string;
}

const FRONT_MATTER = /^---\n[\s\S]*?\n---\n/;
const SHORT_FORM = /^## In short\n\n([\s\S]*?)\n\n## /m;

/** Reads the text of SKILL.md. Throws when it has no short form: a package that was built wrong. */
export function readSkill(markdown: string): SkillText {
  const body = markdown.replace(FRONT_MATTER, "").trim();
  const instructions = SHORT_FORM.exec(body)?.[1];
  if (instructions === undefined) throw new Error("SKILL.md has no section «In short»");
  return { instructions, body };
}

/** What introduces a wire to an agent that asks for it. */
export function introduction({ body }: SkillText, identity: Identity | undefined): string {
  const who =
    identity === undefined
      ? "It is not clear yet who you are here: call whoami."
      : `You are ${identity.place.handle}; the wire is ${identity.place.wireDir}.`;
  return `${who}\n\n${body}`;
}
