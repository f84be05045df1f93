/** What reads like a word of a language in Latin letters. */
const WORD = /^[A-Z]?[a-z]{1,14}$/;
const VOWEL = /[aeiouy]/i;
const FOUR_CONSONANTS = /[^aeiouy]{4}/i;
/** Of a word: tokenizers know most of them as one or two tokens. */
const PER_LETTER = 0.5;

/**
 * A number of tokens that this text does not exceed, whichever tokenizer counts: a token is at least
 * one byte, and words of a language have two letters or more a token. Only a text made of letters
 * that no language puts together can exceed it, and never by more than twice.
 */
export function tokenCeiling(text: string): number {
  let ceiling = 0;
  for (const [piece] of text.matchAll(/[A-Za-z]+|[^A-Za-z]+/g)) {
    const isWord = WORD.test(piece) && VOWEL.test(piece) && !FOUR_CONSONANTS.test(piece);
    ceiling += isWord ? 0.5 + PER_LETTER * piece.length : Buffer.byteLength(piece);
  }
  return Math.ceil(ceiling);
}

/** The first of these texts that fit, in their order, and how many do not. */
export function fitting(
  texts: readonly string[],
  budget: number,
): { readonly fits: readonly string[]; readonly left: number; readonly spent: number } {
  let spent = 0;
  const fits: string[] = [];
  for (const text of texts) {
    // With the end of its line.
    const cost = tokenCeiling(text) + 1;
    if (spent + cost > budget) break;
    spent += cost;
    fits.push(text);
  }
  return { fits, left: texts.length - fits.length, spent };
}
