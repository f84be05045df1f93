import { Session } from "node:inspector/promises";

/**
 * Counts how often the blocks of our own code ran: a measure of work that is the same on every
 * machine, however busy. Begin before the modules are loaded: blocks are counted in code that is
 * compiled after that. What runs inside a regular expression is not seen.
 */
export async function beginWorkCount(isCounted: (url: string) => boolean) {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });

  async function taken(): Promise<number> {
    const { result } = await session.post("Profiler.takePreciseCoverage");
    return result
      .filter(({ url }) => isCounted(url))
      .flatMap(({ functions }) => functions.flatMap(({ ranges }) => ranges))
      .reduce((sum, { count }) => sum + count, 0);
  }

  return {
    /** How often that function was called in the meantime. */
    async callsDuring(name: string, work: () => unknown): Promise<number> {
      await session.post("Profiler.takePreciseCoverage");
      await work();
      const { result } = await session.post("Profiler.takePreciseCoverage");
      return result
        .filter(({ url }) => isCounted(url))
        .flatMap(({ functions }) => functions.filter(({ functionName }) => functionName === name))
        .reduce((sum, { ranges }) => sum + (ranges[0]?.count ?? 0), 0);
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
