import { availableParallelism } from "node:os";
import { configDefaults, defineConfig } from "vitest/config";
import usual, { LONG_FILES } from "./vitest.config.ts";

/** Files of which `npm test` tries a sample; more is tried here, all of it at night (test/support/amounts.ts). */
export const SAMPLED_FILES = [
  "test/agents/integrate/any-mix.property.test.ts",
  "test/collab/machine/random-rounds.property.test.ts",
  "test/e2e/collab/at-once.test.ts",
  "test/e2e/disk/senders.test.ts",
  "test/e2e/plans/take-over.test.ts",
  "test/faults/*.test.ts",
  "test/fuzz/fuzz.test.ts",
  "test/framing/frame.property.test.ts",
  "test/framing/mail-text.property.test.ts",
  "test/fuzz/verdicts.test.ts",
  "test/protocol/clock-model.property.test.ts",
  "test/protocol/decisions/agreement.property.test.ts",
  "test/protocol/decisions/deadlines.property.test.ts",
  "test/protocol/decisions/moved-outcomes.property.test.ts",
  "test/protocol/decisions/outcomes.property.test.ts",
  "test/protocol/requests/requests.property.test.ts",
  "test/scenes/decided-at-random.test.ts",
  "test/scenes/lost-state.test.ts",
  "test/scenes/random-crashes.test.ts",
  "test/setup/hostile-cards.test.ts",
  "test/simulator/once-failed.test.ts",
  "test/storage/disk/lock-contenders.test.ts",
  "test/storage/own-log/log-writer-faults.test.ts",
  "test/transport/conformance/*.test.ts",
];

const { projects: _, ...test } = usual.test ?? {};

export default defineConfig({
  ...usual,
  test: {
    ...test,
    include: [LONG_FILES, ...SAMPLED_FILES],
    exclude: configDefaults.exclude,
    // Beside the simulator in CI, and with several processes to a test.
    maxWorkers: availableParallelism(),
    env: { ...test.env, DEADDROP_LONG: "1" },
    setupFiles: ["test/support/skip-when-late.ts"],
    // Its memory of earlier runs is one file, and other runs may be at it.
    cache: false,
  },
});
