import { expect, it } from "vitest";
import { checkLocks } from "../../../src/setup/checks/host-checks.ts";
import "../../support/processes/without-native.js";
import { BY_PROGRAM } from "../../support/processes/ways-to-lock.ts";
import { lockSuite } from "./lock-suite.ts";

lockSuite(BY_PROGRAM);

it("doctor names the way, and says what to install where there is none", () => {
  expect(checkLocks()).toMatchObject({
    check: "kernel locks",
    detail: expect.stringContaining("by the program flock (koffi does not load: "),
  });
  const path = process.env["PATH"];
  process.env["PATH"] = "";
  try {
    expect(checkLocks()).toMatchObject({
      code: "no_locks",
      detail: expect.stringContaining("flock(1) was not found in PATH"),
      end: expect.stringMatching(/koffi.*flock/),
    });
  } finally {
    process.env["PATH"] = path;
  }
});
