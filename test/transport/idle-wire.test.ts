import { expect, it } from "vitest";
import { Luck } from "../simulator/stage/luck.ts";
import { Stage } from "../simulator/stage/stage.ts";

const HOUR_MS = 3_600_000;
const HOURS = 3;
const HANDLES = ["forge", "scribe"];
/** Each daemon beats three times an hour when nothing happens. Spec 3.1. */
const BEATS_AN_HOUR = 3;

/** Two hosts on a network that is well, after what they have to say of their start. */
async function idleHosts(): Promise<Stage> {
  const groups = HANDLES.map((handle) => [handle]);
  const stage = new Stage(HANDLES, {}, new Luck(1), { groups });
  stage.isCalm = true;
  if (stage.remote !== undefined) stage.remote.isCalm = true;
  for (const handle of HANDLES) await stage.start(stage.member(handle));
  await stage.pass(HOUR_MS);
  return stage;
}

function beatsOf(stage: Stage, handle: string): number {
  const logs = stage.logs.filter(({ owner }) => owner === handle);
  const texts = logs.map((log) => stage.home(log).text(stage.path(log)));
  return texts.join("").split('"type":"heartbeat"').length - 1;
}

it("an idle wire makes no push but one for each heartbeat, and it carries nothing else", async () => {
  const stage = await idleHosts();
  const pushes = stage.remote?.pushes ?? [];
  const before = { pushes: pushes.length, beats: HANDLES.map((each) => beatsOf(stage, each)) };
  await stage.pass(HOURS * HOUR_MS);
  const made = pushes.slice(before.pushes);
  const beats = HANDLES.map((each, at) => beatsOf(stage, each) - (before.beats[at] ?? 0));
  // The cadence varies by a twentieth.
  for (const count of beats) expect(count).toBeLessThanOrEqual(HOURS * BEATS_AN_HOUR * 1.06 + 1);
  HANDLES.forEach((handle, at) => {
    const own = made.filter((paths) => paths.includes(`${handle}_to_${other(handle)}.jsonl`));
    expect(own.length).toBeGreaterThan(0);
    expect(own.length).toBeLessThanOrEqual(beats[at] ?? 0);
  });
  const carried = new Set(made.flat());
  const expected = HANDLES.flatMap((each) => [
    `${each}_to_${other(each)}.jsonl`,
    `${each}_state.json`,
  ]);
  expect([...carried].filter((path) => !expected.includes(path))).toEqual([]);
  expect(made.filter((paths) => !paths.some((path) => path.endsWith(".jsonl")))).toEqual([]);
});

function other(handle: string): string {
  return HANDLES.find((each) => each !== handle) ?? "";
}
