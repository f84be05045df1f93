import type { History } from "../asks/history.ts";
import type { ChainPlace } from "../../wire/places.ts";

/**
 * Whether an author has taken in a line at `tip`, a linked line of its chain. Both only rise along a branch.
 * Spec of the next wire, 3.2.2.
 */
export function hasTakenIn(history: History, tip: ChainPlace, line: ChainPlace): boolean {
  return history.firstHead(tip, line, "taken_in") !== undefined;
}

/** Whether an author has read a line at `tip`, a linked line of its chain. Spec of the next wire, 3.2.2. */
export function hasRead(history: History, tip: ChainPlace, line: ChainPlace): boolean {
  return history.firstHead(tip, line, "read") !== undefined;
}
