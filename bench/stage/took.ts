/** What something took, by the clock and of all cores. */
export interface Took {
  readonly wallMs: number;
  readonly cpuMs: number;
}

/** Of this process, all of its threads. */
export async function timed(work: () => Promise<void>): Promise<Took> {
  const cpuBefore = process.cpuUsage();
  const startedMs = performance.now();
  await work();
  const wallMs = performance.now() - startedMs;
  const { user, system } = process.cpuUsage(cpuBefore);
  return { wallMs, cpuMs: (user + system) / 1_000 };
}
