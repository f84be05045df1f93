import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";

const checkout = resolve(import.meta.dirname, "../..");
const program = join(checkout, "bin", "deaddrop.js");

/** Runs the program in a Node.js that says it is of this version. */
const runAs = (version: string): string =>
  `Object.defineProperties(process, {
    version: { value: "v${version}" },
    versions: { value: { ...process.versions, node: "${version}" } },
  });
  require(${JSON.stringify(program)});`;

test.each([
  ["16.20.2", "--version"],
  ["18.20.8", "status"],
  ["20.18.3", "hook"],
])("Node %s is told at `%s` which version is needed", (version, command) => {
  const args = ["-e", runAs(version), "--", command];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
  expect(stderr).toBe(
    `deaddrop: this is Node.js v${version} (${process.execPath}); 20.19 or newer is needed\n` +
      "  install a current version (https://nodejs.org), and put it first in PATH\n",
  );
});

test("it is the version that the package asks for", () => {
  const { engines } = JSON.parse(readFileSync(join(checkout, "package.json"), "utf8")) as {
    engines: { node: string };
  };
  expect(engines.node).toBe(">=20.19.0");
});
