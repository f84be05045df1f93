import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import type { SendAnswer } from "../../../src/api/client.ts";
import type { DecisionsView, ObligationView, ProposalView } from "../../../src/api/views.ts";
import type { LayoutView } from "../../../src/protocol/logs/layout-change.ts";
import { hostsOf, nudge, removeHosts, running, subjects } from "../../support/processes/hosts.ts";
import { until, type Started } from "../../support/processes/real-processes.ts";
import type { MachineAlone } from "../../support/processes/two-machines.ts";

// A wire between machines moves from a log for each pair to an outbox for each agent.

const REASON = ["--yes", "--reason", "a test"];
const CLOSED = ["forge_to_scribe", "scribe_to_forge"];

afterEach(removeHosts);

const json = async <T>(by: MachineAlone, ...args: readonly string[]): Promise<T> =>
  JSON.parse(await by.does(...args, "--json")) as T;

const say = async (by: MachineAlone, ...args: readonly string[]): Promise<string> =>
  (await json<SendAnswer>(by, ...args)).messages[0]?.event_id ?? "";

const statusOf = async (by: MachineAlone, id: string): Promise<string | undefined> =>
  (await json<ProposalView[]>(by, "proposals")).find((each) => each.proposal_id === id)?.status;

const layoutOf = (by: MachineAlone): Promise<LayoutView> => json<LayoutView>(by, "layout");

test("two machines move one after the other through git, and what was open between them goes on", async () => {
  const { machines } = await hostsOf("git", [["forge"], ["scribe"]]);
  const [forge, scribe] = machines as [MachineAlone, MachineAlone];
  const daemons: Started[] = [await running(forge), await running(scribe)];
  const carried = (what: string, holds: () => Promise<boolean>): Promise<boolean> =>
    until(what, () => {
      nudge(daemons);
      return holds();
    });

  const open = await say(forge, "propose", "open", "--decision", "asked in the log of the pair");
  const owed = await say(forge, "send", "owed", "an ack", "--ack-required");
  await carried("scribe has both", async () => {
    const received = await subjects(scribe);
    return received.includes("open") && received.includes("owed");
  });
  await forge.does("layout", "outbox");
  const asked = async () => (await layoutOf(scribe)).pairs[0];
  await carried("scribe knows of the move", async () => (await asked())?.status === "open");
  await scribe.does("accept", (await asked())?.proposal_id ?? "");
  for (const machine of machines) {
    await carried("the move is agreed", async () => (await layoutOf(machine)).agreed);
  }

  // Forge speaks in its outbox, scribe in the log of the pair.
  await forge.does("layout", "accept", ...REASON);
  await carried("forge has closed its log", async () =>
    (await layoutOf(forge)).closed.some(({ by }) => by !== null),
  );
  await forge.does("send", "from the outbox", "not for readers of the pair", "--to", "scribe");
  await scribe.does("send", "from the pair", "still open", "--to", "forge");
  await carried("forge hears scribe", async () =>
    (await subjects(forge)).includes("from the pair"),
  );
  expect(await subjects(scribe)).not.toContain("from the outbox");

  await scribe.does("layout", "accept", ...REASON);
  for (const machine of machines) {
    await carried(`${machine.handle} has moved`, async () => {
      const { layout, closed } = await layoutOf(machine);
      return layout === "outbox" && closed.length === 2 && closed.every(({ by }) => by !== null);
    });
  }
  await carried("scribe has what waited", async () =>
    (await subjects(scribe)).includes("from the outbox"),
  );
  await say(scribe, "ack", owed);
  await say(scribe, "accept", open);
  for (const machine of machines) {
    await carried("it is ratified", async () => (await statusOf(machine, open)) === "ratified");
    await carried("the move and it are recorded", async () => {
      const { in_force: inForce } = await json<DecisionsView>(machine, "decisions");
      return inForce.some(({ proposal_id: id }) => id === open);
    });
    await carried("nothing is owed", async () => {
      const owing = await json<ObligationView[]>(machine, "pending");
      return owing.every(({ event_id: id }) => id !== owed);
    });
  }
  for (const machine of machines) {
    const { violations } = await json<{ violations: unknown[] }>(machine, "audit");
    expect(violations).toEqual([]);
    const names = [...CLOSED, "outbox/forge", "outbox/scribe"].map((name) => `${name}.jsonl`);
    expect(names.filter((name) => !existsSync(join(machine.wire, name)))).toEqual([]);
    const given = (await subjects(machine)).filter((subject) => subject.startsWith("from the"));
    expect(given).toHaveLength(1);
  }
  for (const { child } of daemons) child.kill("SIGTERM");
  await Promise.all(daemons.map(({ ended }) => ended));
});
