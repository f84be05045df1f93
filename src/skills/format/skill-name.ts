import { quote } from "../../wire/quote.ts";

const MAX_SKILL_NAME = 64;

/** What is wrong with the name of a skill; undefined: nothing. No other name is ever used as a path. Spec 7.1. */
export function nameProblem(name: string): string | undefined {
  if (name === "") return "the name is empty";
  if (name.length > MAX_SKILL_NAME) {
    return `the name has ${name.length} characters; at most ${MAX_SKILL_NAME}`;
  }
  if (!/^[a-z0-9-]*$/u.test(name)) {
    return `the name ${quote(name)} has something else than a-z, 0-9 and hyphens`;
  }
  return /^[a-z0-9]+(?:-[a-z0-9]+)*$/u.test(name)
    ? undefined
    : `the name ${quote(name)} has a hyphen at its beginning or end, or two together`;
}
