import { sanitise } from "../../wire/quote.ts";

/** A skill as a list for agents shows it. */
export interface Listed {
  readonly name: string;
  readonly description: string;
  /** Of its SKILL.md; undefined: not to be shown. */
  readonly location: string | undefined;
}

/** One tool leaves out what is behind so many characters of its list of skills. */
const MAX_LISTING_CHARACTERS = 8_000;

/** The block by which a tool tells a model which skills there are. Spec 7.1. */
export function xmlListing(skills: readonly Listed[]): string {
  const rows = skills.flatMap(({ name, description, location }) => [
    "<skill>",
    ...element("name", name),
    ...element("description", description),
    ...(location === undefined ? [] : element("location", location)),
    "</skill>",
  ]);
  return ["<available_skills>", ...rows, "</available_skills>"].join("\n");
}

function element(name: string, text: string): string[] {
  return [`<${name}>`, escapeXml(text), `</${name}>`];
}

/** XML holds no control characters, not even escaped; and no row of a text can pose as one of ours. */
function escapeXml(text: string): string {
  return sanitise(text.replaceAll(/\s+/gu, " ").trim())
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

/** What is wrong with all descriptions together; undefined: they fit. Spec 7.1. */
export function listingProblem(skills: readonly Listed[]): string | undefined {
  const length = [...xmlListing(skills)].length;
  return length <= MAX_LISTING_CHARACTERS
    ? undefined
    : `the list of ${skills.length} skills has ${length} characters; one tool leaves out what is behind ${MAX_LISTING_CHARACTERS}: shorten descriptions`;
}
