import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { hostsOf, removeHosts, running, subjects } from "../support/processes/hosts.ts";
import { until } from "../support/processes/real-processes.ts";
import type { MachineAlone } from "../support/processes/two-machines.ts";

// Half an hour of two scripted agents by the real clock, with the real deadline of an incident: nobody acks
// it for a quarter of an hour, then its addressee does.

const MINUTE_MS = 60_000;
const REFUSED = 4;
const PAUSE_MS = 10_000;

afterEach(removeHosts);

/** Sends a message and reads its mail now and then, until it is told to stop. */
class Agent {
  readonly sent: string[] = [];
  refused = 0;
  readonly #machine: MachineAlone;

  constructor(machine: MachineAlone) {
    this.#machine = machine;
  }

  async talk(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      await this.say(`${this.#machine.handle} ${this.sent.length}`);
      await this.#machine.does("inbox", "--unread", "--mark-read");
      await sleep(PAUSE_MS);
    }
  }

  /** Whether it went out; safe mode is the only reason why not. */
  async say(subject: string): Promise<boolean> {
    const { code, stdout, stderr } = await this.#machine.begin("send", subject).ended;
    expect([0, REFUSED], stdout + stderr).toContain(code);
    if (code === 0) this.sent.push(subject);
    else this.refused += 1;
    return code === 0;
  }
}

const isSafe = async (machine: MachineAlone): Promise<boolean> =>
  (JSON.parse(await machine.does("status", "--json")) as { safe_mode: unknown }).safe_mode !== null;

test.for(["folder", "git"] as const)(
  "half an hour over %s, an incident unacked for a quarter of it: all goes on after the late ack",
  async (way, { skip }) => {
    skip(
      process.env["DEADDROP_NIGHTLY"] !== "1",
      "it takes half an hour: DEADDROP_NIGHTLY is not 1",
    );
    const { machines } = await hostsOf(way, [["forge"], ["scribe"]]);
    const [forge, scribe] = machines as [MachineAlone, MachineAlone];
    const reason = ["--yes", "--reason", "a test"];
    // Safe mode is for those who trust the author.
    await scribe.does("trust", "promote", "forge", "--to", "ATTESTED", ...reason);
    for (const machine of machines) await running(machine);
    const agents = machines.map((machine) => new Agent(machine)) as [Agent, Agent];
    let isOver = false;
    const talks = agents.map((agent) => agent.talk(() => isOver));

    await sleep(4 * MINUTE_MS);
    const raised = await forge.does(
      "incident",
      "raise",
      "main is broken",
      "--severity",
      "high",
      "--json",
    );
    const [{ event_id: incident }] = (JSON.parse(raised) as { messages: [{ event_id: string }] })
      .messages;
    await sleep(15 * MINUTE_MS);
    for (const machine of machines) expect(await isSafe(machine), machine.handle).toBe(true);
    expect(agents.every(({ refused }) => refused > 0)).toBe(true);

    await scribe.does("incident", "ack", incident);
    for (const [at, machine] of machines.entries()) {
      await until(`${machine.handle} goes on`, async () => !(await isSafe(machine)));
      expect(await agents[at]?.say("after the ack")).toBe(true);
    }
    await sleep(11 * MINUTE_MS);
    isOver = true;
    await Promise.all(talks);

    const [fromForge, fromScribe] = agents;
    for (const [machine, { sent }] of [
      [scribe, fromForge],
      [forge, fromScribe],
    ] as const) {
      const said = async () => (await subjects(machine)).filter((each) => sent.includes(each));
      await until(`${machine.handle} has all`, async () => (await said()).length >= sent.length);
      expect((await said()).toSorted()).toEqual(sent.toSorted());
      await machine.does("audit");
    }
  },
);
