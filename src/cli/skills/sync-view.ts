import { EXIT_CODES } from "../../api/errors.ts";
import type { Drift } from "../../skills/mirror/mirror.ts";
import { isEqual, type MirrorReport, type SyncReport } from "../../skills/library/sync.ts";

/** A mirror that cannot be read or written is trouble of storage; one that differs is 1. */
export function syncExitCode({ skills, mirrors }: SyncReport, isCheck: boolean): number {
  if (mirrors.some(({ trouble }) => trouble !== undefined)) return EXIT_CODES.storage;
  const isValid = skills.every(({ skill }) => skill !== undefined);
  return isValid && mirrors.every((each) => isEqual(each, isCheck)) ? 0 : 1;
}

export function mirrorView(report: MirrorReport, isCheck: boolean) {
  const { mirror, mode, drift, adopted, trouble } = report;
  return {
    ...{ mirror, mode, equal: isEqual(report, isCheck), trouble: trouble?.text ?? null },
    drift: drift.map(({ skill, path, kind, isKept }) => ({ skill, path, kind, kept: isKept })),
    adopted: adopted.map(({ skill, path, refused }) => ({ skill, path, refused: refused ?? null })),
  };
}

const WORDS: Readonly<Record<Drift["kind"], string>> = {
  missing: "missing",
  outdated: "outdated",
  edited: "edited in the mirror",
  extra: "not in the library",
  mode: "wrong mode",
  link: "a link to something else",
  broken_link: "a broken link",
  form: "a copy where a link belongs, or the other way round",
  foreign: "a skill of that name that deaddrop did not write",
};

export function mirrorRows(
  report: MirrorReport,
  { skills }: SyncReport,
  isCheck: boolean,
): string[] {
  const { mirror, drift, adopted, trouble } = report;
  const shown = drift.map(({ skill, path, kind, isKept }) => {
    const what = `  ${path === null ? skill : `${skill}/${path}`}: ${WORDS[kind]}`;
    if (isCheck || trouble !== undefined) return what;
    return `${what}; ${isKept ? "kept" : "made equal"}`;
  });
  const homes = adopted.map(({ skill, path, refused }) => {
    const outcome = refused === undefined ? "brought home" : `not brought home: ${refused}`;
    return `  ${skill}/${path}: ${outcome}`;
  });
  const isKept = drift.some((each) => each.isKept);
  const hint =
    isKept && !isCheck ? ["  --adopt brings an edit home to the library, --force gives it up"] : [];
  const usable = skills.filter(({ skill }) => skill !== undefined).length;
  const summary =
    trouble === undefined
      ? isEqual(report, isCheck)
        ? `equal, ${usable} skill${usable === 1 ? "" : "s"}`
        : "differs"
      : `not written: ${trouble.text}${trouble.hint === "" ? "" : ` (${trouble.hint})`}`;
  return [`${mirror}: ${summary}`, ...homes, ...shown, ...hint];
}
