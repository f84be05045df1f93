/**
 * Keys met lately. Logs repeat the same few, and V8 must hash and look up every new string that
 * becomes a key; finding the earlier copy spares that. It changes no result and has a fixed size.
 */
const SLOTS = 512;
const MAX_LENGTH = 32;
const keys = Array.from<string | undefined>({ length: SLOTS });

export const QUOTE = 0x22;

/** The remembered key that is at `start` in `text` with a closing quote after it. */
export function recallKey(text: string, start: number): string | undefined {
  let mix = 0;
  let end = start;
  // Without a quote it ends one beyond the longest key, and no key has that length.
  for (; end <= start + MAX_LENGTH; end++) {
    const unit = text.charCodeAt(end);
    if (unit === QUOTE) break;
    mix = Math.imul(mix, 31) + unit;
  }
  const key = keys[mix & (SLOTS - 1)];
  if (key === undefined || key.length !== end - start) return undefined;
  for (let i = 0; i < key.length; i++) {
    if (key.charCodeAt(i) !== text.charCodeAt(start + i)) return undefined;
  }
  return key;
}

/** Only for keys that are in the text as they are, without escapes. */
export function rememberKey(key: string): void {
  if (key.length > MAX_LENGTH) return;
  let mix = 0;
  for (let i = 0; i < key.length; i++) mix = Math.imul(mix, 31) + key.charCodeAt(i);
  keys[mix & (SLOTS - 1)] = key;
}
