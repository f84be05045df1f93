import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FORGE, TwoHosts } from "./two-hosts.ts";

// Somebody who may push to the repository, and has no key, copies lines that an agent has signed.

let hosts: TwoHosts;
beforeEach(async () => {
  hosts = await TwoHosts.make();
  await hosts.does("forge", "send", "first", "a line to copy");
  await hosts.rounds();
});
afterEach(() => hosts.remove());

/** Appends a copy of a line of forge's log to that log in the repository. */
function copyLine(at: number): void {
  hosts.push((clone) => {
    const line = hosts.inRemote(FORGE).split("\n").at(at) ?? "";
    appendFileSync(join(clone, FORGE), `${line}\n`);
  });
}

test("a copy of a line of ours in our log changes nothing", async () => {
  for (const at of [0, 1]) {
    copyLine(at);
    await hosts.round("forge");
    const { stdout } = await hosts.run("forge", "status");
    expect(stdout).not.toContain("not pushed");
  }
  await hosts.does("forge", "send", "second", "said after the copies");
  await hosts.rounds();
  expect(await hosts.subjects("scribe")).toEqual(["first", "second"]);
  expect(hosts.inRemote(FORGE)).toBe(hosts.read("forge", FORGE));
});
