// How much a test tries that could go on for hours: `npm test` tries a sample, always the same one,
// `npm run test:long` all of it. Test files that ask here are in both runs (vitest.long.config.ts).

const IS_LONG = process.env["DEADDROP_LONG"] === "1";
/** In a sample, one disk operation in so many fails. */
const SAMPLED_POINTS = 11;

/** So many in a sample, so many in all. */
export function amount(sample: number, all: number): number {
  return IS_LONG ? all : sample;
}

/** The operation that fails next, after `at`: the next one; in a sample, some further on. */
export function nextPoint(at: number): number {
  return at + (IS_LONG ? 1 : SAMPLED_POINTS);
}

/** Operations that fail, of `count`: each; in a sample, the first, the last and some between. */
export function pointsOf(count: number): readonly number[] {
  const points: number[] = [];
  for (let at = 1; at < count; at = nextPoint(at)) points.push(at);
  return [...points, count];
}
