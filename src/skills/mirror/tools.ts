/** Tools that read skills, each with its own folder first. As of the versions in docs/coding-tools.md. */
const READERS = {
  claude: [".claude/skills"],
  codex: [".codex/skills", ".agents/skills"],
  gemini: [".gemini/skills", ".agents/skills"],
  cursor: [".cursor/skills", ".agents/skills", ".claude/skills", ".codex/skills"],
  copilot: [".github/skills", ".agents/skills", ".claude/skills"],
  opencode: [".opencode/skills", ".agents/skills", ".claude/skills"],
  antigravity: [".antigravity/skills"],
} as const satisfies Readonly<Record<string, readonly [string, ...string[]]>>;

export type SkillTool = keyof typeof READERS;
export const SKILL_TOOLS = Object.keys(READERS) as SkillTool[];

/**
 * Written where nobody says otherwise: between them all tools that were tried find the skills. `.agents/skills`
 * is written first, since `npx skills add` makes the others links to it. Spec 7.1.
 */
export const USUAL_MIRRORS: readonly string[] = [".agents/skills", ".claude/skills"];
export const ALL_MIRRORS: readonly string[] = [
  ...new Set([...USUAL_MIRRORS, ...SKILL_TOOLS.map((tool) => mirrorOf(tool))]),
];

/** The folder that is a tool's own. */
export function mirrorOf(tool: SkillTool): string {
  return READERS[tool][0];
}

/** Of these tools, those that would list a skill twice, each with the mirrors where it finds it. Spec 7.1. */
export function doubleReaders(
  tools: readonly SkillTool[],
  mirrors: readonly string[],
): { readonly tool: SkillTool; readonly mirrors: readonly string[] }[] {
  return tools.flatMap((tool) => {
    const folders: readonly string[] = READERS[tool];
    const read = mirrors.filter((mirror) => folders.includes(mirror));
    return read.length > 1 ? [{ tool, mirrors: read }] : [];
  });
}
