import type { StatusView } from "../../../src/api/views.ts";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import type { HoldsView } from "../../../src/agent/answers/holds.ts";
import {
  copiedHome,
  makeWire,
  removeWires,
  type LiveWire,
} from "../../support/processes/live-wire.ts";
import { until } from "../../support/processes/real-processes.ts";

afterEach(removeWires);

const BY_FLAGS = ["--yes", "--reason", "the other machine is switched off"];
const LOG = "forge_to_scribe.jsonl";

interface Answer {
  readonly outcome: string;
  readonly messages: readonly { readonly event_id: string }[];
}

/** Sends, and remembers what was acknowledged; the exit code says whether it was. */
function sender(machine: LiveWire, acknowledged: string[]) {
  return async (subject: string): Promise<number | string> => {
    const { code, stdout } = await machine.run("forge", "send", subject, "--json");
    if (code !== 0) return code;
    const { messages } = JSON.parse(stdout) as Answer;
    acknowledged.push(...messages.map(({ event_id: id }) => id));
    return code;
  };
}

const isHeld = async (wire: LiveWire): Promise<boolean> => {
  const { holds } = await wire.json<HoldsView>("scribe", "peer", "show", "forge");
  return holds.length > 0;
};

function subjectsOf(wire: LiveWire): string[] {
  return wire.privateLines("scribe", "inbox").map(({ subject }) => subject);
}

for (const kind of ["daemons", "commands alone"] as const) {
  it(`the same key on two machines, ${kind}: it is noticed, nothing acknowledged is lost, and one comes back`, async () => {
    const wire = makeWire();
    const other = copiedHome(wire);
    const acknowledged: string[] = [];
    const here = sender(wire, acknowledged);
    const there = sender(other, acknowledged);
    await wire.daemon("scribe");
    const daemons =
      kind === "daemons" ? [await wire.daemon("forge"), await other.daemon("forge")] : [];

    // Both write until one of them is stopped: by what it reads in its own log.
    for (let round = 0; ; round += 1) {
      const codes = await Promise.all([here(`here ${round}`), there(`there ${round}`)]);
      if (codes.includes(1)) break;
      expect(codes).toEqual([0, 0]);
      expect(round).toBeLessThan(20);
    }
    const standing = (): string => readFileSync(join(wire.dir, LOG), "utf8");
    for (const id of acknowledged) expect(standing()).toContain(`"event_id":"${id}"`);

    // The operator stops the other machine, and takes this one up again.
    for (const daemon of daemons.slice(1)) await daemon.stop();
    const { troubles } = await wire.json<StatusView>("forge", "status");
    const isInUse = troubles.some(({ code }) => code === "identity_in_use");
    const reclaimed = await wire.json("forge", "reclaim", ...BY_FLAGS);
    expect(reclaimed).toMatchObject({ changed: isInUse });
    expect(await here("back again")).toBe(0);
    for (const id of acknowledged) expect(standing()).toContain(`"event_id":"${id}"`);

    // A peer that has seen two lines in one place holds the author until its operator decides.
    await until("scribe has read it, or holds its author", async () => {
      return (await isHeld(wire)) || subjectsOf(wire).includes("back again");
    });
    const reset = ["peer", "reset", "forge", "--follow", acknowledged.at(-1) ?? "", ...BY_FLAGS];
    await until("its operator follows this machine", async () => {
      return !(await isHeld(wire)) || (await wire.run("scribe", ...reset)).code === 0;
    });
    await until("it arrives", () => subjectsOf(wire).includes("back again"));
    const subjects = subjectsOf(wire);
    expect(new Set(subjects).size).toBe(subjects.length);
    expect(await isHeld(wire)).toBe(false);

    // The other copy, started again, finds lines that it did not write, and stays stopped.
    const again = await other.run("forge", "send", "me too");
    expect(again.code).toBe(1);
    expect(again.stderr).toContain("was not signed here: another copy of the key is in use");
    expect(again.stderr).toContain("deaddrop key reclaim");
    expect(standing()).not.toContain("me too");
    expect(await here("still here")).toBe(0);
    await until("it arrives, too", () => subjectsOf(wire).includes("still here"));
  });
}
