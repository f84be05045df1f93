/** Logs that nobody reads: anybody can fill a folder, so only some are named. */
export interface UnownedLogs {
  /** Their paths within the wire, quoted where a name is not plain. */
  readonly names: readonly string[];
  /** All of them, those that are not named too. */
  readonly count: number;
}

/** In words; undefined when there are none. */
export function unownedText({ names, count }: UnownedLogs): string | undefined {
  if (count === 0) return undefined;
  const more = count > names.length ? ` and ${count - names.length} more` : "";
  return `${names.join(", ")}${more}`;
}
