import { randomFrom } from "../support/random.ts";

/** Choices that follow from a seed. */
export interface Picker {
  /** A whole number from 0 to `below` − 1. */
  below(below: number): number;
  /** One of them. */
  one<Choice>(choices: readonly Choice[]): Choice;
  /** True once in `times`. */
  once(times: number): boolean;
}

export function pickerFrom(seed: number): Picker {
  const random = randomFrom(seed);
  const below = (limit: number): number => Math.floor(random() * limit);
  return {
    below,
    one: (choices) => {
      const choice = choices[below(choices.length)];
      if (choice === undefined) throw new Error("nothing to pick from");
      return choice;
    },
    once: (times) => below(times) === 0,
  };
}
