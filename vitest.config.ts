import { defineConfig } from "vitest/config";

// CI asks for a machine-readable report beside the readable one; `.ci/run` adds it up.
const report = process.env["DEADDROP_TEST_REPORT"];
const closingLine = "./test/support/closing-line.ts";

export default defineConfig({
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
