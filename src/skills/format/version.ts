export const BUMPS = ["major", "minor", "patch"] as const;
export type Bump = (typeof BUMPS)[number];

const NUMBER = "(0|[1-9][0-9]{0,8})";
const SEMANTIC = new RegExp(
  `^${NUMBER}\\.${NUMBER}\\.${NUMBER}(?:-[0-9A-Za-z.-]{1,64})?(?:\\+[0-9A-Za-z.-]{1,64})?$`,
  "u",
);

export function isVersion(text: string): boolean {
  return SEMANTIC.test(text);
}

/** The next version; one before a release (`1.2.0-rc.1`) becomes that release by any bump that reaches it. */
export function bumped(version: string, bump: Bump): string {
  const parts = SEMANTIC.exec(version)?.slice(1, 4).map(Number) ?? [0, 0, 0];
  const [major = 0, minor = 0, patch = 0] = parts;
  const isBefore = /^[^+]*-/u.test(version);
  if (bump === "major") {
    return isBefore && minor === 0 && patch === 0 ? `${major}.0.0` : `${major + 1}.0.0`;
  }
  if (bump === "minor") {
    return isBefore && patch === 0 ? `${major}.${minor}.0` : `${major}.${minor + 1}.0`;
  }
  return `${major}.${minor}.${isBefore ? patch : patch + 1}`;
}
