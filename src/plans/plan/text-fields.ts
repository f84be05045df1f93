/**
 * Fields in which people write texts: a bare `1`, `1.0` or `true` there is the text as it is spelled.
 * Spec 7.3.
 */
const TEXTS: ReadonlySet<string> = new Set([
  ...["plan_id", "task", "id", "description", "owner", "criteria", "risk_notes", "skill"],
]);
/** The same, for the entries of a list. */
const LISTS_OF_TEXTS: ReadonlySet<string> = new Set([
  ...["deps", "criteria", "commands", "files", "coordinators"],
]);
/** What a command may begin with. YAML reads `- Run: npm test` as a key with a value. */
const COMMAND_WORDS: ReadonlySet<string> = new Set(["Run", "Read"]);

export function isTextAt(key: string | undefined, isInList: boolean): boolean {
  return key !== undefined && (isInList ? LISTS_OF_TEXTS : TEXTS).has(key);
}

/** `{ Run: "npm test" }` in `commands`, as the text that its author meant; else as it is. */
export function commandOf(value: object): unknown {
  const [entry, another] = Object.entries(value);
  if (entry === undefined || another !== undefined || !COMMAND_WORDS.has(entry[0])) return value;
  return typeof entry[1] === "string" ? `${entry[0]}: ${entry[1]}` : value;
}
