import { compareTiers, type Tier } from "../../trust/tiers.ts";
import { sanitise } from "../../wire/quote.ts";
import type { CorePlace } from "../core.ts";
import type { Known } from "./duty.ts";

/** Characters of a subject that a notice quotes. */
const MAX_QUOTED = 80;

/** A text within a sentence of ours: nothing in it can end the quotation or steer a terminal. */
export function quoteText(text: string): string {
  const characters = Array.from(text);
  const isCut = characters.length > MAX_QUOTED;
  const cut = isCut ? `${characters.slice(0, MAX_QUOTED).join("")}…` : text;
  return `"${sanitise(cut.replaceAll('"', "'"))}"`;
}

/** How far an agent is believed; undefined: of no tier, or blocked. */
export function tierOf(place: CorePlace, handle: string): Tier | undefined {
  const { tier, isBlocked } = place.believed(handle);
  return isBlocked ? undefined : tier;
}

/** A subject as a notice shows it: below VERIFIED, words of ours in place of its author's. */
export function quoteSubject(
  { place }: Pick<Known, "place">,
  author: string,
  text: string,
): string {
  if (author === place.self) return quoteText(text);
  const tier = tierOf(place, author);
  const isShown = tier !== undefined && compareTiers(tier, "VERIFIED") >= 0;
  return quoteText(isShown ? text : `(not shown: ${author} is ${tier ?? "of no tier"})`);
}

/** A handle with an instant: what tells occasions apart that no line names. */
export function occasion(handle: string, atMs: number): string {
  return `${handle} ${new Date(atMs).toISOString()}`;
}
