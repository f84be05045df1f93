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
  const { thread, place } = ask.line;
  const answers = wordsRead(history, tip, thread).flatMap((word) => {
    const answer = readAnswer(word, ask.is);
    return answer !== undefined && isSamePlace(answer.ask, place) ? [{ word, answer }] : [];
  });
  // Of a proposal the last approving one: whether a later one took it back, the position says.
  const last =
    ask.is === "request"
      ? answers.at(-1)
      : answers.findLast(({ answer: { approves } }) => approves);
  return last?.answer.approves === true ? last.word : undefined;
}

export function wordsRead(
  history: History,
  tip: ChainPlace,
  thread: string,
): readonly LinkedLine[] {
  return history.words(tip, thread).slice(0, MOST_WORDS);
}
