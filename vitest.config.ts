import { defineConfig } from "vitest/config";
import { plantedHere, withPlant } from "./test/simulator/plants.js";

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
    testTimeout: 20_000,
    hookTimeout: 30_000,
    env: { TZ: "UTC", NO_COLOR: "1" },
    reporters:
      report === undefined
        ? ["default", closingLine]
        : ["default", ["json", { outputFile: report }], closingLine],
    coverage: { provider: "v8", include: ["src/**/*.ts"], reportsDirectory: "coverage" },
  },
});
