import { recogniseSigned, signedHook, type FoundHook } from "../../setup/guard/signed-hook.ts";
import { quotedWord } from "../../wire/quote.ts";
import { LIBRARY_FOLDER } from "../library/read-library.ts";

/** What the hook runs. */
export interface SkillsHookProgram {
  readonly node: string;
  readonly bin: string;
  /** The project, from the top of the work tree: `.` or a path. */
  readonly project: string;
}

const NOTICE =
  "# Made by `deaddrop skills hooks install`; the same with --remove takes it out. Do not change it.";

/** Where a hook that was there before is kept. */
export const ASIDE = "pre-commit.before-skills";

/**
 * The script. A mirror that differs or a skill that is not valid stops the commit; what cannot be checked is
 * told and stops nothing. A branch without a library has nothing to check. Spec 7.1.
 */
export function skillsHook(
  { node, bin, project }: SkillsHookProgram,
  madeFolder: string | undefined,
): string {
  const rows = [
    `before="\${0%/*}/${ASIDE}"`,
    'if [ -x "$before" ]; then',
    '  "$before" "$@" || exit $?',
    "fi",
    `project=./${quotedWord(project)}`,
    `[ -d "$project/${LIBRARY_FOLDER}" ] || exit 0`,
    `node=${quotedWord(node)}`,
    `bin=${quotedWord(bin)}`,
    'if [ -x "$node" ] && [ -f "$bin" ]; then',
    '  report=$(cd "$project" && "$node" "$bin" skills sync --check 2>&1)',
    "elif command -v deaddrop >/dev/null 2>&1; then",
    '  report=$(cd "$project" && deaddrop skills sync --check 2>&1)',
    "else",
    '  echo "deaddrop skills: nothing was checked: neither $bin nor deaddrop in PATH is there" >&2',
    "  exit 0",
    "fi",
    "status=$?",
    '[ "$status" = 0 ] && exit 0',
    `printf '%s\\n' "$report" >&2`,
    'if [ "$status" != 1 ]; then',
    '  echo "deaddrop skills: nothing was checked: it ended with $status" >&2',
    "  exit 0",
    "fi",
    'echo "deaddrop skills: nothing was committed: run deaddrop skills sync, and commit what it writes" >&2',
    'echo "  git commit --no-verify commits anyway" >&2',
    "exit 1",
  ];
  return signedHook(NOTICE, rows, madeFolder);
}

/** Whether it is one of ours. */
export function recogniseSkillsHook(text: string): FoundHook {
  return recogniseSigned(text, NOTICE);
}
