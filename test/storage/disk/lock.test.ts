import { closeSync, openSync } from "node:fs";
import { expect, it } from "vitest";
import { lockDescriptor } from "../../../src/storage/disk/kernel-lock.ts";
import { BY_CALL } from "../../support/processes/ways-to-lock.ts";
import { lockSuite } from "./lock-suite.ts";

lockSuite(BY_CALL);

it("what the kernel refuses is an error with its name", () => {
  const fd = openSync("/dev/null", "r");
  closeSync(fd);
  expect(() => lockDescriptor(fd, 0)).toThrow(expect.objectContaining({ code: "EBADF" }));
});
