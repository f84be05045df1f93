import { expect, test } from "vitest";
import { runSeed } from "./run-seed.ts";

/** Seeds of a long run in which the simulator has found something, beyond those that CI plays. */
const FOUND: readonly (readonly [seed: number, what: string])[] = [
  [429, "a clock that is set back in several small steps"],
  [570, "a hostile line that a failed sync and a power cut took away after it was read"],
  [1002, "a log that was restored in place, with somebody else's line moved"],
  [1347, "a line restored while those before it were missing; words read, and unread again"],
  [1361, "a process that dies as it lets go of its lock"],
  [1797, "a line lost by its log and by the inbox"],
  [1870, "a line held back by a slow clock, which the logs alone refuse for a later reason"],
  [2245, "a decision recorded twice, since a restored line took its beat back"],
  [5009, "a read of its own log that failed, after which it said the same forever"],
  [7034, "a proposal open to one who holds back the log of an agent that it does not concern"],
  [7298, "a restored line behind others that were read again, left out"],
  [8288, "a log that its author restored while lines of it waited for their signatures"],
  [10176, "a line lost by its log and by the inbox, and folded by a checkpoint"],
  [10250, "an answer to one of several lost messages"],
  [10511, "a log that is put back while its writer starts"],
  [10552, "a lost message that was read, taken in again, and replayed"],
  [10726, "a log that is put back while the disk fails"],
  [11284, "lines that never return, and a wait for them that began again with each look"],
  [11501, "a log that is put back while another one waits for its disk"],
  [12147, "promised lines that were signed later than all that was read back"],
  [12216, "a line that is given back after the clock was set back"],
  [40011, "a pause while our own log cannot be read, said again without end"],
  [40030, "an answer in a log that does not answer the asker"],
  [14056, "a lost line that returned into blanks which those who follow the file had passed"],
  [15292, "a lost line of our own, with somebody else's in the place that it had"],
  [60949, "lines too far ahead of a clock, of one whose leaving was not applied yet"],
  [70215, "a log that lacks lines until its repair, compared with the remote meanwhile"],
];

test.each(FOUND)("seed %i keeps all promises now: %s", async (seed) => {
  const outcome = await runSeed({ seed, steps: 300 });
  expect(outcome).toMatchObject({ ok: true });
});
