import { readFileSync } from "node:fs";
import { DatabaseSync } from "@photostructure/sqlite";
import { afterEach, expect, it } from "vitest";
import { brokenPlaces } from "../support/chain-check.ts";
import { makeWire, removeWires, type Line, type LiveWire } from "../support/processes/live-wire.ts";
import { until, type Started } from "../support/processes/real-processes.ts";
import { settableClock } from "../support/processes/settable-clock.ts";

const HOUR_MS = 3_600_000;
const CADENCE_SECONDS = 1;
const WATCHED_BEATS = 4;
/** How long before its end the year is joined: a beat of that time has to stand in the log. */
const YEAR_LEFT_MS = 9_000;
const LOG = "forge_to_scribe";

afterEach(removeWires);

const beats = (wire: LiveWire) =>
  wire.lines(`${LOG}.jsonl`).filter(({ type }) => type === "heartbeat").length;

/**
 * Sends both ways, and looks whether beats go on and keep their pace: a machine that is slow makes
 * fewer of them, never more.
 */
async function watch(wire: LiveWire, subject: string): Promise<void> {
  const before = beats(wire);
  const beganMs = performance.now();
  await wire.json("forge", "send", subject);
  await wire.json("scribe", "send", subject);
  for (const handle of ["forge", "scribe"]) {
    await until(`${handle} has "${subject}"`, () =>
      wire.privateLines(handle, "inbox").some((line) => line.subject === subject),
    );
  }
  await until("beats go on", () => beats(wire) >= before + WATCHED_BEATS);
  const made = beats(wire) - before;
  const cadences = (performance.now() - beganMs) / (CADENCE_SECONDS * 1_000);
  // What has arrived brings a beat forward, here at most one a message.
  expect(made).toBeLessThanOrEqual(cadences * 1.1 + 3);
}

/**
 * Sets the clock in a moment in which each daemon has taken in all that the other has written. A line
 * that is read only after the clock was set back is dated ahead, and waits a quarter of an hour.
 */
async function setClock(
  wire: LiveWire,
  daemons: Readonly<Record<string, Started>>,
  set: () => void,
): Promise<void> {
  const isTakenIn = (): boolean =>
    ["forge", "scribe"].every((reader) => {
      const author = reader === "forge" ? "scribe" : "forge";
      const said = wire.lines(`${author}_to_${reader}.jsonl`);
      const held = idsHeld(wire, reader);
      return said.every((line) => line.seq === undefined || held.has(line.event_id));
    });
  await until("each has taken in what the other wrote", async () => {
    for (const { child } of Object.values(daemons)) child.kill("SIGSTOP");
    await until("both are stopped", () => Object.values(daemons).every(isStopped));
    const isNow = isTakenIn();
    if (isNow) set();
    for (const { child } of Object.values(daemons)) child.kill("SIGCONT");
    return isNow;
  });
}

/** Of all lines that an agent holds, read beside its daemon. */
function idsHeld(wire: LiveWire, handle: string): ReadonlySet<string> {
  const database = new DatabaseSync(wire.paths(handle).store, { readOnly: true });
  try {
    const rows = database.prepare("select lower(hex(id)) as id from lines").all();
    return new Set(rows.map((row) => String(row["id"])));
  } finally {
    database.close();
  }
}

function isStopped({ pid }: Started): boolean {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  return stat.slice(stat.lastIndexOf(")") + 2).startsWith("T");
}

const timeOf = ({ timestamp }: Line) => Date.parse(String(timestamp));

it("the host's clock is set an hour ahead, back, an hour behind, and to the end of the year", async () => {
  const wire = makeWire({ cadenceSeconds: CADENCE_SECONDS });
  const clock = settableClock(wire);
  const daemons = {
    forge: await wire.daemon("forge", clock.daemonOptions),
    scribe: await wire.daemon("scribe", clock.daemonOptions),
  };
  const year = new Date().getUTCFullYear();
  const beforeYearEndMs = () => Date.UTC(year + 1, 0, 1) - Date.now() - YEAR_LEFT_MS;
  const settings: [string, () => number][] = [
    ["as it is", () => 0],
    ["an hour ahead", () => HOUR_MS],
    ["an hour behind", () => -HOUR_MS],
    ["just before the year ends", beforeYearEndMs],
  ];
  for (const [subject, wrongMs] of settings) {
    await setClock(wire, daemons, () => clock.set(wrongMs()));
    await watch(wire, subject);
  }
  const stampsOf = () => wire.lines(`${LOG}.jsonl`).map(({ timestamp }) => String(timestamp));
  await until("the new year has begun", () =>
    stampsOf()
      .at(-1)
      ?.startsWith(`${year + 1}-01-01`),
  );
  for (const handle of ["forge", "scribe"]) {
    const subjects = wire.privateLines(handle, "inbox").map(({ subject }) => subject);
    expect(subjects).toEqual(settings.map(([subject]) => subject));
    expect(wire.privateLines(handle, "quarantine")).toEqual([]);
  }
  await until("the peer is online", async () => {
    const peers = await wire.json<{ presence: string }[]>("forge", "peers");
    return peers[0]?.presence === "online";
  });
  for (const daemon of Object.values(daemons)) {
    const told = daemon.log().filter(({ level }) => level > 30);
    // By receipt time (spec 3.1) an hour has passed: the peer counts as silent until its next beat.
    expect(told.filter(({ cause }) => cause !== "peer_silent")).toEqual([]);
    expect((await daemon.stop()).code).toBe(0);
  }

  expect(brokenPlaces(wire, "forge", `${LOG}.jsonl`)).toEqual([]);
  const lines = wire.lines(`${LOG}.jsonl`);
  // Spec 1.2: strictly increasing, but for a last line that is more than a minute ahead of the clock.
  const steps = lines.slice(1).map((line, at) => timeOf(line) - timeOf(lines[at] as Line));
  const backwards = steps.filter((step) => step < 0);
  expect(backwards).toHaveLength(1);
  expect(backwards[0]).toBeLessThan(-2 * HOUR_MS + 60_000);
  const stamps = stampsOf();
  expect(new Set(stamps).size).toBe(stamps.length);
  expect(stamps.at(-1)?.startsWith(`${year + 1}-01-01T00:`)).toBe(true);
  expect(stamps.some((stamp) => stamp.startsWith(`${year}-12-31T23:59:5`))).toBe(true);
});
