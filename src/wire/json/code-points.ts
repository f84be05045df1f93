/** True when a well-formed string has more than `max` code points. */
export function exceedsCodePoints(text: string, max: number): boolean {
  if (text.length <= max) return false;
  if (text.length > 2 * max) return true;
  return Array.from(text).length > max;
}

/** At most the first `max` code points: half of one is no text. */
export function firstCodePoints(text: string, max: number): string {
  return text.length <= max ? text : Array.from(text).slice(0, max).join("");
}
