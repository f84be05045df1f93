import type { Preparation } from "../admission/prepare.ts";
import type { VerifyAll } from "../wire/signature.ts";
import type { RawLine } from "./source.ts";

/** What is read ahead of all sources together; each has its share. */
const LINES_AHEAD = 2_048;
const BYTES_AHEAD = 4 * 1_048_576;
/** More lines than this keep all threads at work. */
const MAX_BATCH_LINES = 512;

/** A line with what is known of it before it is judged. */
export interface LineAhead {
  readonly raw: RawLine;
  /** Undefined for a blank line. */
  readonly preparation: Preparation | undefined;
}

/** How much of one source is read at once; the line that reaches the bytes is the last. */
export interface Share {
  readonly lines: number;
  readonly bytes: number;
}

export function shareOf(sources: number): Share {
  const lines = Math.floor(LINES_AHEAD / Math.max(sources, 1));
  return {
    lines: Math.min(Math.max(lines, 1), MAX_BATCH_LINES),
    bytes: Math.floor(BYTES_AHEAD / Math.max(sources, 1)),
  };
}

/**
 * Lines in their order, each with the verdict on its signature; undefined where none is awaited.
 * While the lines of one batch are judged, the signatures of the next are checked.
 */
export async function* verifiedAhead<Line extends LineAhead>(
  lines: Iterator<Line>,
  verifyAll: VerifyAll,
  share: Share,
): AsyncGenerator<readonly [Line, boolean | undefined]> {
  let ahead = beginBatch(lines, verifyAll, share);
  while (ahead.lines.length > 0) {
    const batch = ahead;
    ahead = beginBatch(lines, verifyAll, share);
    const valid = await batch.valid;
    let next = 0;
    for (const line of batch.lines) {
      yield [line, line.preparation?.step === "signature" ? valid[next++] : undefined];
    }
  }
}

function beginBatch<Line extends LineAhead>(
  from: Iterator<Line>,
  verifyAll: VerifyAll,
  share: Share,
): { readonly lines: readonly Line[]; readonly valid: Promise<readonly boolean[]> } {
  const lines: Line[] = [];
  let bytes = 0;
  while (lines.length < share.lines && bytes < share.bytes) {
    const next = from.next();
    if (next.done === true) break;
    lines.push(next.value);
    bytes += next.value.raw.bytes?.length ?? 0;
  }
  const valid = verifyAll(
    lines.flatMap(({ preparation }) => (preparation?.step === "signature" ? [preparation] : [])),
  );
  // A batch that is given up is awaited by no one.
  valid.catch(() => undefined);
  return { lines, valid };
}
