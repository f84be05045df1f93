/** Rows of a list that become text in one step. */
const ROWS_IN_A_PIECE = 500;
/** A list is found so deep in an answer. */
const LEVELS = 4;

/**
 * The JSON text of an answer in pieces, each of which takes a moment: a daemon with much to list does
 * other work between two of them. Together they are what `JSON.stringify` gives.
 */
export function* jsonPieces(value: unknown): Generator<string> {
  yield* piecesOf(value, LEVELS);
}

/** Whether it takes more than one piece. */
export function hasLongList(value: unknown, levels = LEVELS): boolean {
  if (typeof value !== "object" || value === null || levels === 0) return false;
  if (Array.isArray(value)) return value.length > ROWS_IN_A_PIECE;
  return Object.values(value).some((each) => hasLongList(each, levels - 1));
}

function* piecesOf(value: unknown, levels: number): Generator<string> {
  if (!hasLongList(value, levels)) {
    yield JSON.stringify(value);
  } else if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at += ROWS_IN_A_PIECE) {
      const rows = JSON.stringify(value.slice(at, at + ROWS_IN_A_PIECE)).slice(1, -1);
      yield `${at === 0 ? "[" : ","}${rows}`;
    }
    yield "]";
  } else {
    const fields = Object.entries(value as object).filter(([, each]) => each !== undefined);
    for (const [at, [name, each]] of fields.entries()) {
      yield `${at === 0 ? "{" : ","}${JSON.stringify(name)}:`;
      yield* piecesOf(each, levels - 1);
    }
    yield "}";
  }
}
