const WITHOUT_NATIVE = new URL("without-native.js", import.meta.url).href;

/** Both ways to take a kernel lock, each with the environment that makes a child process take it. */
export interface WayToLock {
  readonly name: "flock(2)" | "flock(1)";
  readonly env: NodeJS.ProcessEnv;
}

export const BY_CALL: WayToLock = { name: "flock(2)", env: {} };
export const BY_PROGRAM: WayToLock = {
  name: "flock(1)",
  env: { NODE_OPTIONS: `--import ${WITHOUT_NATIVE}` },
};
export const WAYS_TO_LOCK = [BY_CALL, BY_PROGRAM] as const;
