import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, expect, it } from "vitest";
import { until } from "../support/processes/real-processes.ts";
import { makeWire, removeWires, type Line } from "../support/processes/live-wire.ts";

const EXAMPLE = fileURLToPath(new URL("../data/example-coordination.jsonl", import.meta.url));
const HANDLES = ["agent_a", "agent_b"] as const;

afterEach(removeWires);

/** The lines that people wrote, without what the daemons say about them. */
function byHand(text: string): string {
  const lines = text.split("\n").filter((line) => line !== "" && !line.includes('"seq":'));
  return lines.map((line) => `${line}\n`).join("");
}

it("the log of a project by hand, appended with cat: delivered as it is, and nothing is decided by it", async () => {
  const wire = makeWire({
    handles: HANDLES,
    config: { v3_signing: { enforce_signed: true, allow_unsigned_from: HANDLES } },
  });
  // Both daemons have keys and sign their beats; the operator of each takes what people write by hand.
  for (const handle of HANDLES) {
    for (const author of HANDLES) {
      const pin = ["trust", "pin", author, "--unsigned", "--yes", "--reason", "written by hand"];
      expect(await wire.run(handle, ...pin)).toMatchObject({ code: 0 });
    }
  }
  const daemons = [await wire.daemon("agent_a"), await wire.daemon("agent_b")];
  const example = readFileSync(EXAMPLE, "utf8").trimEnd().split("\n");
  const linesOf = (handle: string) =>
    example.filter((line) => (JSON.parse(line) as Line).from === handle);
  for (const [handle, peer] of [HANDLES, HANDLES.toReversed()] as [string, string][]) {
    const part = join(wire.folder, `${handle}.jsonl`);
    writeFileSync(
      part,
      linesOf(handle)
        .map((line) => `${line}\n`)
        .join(""),
    );
    const log = join(wire.dir, `${handle}_to_${peer}.jsonl`);
    expect(spawnSync("sh", ["-c", 'cat "$0" >> "$1"', part, log]).status).toBe(0);
  }

  const inboxText = (handle: string) => byHand(readFileSync(wire.paths(handle).inbox, "utf8"));
  const routedTo = (handle: string) =>
    linesOf(handle === "agent_a" ? "agent_b" : "agent_a")
      .filter((line) => (JSON.parse(line) as Line).type !== "heartbeat")
      .map((line) => `${line}\n`)
      .join("");
  const isAllThere = () =>
    HANDLES.every((handle) => inboxText(handle).length >= routedTo(handle).length);
  await until("both inboxes are full", isAllThere);
  // Some beats more: nothing may be routed, recorded or said on top of it.
  for (const log of ["agent_a_to_agent_b.jsonl", "agent_b_to_agent_a.jsonl"]) {
    const before = wire.lines(log).length;
    await until("beats go on", () => wire.lines(log).length > before + 2);
  }

  for (const handle of HANDLES) {
    expect(inboxText(handle)).toBe(routedTo(handle));
    expect(wire.privateLines(handle, "quarantine")).toEqual([]);
    const notices = await wire.json<{ cause: string }[]>(handle, "incident", "notices");
    expect(notices.filter(({ cause }) => cause !== "proposal_silent")).toEqual([]);
  }
  // Unsigned words that name no proposal decide nothing.
  expect(wire.text("decisions.jsonl")).toBe("");
  for (const handle of HANDLES) {
    const { in_force } = await wire.json<{ in_force: unknown[] }>(handle, "decisions");
    expect(in_force).toEqual([]);
  }
  await Promise.all(daemons.map((daemon) => daemon.stop()));
  const said = HANDLES.flatMap((handle) => {
    const peer = handle === "agent_a" ? "agent_b" : "agent_a";
    return wire.lines(`${handle}_to_${peer}.jsonl`).filter(({ type }) => type !== "heartbeat");
  });
  expect(said.filter(({ seq }) => seq === undefined)).toHaveLength(10);
  const byDaemons = said.filter(({ seq }) => seq !== undefined);
  expect(byDaemons.filter(({ type }) => type !== "correction")).toEqual([]);
  const audit = await wire.json<{ violations: unknown[] }>("agent_a", "audit");
  expect(audit.violations).toEqual([]);
});
