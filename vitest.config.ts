import { defineConfig } from "vitest/config";
import { plantedHere, withPlant } from "./test/simulator/plants.js";
import { TEST_LIMIT_MS } from "./test/support/hang-guard.ts";

// CI asks for a machine-readable report beside the readable one; `.ci/run` adds it up.
const report = process.env["DEADDROP_TEST_REPORT"];
const closingLine = "./test/support/closing-line.ts";

/** A mistake that a test has to find: it is put in as the file is loaded. */
const plant = plantedHere();

export default defineConfig({
  plugins: [
    {
      name: "plant",
      enforce: "pre",
      transform: (code, id) => withPlant(plant, id.split("?")[0] ?? id, code),
    },
  ],
  test: {
    include: ["test/**/*.test.ts"],
    pool: "forks",
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
