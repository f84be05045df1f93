import { availableParallelism } from "node:os";
import { configDefaults, defineConfig } from "vitest/config";
import { plantedHere, withPlant } from "./test/simulator/plants.js";
import { TEST_LIMIT_MS } from "./test/support/hang-guard.ts";

// CI asks for a machine-readable report beside the readable one; `.ci/run` adds it up.
const report = process.env["DEADDROP_TEST_REPORT"];
const closingLine = "./test/support/closing-line.ts";

/** A mistake that a test has to find: it is put in as the file is loaded. */
const plant = plantedHere();

/**
 * The long lane: whole processes, every fault point, random days. All other test files are the quick
 * lane, which is `npm test`: they need no build, and no file takes more than about a second of CPU.
 */
const LONG = ["test/{e2e,faults,fuzz,scenes,service}/**/*.test.ts", "test/**/*.long.test.ts"];

/**
 * They replace a module, or count the work of code that nothing has run yet. All other files share the
 * modules of their process: loading them for each file takes a fifth of the whole time.
 */
const ALONE = [
  "test/storage/disk/lock-by-program.long.test.ts",
  "test/fuzz/work.test.ts",
  "test/protocol/decisions/work.long.test.ts",
];

export default defineConfig({
  plugins: [
    {
      name: "plant",
      enforce: "pre",
      transform: (code, id) => withPlant(plant, id.split("?")[0] ?? id, code),
    },
  ],
  test: {
    projects: [
      {
        extends: true,
        test: {
          name: "quick",
          include: ["test/**/*.test.ts"],
          exclude: [...configDefaults.exclude, ...LONG],
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: "long",
          include: LONG,
          exclude: [...configDefaults.exclude, ...ALONE],
          setupFiles: ["test/support/skip-when-late.ts"],
          isolate: false,
        },
      },
      { extends: true, test: { name: "alone", include: ALONE } },
    ],
    pool: "forks",
    // Many tests wait for processes of theirs, and leave a core to others meanwhile.
    maxWorkers: availableParallelism() + 2,
    // No test has a limit of its own: a test that is slow is not wrong.
    testTimeout: TEST_LIMIT_MS,
    hookTimeout: TEST_LIMIT_MS,
    env: { TZ: "UTC", NO_COLOR: "1" },
    reporters:
      report === undefined
        ? ["default", closingLine]
        : ["default", ["json", { outputFile: report }], closingLine],
    coverage: { provider: "v8", include: ["src/**/*.ts"], reportsDirectory: "coverage" },
  },
});
