/** Runs one piece of work after what runs now; the agent's calls never overlap. */
export type Queue = <T>(work: () => Promise<T>) => Promise<T>;

/** Work runs one after the other, in the order in which it was asked for; failures stop nothing. */
export function makeQueue(): Queue {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = last.then(work);
    last = result.then(
      () => undefined,
      () => undefined,
    );
    return result;
  };
}
