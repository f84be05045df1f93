/** What wakes a ticker: the process, or a simulator. Returns how to call it off. */
export type Wake = (inMs: number, wake: () => void) => () => void;

export const processWakes: Wake = (inMs, wake) => {
  // Monotonic: setTimeout does not follow the wall clock.
  const timer = setTimeout(wake, Math.ceil(inMs));
  return () => clearTimeout(timer);
};

/** One thing that is due: setting it again replaces it. */
export interface Alarm {
  set(inMs: number, ring: () => void): void;
  callOff(): void;
  /** Until it rings, or since when it has rung (below zero); Infinity before it is set. */
  leftMs(): number;
}

export function makeAlarm(monoMs: () => number, wake: Wake): Alarm {
  let dueMs = Infinity;
  let callOff = (): void => undefined;
  return {
    set(inMs, ring) {
      callOff();
      dueMs = monoMs() + inMs;
      callOff = wake(inMs, ring);
    },
    callOff: () => callOff(),
    leftMs: () => dueMs - monoMs(),
  };
}
