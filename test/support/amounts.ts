// How much a test tries that could go on for hours: `npm test` tries a sample, always the same one,
// `npm run test:long` more, and a night all of it (DEADDROP_NIGHTLY=1). Test files that ask here are in
// all these runs (vitest.long.config.ts).

const IS_NIGHTLY = process.env["DEADDROP_NIGHTLY"] === "1";
const IS_LONG = process.env["DEADDROP_LONG"] === "1";
/** From one disk operation that fails to the next one tried. */
const STEP = IS_NIGHTLY ? 1 : IS_LONG ? 3 : 11;

/** So many in a sample, so many at night; the long tests try the geometric mean unless said. */
export function amount(
  sample: number,
  all: number,
  long = Math.round(Math.sqrt(sample * all)),
): number {
  if (IS_NIGHTLY) return all;
  return IS_LONG ? long : sample;
}

/** The operation that fails next, after `at`: at night the next one, else some further on. */
export function nextPoint(at: number): number {
  return at + STEP;
}

/** Operations that fail, of `count`: at night each; else the first, the last and some between. */
export function pointsOf(count: number): readonly number[] {
  const points: number[] = [];
  for (let at = 1; at < count; at = nextPoint(at)) points.push(at);
  return [...points, count];
}
