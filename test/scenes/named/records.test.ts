import { expect, test } from "vitest";
import {
  ack,
  causesOf,
  expectSameEverywhere,
  MINUTE,
  propose,
  SECOND,
  statusOf,
} from "../../support/scripts/proposal-scene.ts";
import { checkedScenes } from "../../support/scenes/scene-checks.ts";
import { SimulatedWire, type SceneOptions } from "../../support/scenes/simulated-wire.ts";

// Each of these holds live, and once more at its end: by a new store, and by an audit of the carriers alone,
// which finds wrong what the scene says and nothing else.
const sceneOf = checkedScenes("replay and audit");

const DECISIONS = "decisions.jsonl";

interface Unrecorded {
  readonly wire: SimulatedWire;
  readonly id: string;
  /** Whoever keeps everybody from recording: the lock of decisions.jsonl is theirs. */
  readonly holder: { close(): void };
}

/** Forge's proposal is ratified, and nobody has recorded it yet. */
async function unrecorded(options: SceneOptions = {}, makeScene = sceneOf): Promise<Unrecorded> {
  const wire = makeScene(["forge", "quill", "scribe"], { ...options });
  await wire.start();
  const holder = wire.lock(DECISIONS);
  const id = await propose(wire, "forge", ["scribe"], "Use tabs");
  await wire.pass(5 * SECOND);
  await ack(wire, "scribe", id);
  await wire.pass(5 * SECOND);
  expect(await statusOf(wire, "quill", id)).toBe("ratified");
  expect(wire.lines(DECISIONS)).toEqual([]);
  return { wire, id, holder };
}

/** The line that forge's daemon writes there, told by the same scene with nothing in its way. */
async function trueEntry(): Promise<string> {
  const unchecked = (roster: readonly string[], options?: SceneOptions): SimulatedWire =>
    new SimulatedWire(roster, options);
  const { wire, holder } = await unrecorded({}, unchecked);
  holder.close();
  await wire.pass(MINUTE);
  const [line = ""] = wire.lines(DECISIONS);
  expect(JSON.parse(line)).toMatchObject({ decision: "Use tabs", recorded_by: "forge" });
  return line;
}

type Entry = Record<string, unknown>;

const placeOf = (id: string): unknown => ["forge", expect.any(Number), id];

interface Forgery {
  readonly what: string;
  /** By somebody who is pinned: operators are told, and an audit names it. */
  readonly signed: boolean;
  make(wire: SimulatedWire, whole: Entry): string;
}

const FORGERIES: readonly Forgery[] = [
  {
    what: "other words, signed by the party that acked",
    signed: true,
    make: (wire, whole) =>
      wire.sign("scribe", { ...bare(whole), decision: "Use spaces", recorded_by: "scribe" }),
  },
  {
    what: "the true words, signed by a member who is no party",
    signed: true,
    make: (wire, whole) => wire.sign("quill", { ...bare(whole), recorded_by: "quill" }),
  },
  {
    what: "the true words in the proposer's name, signed by another party",
    signed: true,
    make: (wire, whole) => wire.sign("scribe", bare(whole)),
  },
  {
    what: "other words under the recorder's own event id and signature",
    signed: false,
    make: (_wire, whole) => JSON.stringify({ ...whole, decision: "Use spaces" }),
  },
  {
    what: "the true words and event id with a signature of something else",
    signed: false,
    make: (wire, whole) => {
      const { signature } = JSON.parse(wire.sign("forge", { something: "else" })) as Entry;
      return JSON.stringify({ ...whole, signature });
    },
  },
  {
    what: "the true words, signed by nobody",
    signed: false,
    make: (_wire, whole) => JSON.stringify(bare(whole)),
  },
];

/** An entry without what its recorder's signature adds. */
function bare(whole: Entry): Entry {
  const { event_id: _id, public_key_id: _key, signature: _signature, ...fields } = whole;
  return fields;
}

for (const { what, signed, make } of FORGERIES) {
  test(`a forged entry in decisions.jsonl with the right ids (${what}): it is never in force, and the true one is recorded`, async () => {
    const whole = await trueEntry();
    const { wire, id, holder } = await unrecorded(
      signed ? { violations: { decision_unproved: 1 } } : {},
    );
    const forged = make(wire, JSON.parse(whole) as Entry);
    expect(JSON.parse(forged)).toMatchObject({ proposal: placeOf(id) });
    wire.append(DECISIONS, `${forged}\n`);
    await wire.settle();
    for (const viewer of wire.roster) {
      const view = await wire.agent(viewer).view("decisions", undefined);
      expect(view.in_force, viewer).toEqual([]);
      expect(view.unproved, viewer).toHaveLength(1);
      expect(await causesOf(wire, viewer)).toEqual(signed ? ["decision_unproved"] : []);
    }
    holder.close();
    await wire.pass(MINUTE);
    expect(wire.lines(DECISIONS)).toEqual([forged, whole]);
    for (const viewer of wire.roster) {
      const view = await wire.agent(viewer).view("decisions", undefined);
      expect(view.in_force, viewer).toMatchObject([
        { proposal: placeOf(id), decision: "Use tabs" },
      ]);
      expect(view.unproved, viewer).toHaveLength(1);
    }
    await expectSameEverywhere(wire);
  });
}

for (const recorder of ["forge", "scribe"]) {
  const who = recorder === "forge" ? "it comes back" : "another party takes over";
  const dead = recorder === "forge" ? [] : ["forge"];

  test(`a recorder dies before the newline of decisions.jsonl, and ${who}: the entry is ended and stands once`, async () => {
    const whole = await trueEntry();
    const { wire, id } = await diedRecording(whole, recorder);
    expect(wire.read(DECISIONS)).toBe(`${whole}\n`);
    await expectRecordedOnce(wire, id, dead);
  });

  test(`a recorder dies in the middle of its line of decisions.jsonl, and ${who}: the piece is kept, and there is one entry`, async () => {
    const whole = await trueEntry();
    const piece = whole.slice(0, whole.length / 2);
    const { wire, id } = await diedRecording(piece, recorder);
    const [first, second = "", ...more] = wire.lines(DECISIONS);
    expect(first).toBe(piece);
    expect(JSON.parse(second)).toMatchObject({ proposal: placeOf(id), recorded_by: recorder });
    expect(more).toEqual([]);
    await expectRecordedOnce(wire, id, dead);
  });
}

/** Forge dies having written that much of its entry; then somebody has time to record it. */
async function diedRecording(
  written: string,
  recorder: string,
): Promise<{ wire: SimulatedWire; id: string }> {
  const { wire, id, holder } = await unrecorded();
  wire.kill("forge");
  wire.append(DECISIONS, written);
  holder.close();
  if (recorder === "forge") await wire.start("forge");
  await wire.pass(10 * MINUTE);
  return { wire, id };
}

async function expectRecordedOnce(
  wire: SimulatedWire,
  id: string,
  dead: readonly string[],
): Promise<void> {
  const { length: count } = wire.lines(DECISIONS);
  for (const viewer of wire.roster.filter((each) => !dead.includes(each))) {
    expect((await wire.outcome(viewer)).recorded, viewer).toEqual([id]);
    const told = await causesOf(wire, viewer);
    expect(told.filter((cause) => cause !== "peer_silent")).toEqual([]);
  }
  if (dead.length > 0) await wire.start(...dead);
  await wire.pass(15 * MINUTE);
  expect(wire.lines(DECISIONS)).toHaveLength(count);
  await expectSameEverywhere(wire);
}
