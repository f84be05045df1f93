import { amount, type Plan } from "../plan.ts";
import { rowAlone, type Row } from "../row.ts";
import { cpuMsOf, hasProc, pause, sleepsOf, startReady } from "../stage/processes.ts";
import { makeWire, peerNames, READER } from "../stage/wire.ts";

const PEERS = [8, 12] as const;
/** After three beats in the tier of an active agent it beats as an idle one: that is what is measured. */
const SETTLE_MS = 400_000;
const MINUTE_MS = 60_000;
const BARE = "setInterval(() => undefined, 30_000); process.stdout.write('ready');";

/** P10: daemons with 8 and 12 peers while nothing arrives, less what a Node process with a timer does. */
export async function benchIdle(plan: Plan): Promise<Row[]> {
  if (!hasProc) return [{ id: "P10", what: "idle daemon", skipped: "there is no /proc" }];
  const wires = PEERS.map((peers) => makeWire(peerNames(peers)));
  const daemons = await Promise.all(wires.map((wire) => wire.startDaemon(READER)));
  const bare = await startReady(["-e", BARE]);
  try {
    await pause(amount(plan, SETTLE_MS, 3_000));
    const all = [bare, ...daemons];
    const before = all.map(({ pid }) => seen(pid));
    const idleMs = amount(plan, plan.idleSeconds * 1_000, 2_000);
    await pause(idleMs);
    const [theirs, ...ours] = all.map(({ pid }, at) => {
      const now = seen(pid);
      return { cpuMs: now.cpuMs - before[at]!.cpuMs, sleeps: now.sleeps - before[at]!.sleeps };
    });
    return ours.flatMap(({ cpuMs, sleeps }, at) => {
      const what = `idle daemon, ${PEERS[at]} peers, ${idleMs / 1_000} s`;
      const share = (100 * (cpuMs - theirs!.cpuMs)) / idleMs;
      const wakes = ((sleeps - theirs!.sleeps) * MINUTE_MS) / idleMs;
      const row = { id: "P10" } as const;
      return [
        rowAlone(
          { ...row, what: `${what}: CPU over a bare Node`, unit: "%", target: { atMost: 0.1 } },
          [{ value: share }],
        ),
        rowAlone({ ...row, what: `${what}: wake-ups a minute`, unit: "", target: { atMost: 12 } }, [
          { value: wakes },
        ]),
      ];
    });
  } finally {
    await bare.stop();
    await Promise.all(daemons.map((daemon) => daemon.stop()));
    for (const wire of wires) wire.close();
  }
}

function seen(pid: number): { readonly cpuMs: number; readonly sleeps: number } {
  return { cpuMs: cpuMsOf(pid) ?? 0, sleeps: sleepsOf(pid) };
}
