import { quotedWord } from "../../wire/quote.ts";
import { recogniseSigned, signedHook, type FoundHook } from "./signed-hook.ts";

/** The hooks of git that the guard uses. */
export const GUARD_HOOKS = ["pre-commit", "pre-push"] as const;
export type GuardHook = (typeof GUARD_HOOKS)[number];

/** What a hook runs, and what it says when that is gone. */
export interface HookProgram {
  readonly node: string;
  readonly bin: string;
  /** The private file that says whether the guard is strict. */
  readonly settings: string;
}

const NOTICE =
  "# Made by `deaddrop guard install`; `deaddrop guard uninstall` removes it. Do not change it.";

/** Where a hook that was there before is kept. */
export function asideName(hook: GuardHook): string {
  return `${hook}.before-deaddrop`;
}

/**
 * The hook's script, in POSIX sh.
 *
 * @param madeFolder the first folder on the way to the hook that had to be made; undefined: none
 */
export function hookText(
  hook: GuardHook,
  { node, bin, settings }: HookProgram,
  madeFolder: string | undefined,
): string {
  const isPush = hook === "pre-push";
  const args = ["guard", "check", "--settings", settings].map(quotedWord);
  const check = [...args, ...(isPush ? ['--pre-push -- "$@"'] : [])].join(" ");
  const feed = isPush ? `printf '%s' "$lines" 2>/dev/null | ` : "";
  const rows = [
    ...(isPush ? KEEP_INPUT : []),
    `before="\${0%/*}/${asideName(hook)}"`,
    'if [ -x "$before" ]; then',
    `  ${feed}"$before" "$@" || exit $?`,
    "fi",
    `node=${quotedWord(node)}`,
    `bin=${quotedWord(bin)}`,
    `settings=${quotedWord(settings)}`,
    "missing=",
    'if [ -x "$node" ] && [ -f "$bin" ]; then',
    `  ${feed}"$node" "$bin" ${check}`,
    "elif command -v deaddrop >/dev/null 2>&1; then",
    `  ${feed}deaddrop ${check}`,
    "else",
    "  missing=1",
    "fi",
    "status=$?",
    'case "$missing$status" in 0 | 1) exit "$status" ;; esac',
    'if [ -n "$missing" ]; then',
    '  echo "deaddrop guard: nothing was checked: neither $bin nor deaddrop in PATH is there" >&2',
    '  echo "  install deaddrop and run: deaddrop guard install" >&2',
    "else",
    '  echo "deaddrop guard: nothing was checked: it ended with $status" >&2',
    "fi",
    `if grep -Eq '"guard\\.strict"[[:space:]]*:[[:space:]]*true' "$settings" 2>/dev/null; then`,
    '  if [ "$ALLOW_HOTPATH" = 1 ]; then',
    '    echo "deaddrop guard: overridden, and not recorded" >&2',
    "    exit 0",
    "  fi",
    '  echo "  guard.strict is on, so it is blocked; ALLOW_HOTPATH=1 overrides" >&2',
    "  exit 1",
    "fi",
    "exit 0",
  ];
  return signedHook(NOTICE, rows, madeFolder);
}

/** Both hooks are to read it. `$(…)` drops newlines at the end: the x keeps them. */
const KEEP_INPUT = ["lines=$(cat && printf x)", "lines=${lines%x}"];

/** Whether it is one of the guard's. */
export function recogniseHook(text: string): FoundHook {
  return recogniseSigned(text, NOTICE);
}
