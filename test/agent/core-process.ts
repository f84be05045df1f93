// An agent of a wire in a folder, as a process that can be killed. Arguments: the wire's folder, its home, its
// name, the name of the other one, "say" or "rest". It says numbered things in its rounds and prints the id of
// each that is committed; at rest it takes part for some rounds, and prints what its store holds as JSON.
import { writeSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as after } from "node:timers/promises";
import { Core } from "../../src/agent/core.ts";
import { readMark, writeMark } from "../../src/agent/lines/mark.ts";
import { DEFAULT_HEARTBEAT_TIERS } from "../../src/trust/policy/heartbeat-tiers.ts";
import { FolderTransport } from "../../src/carriers/folder.ts";
import { nodeDisk } from "../../src/storage/disk/node-disk.ts";
import { Store } from "../../src/store/store.ts";
import { DEFAULT_LIMITS } from "../../src/wire/limits.ts";
import { corePlace, verifyAll, wireLayout } from "../support/core-wire.ts";

const [wireDir = "", home = "", name = "", other = "", what = ""] = process.argv.slice(2);
const names = [name, other].toSorted();
const disk = nodeDisk({ wireDir });
const markPath = join(home, "mark");
if (disk.stat(markPath) === undefined) writeMark(disk, markPath, { seq: 0, id: null });

const clock = {
  wallMs: () => Date.now(),
  micros: () => 0,
  monoMs: () => performance.now(),
  nextTurn: () => new Promise<void>((done) => setImmediate(done)),
};
const tiers = DEFAULT_HEARTBEAT_TIERS;
const layout = wireLayout(name, names);
const place = {
  ...corePlace(name, names),
  ...{ markPath, inboxPath: join(home, "inbox.jsonl") },
  limits: { ...DEFAULT_LIMITS, rate_limit_msg_per_min: 1_000_000 },
  tiers: { ...tiers, cadencesMs: { ...tiers.cadencesMs, T1_active: 50, T3_long_idle: 1_000 } },
};
const store = Store.open(join(home, "store.db"));
const world = { disk, clock, verifyAll, random: Math.random };
const core = new Core(world, place, store, readMark(disk, markPath));
core.use([
  new FolderTransport({
    ...{ disk, wireDir, mode: 0o600, ours: core.ours, layout: () => layout },
    world: { clock, after: () => () => undefined, watch: () => () => undefined },
  }),
]);

if (what === "say") {
  for (let turn = 1; ; turn += 1) {
    while (await core.round());
    const some = Array.from({ length: turn % 3 }, (_, at) => `${turn} ${at}`);
    const drafts = some.map((subject) => ({ to: [other], type: "ship", subject, body: "" }));
    const sent = core.send(drafts);
    if (sent.is === "sent") for (const { id } of sent.lines) writeSync(1, `${id}\n`);
    else if (sent.is !== "not ready") throw new Error(`not sent: ${sent.is}`);
    if (turn % 2 === 0) core.publish();
  }
}
for (let turn = 0; turn < 10; turn += 1) {
  while (await core.round());
  await after(20);
}
const { readiness } = core;
const mail = store.mail.after({}, 0, 100_000).map((n) => store.line(n)?.id);
const forks = names.map((author) => store.chains.whole(author).fork);
const own = store.chains.whole(name);
const mark = readMark(disk, markPath);
core.close();
writeSync(1, JSON.stringify({ readiness, mail, forks, own: [own.seq, own.id], mark }));
