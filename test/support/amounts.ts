// How much a test tries that could go on for hours: a sample, always the same one, and all of it in a
// nightly run (DEADDROP_NIGHTLY=1).

const IS_NIGHTLY = process.env["DEADDROP_NIGHTLY"] === "1";
/** From one disk operation that fails to the next one tried. */
const STEP = IS_NIGHTLY ? 1 : 11;

/** As many as a sample has, or all of them in a nightly run. */
export function amount(sample: number, all: number): number {
  return IS_NIGHTLY ? all : sample;
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
