import { renameSync } from "node:fs";
import { afterEach, describe, expect, test } from "vitest";
import type { TransportView } from "../../../src/api/transport.ts";
import {
  hostsOf,
  nudge,
  removeHosts,
  running,
  subjects,
  type Hosts,
} from "../../support/processes/hosts.ts";
import { until, type Started } from "../../support/processes/real-processes.ts";
import type { MachineAlone } from "../../support/processes/two-machines.ts";
import { randomFrom } from "../../support/random.ts";

// The same behaviour of every way to share a wire, with real daemons. test/transport/conformance tries
// more of it, in one process.

const KILLS = process.env["DEADDROP_NIGHTLY"] === "1" ? 200 : 16;
/** Somewhere between the fetch and the push. */
const LATEST_KILL_MS = 150;

afterEach(removeHosts);

/** All daemons of the scene, and what was said so far. */
class Scene {
  readonly machines: readonly MachineAlone[];
  readonly daemons = new Map<MachineAlone, Started>();
  readonly #said = new Map<MachineAlone, string[]>();

  constructor({ machines }: Hosts) {
    this.machines = machines;
  }

  async start(machine: MachineAlone): Promise<void> {
    this.daemons.set(machine, await running(machine));
  }

  async startAll(): Promise<void> {
    for (const machine of this.machines) await this.start(machine);
  }

  async kill(machine: MachineAlone): Promise<void> {
    const daemon = this.daemons.get(machine);
    this.daemons.delete(machine);
    daemon?.child.kill("SIGKILL");
    await daemon?.ended;
  }

  async say(from: MachineAlone, what: string): Promise<void> {
    const subject = `${from.handle} ${what}`;
    const to = this.machines.filter((each) => each !== from).map(({ handle }) => handle);
    await from.does("send", subject, ...to.flatMap((handle) => ["--to", handle]));
    this.#said.set(from, [...(this.#said.get(from) ?? []), subject]);
  }

  nudge(): void {
    nudge(this.daemons.values());
  }

  /** Each inbox has every message once, those of one author in their order; every log is whole. */
  async expectAll(): Promise<void> {
    for (const machine of this.machines) {
      const others = this.machines.filter((each) => each !== machine);
      const expected = others.flatMap((each) => this.#said.get(each) ?? []);
      const found = await until(`${machine.handle} has all`, async () => {
        this.nudge();
        const all = await subjects(machine);
        return all.length >= expected.length ? all : undefined;
      });
      for (const { handle } of others) {
        const of = (subject: string): boolean => subject.startsWith(`${handle} `);
        expect(found.filter(of)).toEqual(expected.filter(of));
      }
      expect(found).toHaveLength(expected.length);
    }
    for (const machine of this.machines) await machine.does("audit");
  }
}

async function healthOf(machine: MachineAlone): Promise<TransportView | null> {
  const text = await machine.does("transport", "status", "--json");
  return (JSON.parse(text) as { health: TransportView | null }).health;
}

describe.each(["folder", "git"] as const)("%s", (way) => {
  test(`nothing is lost or twice when daemons are killed ${KILLS} times`, async () => {
    const scene = new Scene(await hostsOf(way, [["forge"], ["scribe"]]));
    await scene.startAll();
    const random = randomFrom(17);
    for (let kill = 0; kill < KILLS; kill += 1) {
      for (const machine of scene.machines) await scene.say(machine, String(kill));
      scene.nudge();
      const victim = scene.machines[random() < 0.5 ? 0 : 1];
      if (victim === undefined) throw new Error("there are two machines");
      await new Promise((resolve) => setTimeout(resolve, random() * LATEST_KILL_MS));
      await scene.kill(victim);
      await scene.start(victim);
    }
    await scene.expectAll();
  });

  test("three agents on two hosts: the one that carries is killed, and the other goes on", async () => {
    const scene = new Scene(await hostsOf(way, [["forge", "quill"], ["scribe"]]));
    const [forge, quill, scribe] = scene.machines;
    if (forge === undefined || quill === undefined || scribe === undefined)
      throw new Error("three");
    await scene.startAll();
    for (const machine of scene.machines) await scene.say(machine, "first");
    await scene.expectAll();
    const carries = async (machine: MachineAlone): Promise<boolean> =>
      (await healthOf(machine))?.is_mover === true;
    const isForge = way === "git" ? await carries(forge) : true;
    const [dies, stays] = isForge ? [forge, quill] : [quill, forge];
    if (way === "git") expect(await carries(stays)).toBe(false);
    await scene.kill(dies);
    await scene.say(scribe, "second");
    await scene.say(stays, "second");
    // By itself: nobody tells it that the other one has died.
    if (way === "git") await until(`${stays.handle} carries`, () => carries(stays));
    await until(`${stays.handle} hears scribe`, async () => {
      nudge([scene.daemons.get(scribe)].filter((each) => each !== undefined));
      return (await subjects(stays)).includes("scribe second");
    });
    await scene.start(dies);
    for (const machine of scene.machines) await scene.say(machine, "third");
    await scene.expectAll();
    if (way === "git") expect([await carries(dies), await carries(stays)]).toEqual([false, true]);
  });
});

test("git: what both sides write in a partition arrives after it", async () => {
  const hosts = await hostsOf("git", [["forge"], ["scribe"]]);
  const scene = new Scene(hosts);
  await scene.startAll();
  renameSync(hosts.remote, `${hosts.remote}.away`);
  for (const machine of scene.machines) await scene.say(machine, "apart");
  for (const machine of scene.machines) {
    await until(`${machine.handle} says that the remote is away`, async () => {
      scene.nudge();
      return (await healthOf(machine))?.problem?.code === "no_remote";
    });
    expect(await subjects(machine)).toEqual([]);
  }
  renameSync(`${hosts.remote}.away`, hosts.remote);
  await scene.expectAll();
});
