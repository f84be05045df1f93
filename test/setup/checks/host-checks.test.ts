import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  checkClock,
  checkFilesystem,
  checkLocks,
  checkNode,
  checkSignatures,
  checkSpace,
  judgeFilesystem,
  judgeSpace,
  type Finding,
} from "../../../src/setup/checks/host-checks.ts";

/** How bad it is; "ok" for what is well. */
const severityOf = (found: Finding): string => ("code" in found ? found.severity : "ok");

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "deaddrop-checks-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

describe("preconditions of a host", () => {
  it.each([
    ["v20.18.9", "error"],
    ["v18.20.0", "error"],
    ["v20.19.0", "ok"],
    ["v24.0.0", "ok"],
  ])("Node.js %s is %s", (version, result) => {
    expect(severityOf(checkNode(version))).toBe(result);
  });

  it("a kernel lock can be taken, and the try leaves nothing behind", () => {
    expect(checkLocks(folder)).toEqual({
      check: "kernel locks",
      detail: "they can be taken, by flock(2)",
    });
    expect(readdirSync(folder)).toEqual([]);
  });

  it("signatures are checked by libsodium, or doctor says what else does it", () => {
    expect(checkSignatures("libsodium")).toEqual({
      check: "signatures",
      detail: "they are checked by libsodium",
    });
    expect(checkSignatures("OpenSSL")).toMatchObject({
      severity: "warning",
      detail: expect.stringContaining("OpenSSL"),
      end: expect.stringContaining("sodium-native"),
    });
    expect(severityOf(checkSignatures())).toBe("ok");
  });

  it("says so where no file can be made to take a lock on", () => {
    const missing = join(folder, "missing");
    expect(checkLocks(missing)).toMatchObject({
      code: "no_locks",
      detail: expect.stringContaining(`no file can be made in ${missing}`),
      end: expect.stringContaining("TMPDIR"),
    });
  });

  it.each([
    [63, "error"],
    [64, "warning"],
    [1_023, "warning"],
    [1_024, "ok"],
  ])("%i MiB of free space are %s", (freeMib, result) => {
    expect(severityOf(judgeSpace("wire", "/x", freeMib))).toBe(result);
  });

  it("warns of filesystems without events, and names them", () => {
    const nfs = judgeFilesystem("/x", { name: "NFS", events: false, network: true });
    expect(nfs).toMatchObject({ severity: "warning", detail: expect.stringContaining("NFS") });
    expect(severityOf(checkFilesystem(folder))).toBe("ok");
    expect(checkSpace(folder, "wire").detail).toContain(folder);
  });

  it("compares the clock with what others have written", () => {
    const nowMs = Date.UTC(2027, 0, 1);
    const file = join(folder, "a.jsonl");
    writeFileSync(file, "");
    const touched = (aheadSeconds: number) => {
      const at = nowMs / 1_000 + aheadSeconds;
      utimesSync(file, at, at);
      return severityOf(checkClock(nowMs, folder, 300));
    };
    expect([touched(299), touched(301)]).toEqual(["ok", "error"]);
    expect(severityOf(checkClock(Date.UTC(1970, 0, 2), undefined, 300))).toBe("error");
  });
});
