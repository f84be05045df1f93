// A run in CI is ended after 90 minutes, with no result at all. On a machine that is slow that day it is
// better to leave out the last tests of the long ones, and to say so.

/** Unix time in seconds after which no long test and no seed begins; unset: there is no limit. */
const UNTIL = "DEADDROP_UNTIL";

export const TIME_IS_UP = `not begun: the time in ${UNTIL} is over`;

export function isTimeUp(): boolean {
  const until = process.env[UNTIL];
  return until !== undefined && Date.now() >= Number(until) * 1_000;
}
