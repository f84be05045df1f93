import type { Problem } from "../../plans/plan/problem.ts";
import { quote } from "../../wire/quote.ts";

/** A skill as its SKILL.md says it. Spec 7.1. */
export interface Skill {
  readonly name: string;
  readonly description: string;
  readonly license: string | undefined;
  readonly compatibility: string | undefined;
  readonly metadata: ReadonlyMap<string, string>;
  /** Semantic; undefined when it says none. */
  readonly version: string | undefined;
  readonly allowedTools: readonly string[];
  readonly body: string;
}

/** One file of a skill's folder. */
export interface SkillFile {
  /** SHA-256 of its bytes, hex. */
  readonly sha256: string;
  readonly isExecutable: boolean;
}

/** What is in a skill's folder: paths from there, with `/`. */
export interface SkillFolder {
  readonly name: string;
  readonly files: ReadonlyMap<string, SkillFile>;
  /** The text of SKILL.md; undefined: there is none. */
  readonly markdown: string | undefined;
  /** What is there and is not read: links that leave the library, too many files. */
  readonly refused: readonly string[];
}

/** A skill with all that was found wrong or odd; `skill` is undefined when it cannot be used. */
export interface JudgedSkill {
  readonly folder: SkillFolder;
  readonly skill: Skill | undefined;
  readonly problems: readonly Problem[];
}

export const SKILL_FILE = "SKILL.md";

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
