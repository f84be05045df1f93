import { existsSync } from "node:fs";
import { join } from "node:path";
import { EXIT_CODES } from "../../api/errors.ts";
import { listingProblem } from "../../skills/format/listing.ts";
import {
  libraryOf,
  mirrorsOf,
  syncSkills,
  isEqual,
  type SyncReport,
  type SyncWish,
  type MirrorReport,
} from "../../skills/library/sync.ts";
import { MODES } from "../../skills/mirror/manifest.ts";
import type { Drift } from "../../skills/mirror/mirror.ts";
import { doubleReaders, mirrorOf, SKILL_TOOLS, type SkillTool } from "../../skills/mirror/tools.ts";
import { define, type FlagsOf, type Options } from "../command.ts";
import type { Cli } from "../context.ts";
import { emit } from "../output/output.ts";
import { rows, untilStopped, wrongUsage } from "../plans/plan-place.ts";
import { errorRows, libraryPlace, projectAt } from "./skills-place.ts";

/** Something in a project that only one tool puts there. */
const SIGNS: { readonly [T in SkillTool]?: readonly string[] } = {
  claude: [".claude/settings.json", ".claude/settings.local.json"],
  cursor: [".cursor/mcp.json", ".cursor/hooks.json"],
  gemini: [".gemini"],
  copilot: [".github/copilot-instructions.md"],
  opencode: [".opencode", "opencode.json"],
  antigravity: [".antigravity"],
};

const OPTIONS = {
  "--tool <tool>": {
    about: "only the folder of this tool (repeatable)",
    choices: SKILL_TOOLS,
    repeatable: true,
  },
  "--mode <mode>": { about: "files, or links to the library", choices: MODES },
  "--check": "change nothing; exit code 1 and what differs, for CI",
  "--adopt": "bring home what was edited there",
  "--force": "give up what was edited there",
  "--strict": "leave out skills whose compatibility is not met here",
  "--watch": "go on with each change of the library",
} as const satisfies Options;
type SyncFlags = FlagsOf<typeof OPTIONS>;

/** `deaddrop skills sync`: the mirrors as the library is. Spec 7.1. */
export const sync = define({
  about: "make the folders in which tools look equal to the library",
  options: OPTIONS,
  async run(cli, flags) {
    if (flags.check === true && (flags.adopt === true || flags.watch === true)) {
      throw wrongUsage("--check changes nothing", "leave out --adopt and --watch");
    }
    syncOnce(cli, flags);
    if (flags.watch !== true) return;
    const { watchLibrary } = await import("../../skills/library/watch-library.ts");
    const library = libraryOf(projectAt(cli.cwd));
    await untilStopped((signal) => watchLibrary(library, signal, () => syncOnce(cli, flags)));
    cli.exitCode = 0;
  },
});

function syncOnce(cli: Cli, flags: SyncFlags): void {
  const wish: SyncWish = {
    mirrors: flags.tool === undefined ? undefined : [...new Set(flags.tool.map(mirrorOf))],
    mode: flags.mode,
    check: flags.check === true,
    force: flags.force === true,
    adopt: flags.adopt === true,
    strict: flags.strict === true,
  };
  const place = libraryPlace(cli);
  const report = syncSkills(place, wish);
  cli.exitCode = syncExitCode(report, wish.check);
  const warnings = warningsOf(place.project, report, flags.tool ?? []);
  const data = {
    equal: cli.exitCode === 0,
    mirrors: report.mirrors.map((each) => mirrorView(each, wish.check)),
    invalid: report.skills.flatMap(({ folder, skill }) =>
      skill === undefined ? [folder.name] : [],
    ),
    warnings,
  };
  emit(cli, flags, data, () =>
    rows([
      ...report.skills.filter(({ skill }) => skill === undefined).flatMap(errorRows),
      ...warnings.map((text) => `warning: ${text}`),
      ...report.mirrors.flatMap((each) => mirrorRows(each, report, wish.check)),
    ]),
  );
}

function warningsOf(
  project: string,
  { skills, mirrors, unmet }: SyncReport,
  named: readonly SkillTool[],
): string[] {
  const library = libraryOf(project);
  const known = mirrorsOf(project, library).filter((mirror) => existsSync(join(project, mirror)));
  const written = new Set([...known, ...mirrors.map(({ mirror }) => mirror)]);
  const used = SKILL_TOOLS.filter(
    (tool) =>
      named.includes(tool) || (SIGNS[tool] ?? []).some((sign) => existsSync(join(project, sign))),
  );
  const usable = skills.flatMap(({ skill }) => (skill === undefined ? [] : [skill]));
  const together = listingProblem(usable.map((skill) => ({ ...skill, location: undefined })));
  return [
    ...doubleReaders(used, [...written]).map(
      ({ tool, mirrors: twice }) => `${tool} finds each skill in ${twice.join(" and ")}`,
    ),
    ...[...unmet].map(([name, missing]) => `${name}: ${missing.join("; ")}`),
    ...(together === undefined ? [] : [together]),
  ];
}

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
