import { afterEach, expect, test } from "vitest";
import type {
  DecisionsView,
  MembersView,
  ObligationView,
  PeerView,
  ProposalView,
} from "../../src/api/views.ts";
import type { SendAnswer } from "../../src/api/client.ts";
import {
  makeWire,
  removeWires,
  type Daemon,
  type LiveWire,
} from "../support/processes/live-wire.ts";
import { until } from "../support/processes/real-processes.ts";

afterEach(removeWires);

interface Audit {
  readonly violations: readonly { readonly rule: string }[];
}

const YES = ["--yes", "--reason", "a test"];
const THREE = ["forge", "scribe", "mason"];

async function threeDaemons(): Promise<{ wire: LiveWire; daemons: Map<string, Daemon> }> {
  const wire = makeWire({ handles: THREE });
  const daemons = new Map<string, Daemon>();
  for (const handle of THREE) daemons.set(handle, await wire.daemon(handle));
  return { wire, daemons };
}

async function proposed(wire: LiveWire, by: string, ...args: string[]): Promise<string> {
  const { messages } = await wire.json<SendAnswer>(by, ...args);
  return messages[0]?.event_id ?? "";
}

/** The others accept it, as soon as they have it, and its proposer knows that it is ratified. */
async function agreeOn(
  wire: LiveWire,
  by: string,
  others: readonly string[],
  id: string,
): Promise<void> {
  for (const other of others) {
    await until(`${other} accepts`, async () => (await wire.run(other, "accept", id)).code === 0);
  }
  for (const each of [by, ...others]) {
    await until(`${each} knows that it is ratified`, async () => {
      const proposals = await wire.json<ProposalView[]>(each, "proposals");
      return proposals.some(
        ({ proposal_id, status }) => proposal_id === id && status === "ratified",
      );
    });
  }
}

async function stateOf(wire: LiveWire, who: string): Promise<string[]> {
  const { roster } = await wire.json<MembersView>(who, "member", "list");
  return roster.map(({ handle, is }) => `${handle} ${is}`);
}

/** Two operators compare digits by phone. */
async function compareDigits(wire: LiveWire, one: string, other: string): Promise<void> {
  const digits = async (self: string, peer: string): Promise<string | undefined> =>
    (await wire.json<{ digits: string | null }>(self, "trust", "sas", peer)).digits ?? undefined;
  const shown = await until(`${one} and ${other} have the same digits`, async () => {
    const [ours, theirs] = [await digits(one, other), await digits(other, one)];
    return ours === theirs ? ours : undefined;
  });
  await wire.json(one, "trust", "verify", other, shown, ...YES);
  await wire.json(other, "trust", "verify", one, shown, ...YES);
}

const decisionsOf = async (wire: LiveWire, who: string): Promise<string[]> =>
  (await wire.json<DecisionsView>(who, "decisions")).in_force.map(({ decision }) => decision);

test("an agent leaves, another one joins, and the daemons run on", async () => {
  const { wire, daemons } = await threeDaemons();
  const agreed = await proposed(
    wire,
    ...(["forge", "propose", "tabs", "We use tabs.", "--required", "scribe"] as const),
    ...["--required", "mason"],
  );
  await agreeOn(wire, "forge", ["scribe", "mason"], agreed);
  await until("it is recorded", async () => (await decisionsOf(wire, "forge")).length === 1);
  const before = await decisionsOf(wire, "forge");

  await wire.json("mason", "leave", ...YES);
  await daemons.get("mason")?.stop();
  expect(wire.lines("outbox/mason.jsonl").at(-1)).toMatchObject({
    type: "shutdown",
    body: { leave: true },
  });
  expect((await wire.run("mason", "send", "x", "y", "--to", "*")).stderr).toContain(
    "mason has left this wire",
  );
  expect((await wire.run("mason", "daemon", "--once")).code).toBe(2);
  expect(await stateOf(wire, "forge")).toEqual(["forge member", "scribe member", "mason left"]);
  const peers = await wire.json<PeerView[]>("forge", "peers");
  expect(peers.map(({ handle }) => handle)).toEqual(["scribe"]);

  const id = await proposed(wire, "forge", "member", "add", "quill");
  await agreeOn(wire, "forge", ["scribe"], id);
  for (const who of ["forge", "scribe"]) expect(await stateOf(wire, who)).toContain("quill member");
  await wire.json("quill", "join", "--me", "quill", "--accept-wire-trust");
  await wire.daemon("quill");
  for (const peer of ["forge", "scribe"]) await compareDigits(wire, "quill", peer);
  for (const who of ["forge", "scribe", "quill"]) {
    await until(`${who} knows the decisions`, async () =>
      (await decisionsOf(wire, who)).includes(before[0] ?? ""),
    );
    const audit = JSON.parse((await wire.run(who, "audit", "--json")).stdout) as Audit;
    // What mason had said before is no mail to a newcomer.
    const faults = audit.violations.filter(({ rule }) => who !== "quill" || rule !== "left_member");
    expect(faults).toEqual([]);
  }
  expect(await wire.json<ObligationView[]>("quill", "pending")).toEqual([]);
  await wire.json("quill", "send", "hello", "I am new.", "--to", "*");
  await until("forge has it", () =>
    wire.privateLines("forge", "inbox").some(({ subject }) => subject === "hello"),
  );
  for (const who of ["forge", "scribe"]) {
    expect(daemons.get(who)?.child.exitCode).toBeNull();
  }
});

test("a member whose machine is lost is removed by the others, and comes back with its own chain", async () => {
  const { wire, daemons } = await threeDaemons();
  await wire.json("mason", "send", "first", "words", "--to", "*", "--wait", "delivered");
  daemons.get("mason")?.child.kill("SIGKILL");
  await agreeOn(
    wire,
    "forge",
    ["scribe"],
    await proposed(wire, "forge", "member", "remove", "mason"),
  );
  expect(await stateOf(wire, "scribe")).toContain("mason left");
  await agreeOn(wire, "forge", ["scribe"], await proposed(wire, "forge", "member", "add", "mason"));
  await wire.daemon("mason");
  await until("mason knows that it is back", async () =>
    (await stateOf(wire, "mason")).includes("mason member"),
  );
  await wire.json("mason", "send", "second", "words again", "--to", "*", "--wait", "delivered");
  const said = wire.privateLines("forge", "inbox").filter(({ from }) => from === "mason");
  expect(said.map(({ subject }) => subject)).toEqual(["first", "second"]);
});
