/** A program that a skill says to need; `version` only where it names the least one. */
export interface Requirement {
  readonly program: string;
  readonly version: string | undefined;
}

const LISTS = /\b(?:requires|needs)\s+([^.;()]+(?:\.[0-9][^.;()]*)*)/giu;
const ITEM =
  /^(?<name>[a-z][a-z0-9+_-]{0,63})(?:\s*(?:>=|v)?\s*(?<version>\d+(?:\.\d+){0,2})\+?)?$/iu;
/** As people write the names of programs. */
const PROGRAMS: Readonly<Record<string, string>> = {
  nodejs: "node",
  python: "python3",
};

/**
 * What of a free text can be looked up: after "requires" or "needs", single words between commas are names
 * of programs. "access to the internet" is no single word, and is left to the reader. Spec 7.1. @internal
 */
export function requirementsIn(compatibility: string): Requirement[] {
  return [...compatibility.replaceAll(/node\.js/giu, "node").matchAll(LISTS)].flatMap(
    ([, list = ""]) =>
      list.split(/,|\band\b/iu).flatMap((item) => {
        const { name, version } = ITEM.exec(item.trim())?.groups ?? {};
        if (name === undefined) return [];
        const known = name.toLowerCase();
        return [{ program: PROGRAMS[known] ?? known, version }];
      }),
  );
}

/** What is missing here. `versionOf`: undefined, there is none; "", nobody knows which. */
export function unmet(
  compatibility: string,
  versionOf: (program: string) => string | undefined,
): string[] {
  return requirementsIn(compatibility).flatMap(({ program, version }) => {
    const found = versionOf(program);
    if (found === undefined) return [`there is no ${program} in PATH`];
    const isOld = version !== undefined && found !== "" && isBefore(found, version);
    return isOld ? [`${program} is ${found}, and ${version} is needed`] : [];
  });
}

function isBefore(found: string, needed: string): boolean {
  const [a, b] = [found, needed].map((text) => text.split(".").map(Number));
  for (const [at, number] of (b ?? []).entries()) {
    const has = a?.[at] ?? 0;
    if (has !== number) return has < number;
  }
  return false;
}
