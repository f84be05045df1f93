import { existsSync } from "node:fs";
import { join } from "node:path";
import { listingProblem } from "../../skills/format/listing.ts";
import type { MirrorMode } from "../../skills/mirror/manifest.ts";
import { doubleReaders, mirrorOf, SKILL_TOOLS, type SkillTool } from "../../skills/mirror/tools.ts";
import {
  libraryOf,
  mirrorsOf,
  syncSkills,
  type SyncReport,
  type SyncWish,
} from "../../skills/library/sync.ts";
import type { Cli } from "../context.ts";
import { emit } from "../output/output.ts";
import { rows, wrongUsage } from "../plans/plan-place.ts";
import { errorRows, libraryPlace, projectAt, type SkillFlags } from "./skills-place.ts";
import { mirrorRows, mirrorView, syncExitCode } from "./sync-view.ts";

export interface SyncFlags extends SkillFlags {
  tool?: SkillTool[];
  mode?: MirrorMode;
  check?: boolean;
  force?: boolean;
  adopt?: boolean;
  strict?: boolean;
  watch?: boolean;
}

/** Something in a project that only one tool puts there. */
const SIGNS: { readonly [T in SkillTool]?: readonly string[] } = {
  claude: [".claude/settings.json", ".claude/settings.local.json"],
  cursor: [".cursor/mcp.json", ".cursor/hooks.json"],
  gemini: [".gemini"],
  copilot: [".github/copilot-instructions.md"],
  opencode: [".opencode", "opencode.json"],
  antigravity: [".antigravity"],
};

/** `deaddrop skills sync`: the mirrors as the library is. Spec 7.1. */
export async function sync(cli: Cli, flags: SyncFlags): Promise<void> {
  if (flags.check === true && (flags.adopt === true || flags.watch === true)) {
    throw wrongUsage("--check changes nothing", "leave out --adopt and --watch");
  }
  syncOnce(cli, flags);
  if (flags.watch !== true) return;
  const { watchLibrary } = await import("../../skills/library/watch-library.ts");
  const { untilStopped } = await import("../plans/plan-place.ts");
  const library = libraryOf(projectAt(cli.cwd));
  await untilStopped((signal) => watchLibrary(library, signal, () => syncOnce(cli, flags)));
  cli.exitCode = 0;
}

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
