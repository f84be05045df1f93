import type { CommandDefinition } from "./command.ts";

/**
 * What callers call an option that has another name here; the first one that the command has is meant. In
 * brackets: an argument. Some say an option and its value in one.
 */
const OPTION_NAMES: Readonly<Record<string, readonly string[]>> = {
  "-L": ["--limit"],
  "-a": ["--all"],
  "-b": ["--body"],
  "-f": ["--follow"],
  "-j": ["--json"],
  "-l": ["--limit", "--lines"],
  "-m": ["--body", "--reason", "--last-action"],
  "-n": ["--limit", "--lines"],
  "-p": ["--priority"],
  "-r": ["--reason"],
  "-s": ["--severity", "--subject"],
  "-t": ["--to"],
  "-u": ["--unread"],
  "-w": ["--wire"],
  "-y": ["--yes"],
  "--accept": ["--approve"],
  "--all": ["--to all"],
  "--as-read": ["--mark-read"],
  "--because": ["--reason", "--body"],
  "--broadcast": ["--to all"],
  "--by": ["--due"],
  "--content": ["--body", "--reason"],
  "--count": ["--limit", "--lines"],
  "--critical": ["--severity critical"],
  "--deadline": ["--due"],
  "--description": ["--body"],
  "--deny": ["--reject"],
  "--duration": ["--for"],
  "--file": ["--body-file"],
  "--high": ["--severity high", "--priority high"],
  "--id": ["<id>", "<request>", "[claim]"],
  "--last": ["--limit"],
  "--level": ["--severity", "--priority"],
  "--mark-as-read": ["--mark-read"],
  "--max": ["--limit"],
  "--me": ["--as"],
  "--message": ["--body", "--reason", "--last-action"],
  "--msg": ["--body", "--reason"],
  "--new": ["--unread"],
  "--no": ["--reject"],
  "--note": ["--reason", "--body"],
  "--only-unread": ["--unread"],
  "--path": ["<pattern...>", "<path...>"],
  "--paths": ["--path", "<pattern...>", "<path...>"],
  "--peer": ["--to", "[peer...]"],
  "--priority": ["--severity"],
  "--query": ["<text>"],
  "--reason": ["--body"],
  "--recipient": ["--to", "[peer...]"],
  "--recipients": ["--to", "[peer...]"],
  "--refs": ["--ref"],
  "--request": ["<request>"],
  "--since-last": ["--unread"],
  "--status": ["--state"],
  "--text": ["--body", "--reason"],
  "--title": ["--subject", "[subject]"],
  "--to": ["[peer...]"],
  "--ttl": ["--for"],
  "--type": ["<type>"],
  "--unread-only": ["--unread"],
  "--until": ["--due", "--for"],
  "--urgent": ["--priority high", "--severity high"],
  "--watch": ["--follow"],
  "--with": ["--to"],
  "--yes": ["--approve"],
};

/** What this command calls an option or `<argument>`; undefined when it has nothing of that kind. */
export function optionNamed(
  given: string,
  known: ReadonlyMap<string, unknown>,
  args: CommandDefinition["args"] = {},
): string | undefined {
  if (known.has(given)) return given;
  const name = normalised(given);
  const candidates = [name, ...(OPTION_NAMES[name] ?? [])];
  const named = [`<${name.slice(2)}>`, `[${name.slice(2)}]`];
  return [...candidates, ...named].find(
    (each) => known.has(each.split(" ", 1)[0] ?? "") || Object.hasOwn(args, each),
  );
}

/** All names that are not a command's own. */
export function optionNames(): string[] {
  return Object.keys(OPTION_NAMES).filter((name) => name.startsWith("--"));
}

/** `--markRead`, `--mark_read`, `--MARK-READ` and `-mark-read` are one name. */
function normalised(given: string): string {
  if (/^-[^-]$/.test(given)) return given;
  const words = given.replace(/^-+/, "").replace(/([a-z])([A-Z])/g, "$1-$2");
  return `--${words.replaceAll("_", "-").toLowerCase()}`;
}
