// Limits that only a hang reaches. No test measures the machine with them: one that is busy with ten
// other programs, or slower by as much, gets the same verdict.

const MINUTE_MS = 60_000;
const IS_NIGHTLY = process.env["DEADDROP_NIGHTLY"] === "1";

/** For one condition that a test waits for, or one child process. */
export const CONDITION_LIMIT_MS = (IS_NIGHTLY ? 120 : 10) * MINUTE_MS;

/** For one test, which waits for many; a nightly one takes in a million lines. */
export const TEST_LIMIT_MS = (IS_NIGHTLY ? 720 : 45) * MINUTE_MS;
