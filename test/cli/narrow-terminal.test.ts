import { expect, test } from "vitest";
import { displayWidth } from "../../src/cli/output/width.ts";
import { run } from "./fake-cli.ts";

test.each([["help"], ["help", "send"], ["doctor"]])(
  "on a terminal of 40 columns no row of `%s %s` is longer",
  async (...args) => {
    const { stdout } = await run(args, { tty: true, columns: 40, env: { NO_COLOR: "1" } });
    const rows = stdout.split("\n");
    expect(rows.length).toBeGreaterThan(5);
    expect(rows.filter((row) => displayWidth(row) > 40)).toEqual([]);
  },
);
