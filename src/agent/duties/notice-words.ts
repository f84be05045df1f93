import { sanitise } from "../../wire/quote.ts";
import { listedSubject } from "../answers/listed.ts";
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

/** A subject as a notice shows it: below VERIFIED, words of ours in place of its author's. */
export function quoteSubject(known: Pick<Known, "place">, author: string, text: string): string {
  return quoteText(listedSubject(known, author, text));
}

/** A handle with an instant: what tells occasions apart that no line names. */
export function occasion(handle: string, atMs: number): string {
  return `${handle} ${new Date(atMs).toISOString()}`;
}
