/** What an honest wire never gives cause for, whatever crashes and whichever disk fails. */
export const FALSE_ALARMS: ReadonlySet<string> = new Set([
  "log_forked",
  "log_gap",
  "log_behind",
  "identity_in_use",
  "replayed",
  "unchained",
]);
