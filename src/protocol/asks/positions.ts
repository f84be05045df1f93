import { isSamePlace, type ChainPlace, type Place } from "../../wire/places.ts";
import { moved, readAnswer, type Ask } from "./ask-line.ts";
import { MOST_WORDS, type History, type LinkedLine } from "./history.ts";

/** Where an agent stands in a thread at a line of its chain. Spec of the next wire, 3.4.2. */
function positionAt(history: History, tip: ChainPlace, thread: string): Place | undefined {
  return wordsRead(history, tip, thread).reduce<Place | undefined>(moved, undefined);
}

/** Whether an agent stands at an ask, at a line of its chain. */
export function isPosition(history: History, tip: ChainPlace, ask: Ask): boolean {
  const position = positionAt(history, tip, ask.line.thread);
  return position !== undefined && isSamePlace(position, ask.line.place);
}

/** The last answer of an agent to an ask, up to a line of its chain, where it approves. */
export function lastAnswer(history: History, tip: ChainPlace, ask: Ask): LinkedLine | undefined {
  const answers = wordsRead(history, tip, ask.line.thread).filter((word) => {
    const answer = readAnswer(word);
    if (answer === undefined || answer.to !== ask.is) return false;
    // Of a proposal the last approving one: whether a later one took it back, the position says.
    return isSamePlace(answer.ask, ask.line.place) && (ask.is === "request" || answer.approves);
  });
  const last = answers.at(-1);
  return last !== undefined && readAnswer(last)?.approves === true ? last : undefined;
}

export function wordsRead(
  history: History,
  tip: ChainPlace,
  thread: string,
): readonly LinkedLine[] {
  return history.words(tip, thread).slice(0, MOST_WORDS);
}
