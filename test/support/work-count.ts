import { Session } from "node:inspector/promises";

/**
 * Counts how often the blocks of our own code ran: a measure of work that is the same on every
 * machine, however busy. Begin before the code has run, in a test file that `vitest.config.ts` lists as
 * one that runs alone: V8 counts blocks only in functions that it compiles after that. Calls of a
 * function that was compiled before are counted until V8 optimises it, and then no more.
 * What runs inside a regular expression is not seen.
 */
export async function beginWorkCount(isCounted: (url: string) => boolean) {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });

  type Coverage = Awaited<ReturnType<typeof takeCoverage>>;
  const takeCoverage = async () => (await session.post("Profiler.takePreciseCoverage")).result;

  async function taken(): Promise<number> {
    return (await takeCoverage())
      .filter(({ url }) => isCounted(url))
      .flatMap(({ functions }) => functions.flatMap(({ ranges }) => ranges))
      .reduce((sum, { count }) => sum + count, 0);
  }

  function functionsNamed(name: string, coverage: Coverage) {
    const named = coverage
      .filter(({ url }) => isCounted(url))
      .flatMap(({ functions }) => functions.filter(({ functionName }) => functionName === name));
    if (named.some(({ isBlockCoverage }) => !isBlockCoverage)) {
      throw new Error(`${name} has run before the counting began: its calls cannot be counted`);
    }
    return named;
  }

  return {
    /** How often that function was called in the meantime. */
    async callsDuring(name: string, work: () => unknown): Promise<number> {
      functionsNamed(name, await takeCoverage());
      await work();
      const called = functionsNamed(name, await takeCoverage());
      return called.reduce((sum, { ranges }) => sum + (ranges[0]?.count ?? 0), 0);
    },
    /** How many blocks ran in the meantime. */
    async during(work: () => unknown): Promise<number> {
      await taken();
      work();
      return taken();
    },
    end: () => session.disconnect(),
  };
}
