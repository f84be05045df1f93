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

/** Sections of SKILL.md that `help` shows by themselves, by the first word of their headings. @internal */
export const HELP_TOPICS = ["calls", "arguments", "proposals", "requests", "example", "edge"];

/** The section of a topic; without one all of it. */
export function helpText({ body }: SkillText, asked = ""): string {
  const topic = HELP_TOPICS.find((each) => asked.toLowerCase().startsWith(each));
  if (topic === undefined) return body;
  const sections = body.split(/^(?=#{2,3} )/m);
  const found = sections.find((section) => new RegExp(`^#+ ${topic}\\b`, "i").test(section));
  return found?.trim() ?? body;
}

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
