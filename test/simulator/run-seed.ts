import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Broken } from "./checks/broken.ts";
import { checkFinale } from "./checks/finale.ts";
import { Luck } from "./luck.ts";
import { ACTS, MEMBER_ACTS, type Act } from "./stage/acts.ts";
import { Stage } from "./stage/stage.ts";
import { TROUBLES } from "./stage/troubles.ts";

export interface Run {
  readonly seed: number;
  readonly steps: number;
  /** Only these steps are made; undefined: all of them. */
  readonly only?: ReadonlySet<number>;
}

export interface Figures {
  readonly steps: number;
  readonly acknowledged: number;
  readonly delivered: number;
  readonly decisions: number;
  /** Processes that died, in a fault or of a kill, and power cuts. */
  readonly crashes: number;
  readonly powerCuts: number;
}

export interface Failure {
  readonly seed: number;
  /** The step after which it was seen; as many as there are: at the end of all. */
  readonly step: number;
  /** The promise, or "fault" for an error of our own. */
  readonly kind: string;
  readonly text: string;
  readonly stack: string;
  /** The names of all steps that were made, by number. */
  readonly told: ReadonlyMap<number, string>;
}

export type Outcome =
  | { readonly ok: true; readonly figures: Figures }
  | { readonly ok: false; readonly failure: Failure };

/** Disks are only as slow as they have to be: a power cut is played, not waited for. */
const MEMORY = "/dev/shm";

/** Plays one seed to its end or to the first promise that is broken. */
export async function runSeed({ seed, steps, only }: Run): Promise<Outcome> {
  const told = new Map<number, string>();
  let step = 0;
  const root = mkdtempSync(join(existsSync(MEMORY) ? MEMORY : tmpdir(), "deaddrop-sim-"));
  const luck = new Luck(seed);
  luck.beginStep(-1);
  let stage: Stage | undefined;
  try {
    stage = new Stage(root, luck);
    await stage.settle(2, 1_000);
    for (; step < steps; step += 1) {
      if (only !== undefined && !only.has(step)) continue;
      luck.beginStep(step);
      told.set(step, await oneStep(stage));
      stage.look();
    }
    luck.beginStep(steps);
    await stage.calm();
    checkFinale(stage);
    return { ok: true, figures: figuresOf(stage, steps) };
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    const kind = error instanceof Broken ? error.promise : "fault";
    const stack = (error instanceof Error ? error.stack : undefined) ?? "";
    return { ok: false, failure: { seed, step, kind, text, stack, told } };
  } finally {
    stage?.wire.close();
    rmSync(root, { recursive: true, force: true });
  }
}

async function oneStep(stage: Stage): Promise<string> {
  const { luck, hostile, plain, cast } = stage;
  const agent = luck.pick(stage.agents);
  const happens = luck.weighted([
    [36, "act"],
    [14, "trouble"],
    [hostile === undefined ? 0 : 8, "mischief"],
    [plain === undefined ? 0 : 8, "plain"],
  ]);
  if (happens === "mischief" && hostile !== undefined) return `eve ${hostile.act()}`;
  if (happens === "plain" && plain !== undefined) {
    const deed = luck.pick(["say", "ask", "answer", "answer"] as const);
    plain[deed]();
    return `ann: ${deed}`;
  }
  const acts = cast.newcomer === undefined ? ACTS : [...ACTS, ...MEMBER_ACTS];
  const from = happens === "trouble" ? TROUBLES : acts;
  const [name, act] = luck.weighted<readonly [string, Act]>(
    from.map(([weight, named, each]) => [weight, [named, each]]),
  );
  const end = await stage.attempt(agent, () => act(stage, agent));
  return `${agent.name} ${name}${end}`;
}

function figuresOf(stage: Stage, steps: number): Figures {
  const { said, asked, agents, crashes, powerCuts } = stage;
  const delivered = agents.map(({ core }) => core.store.mail.after({}, 0, 100_000).length);
  const [first] = agents;
  const approved = asked.filter(({ line }) =>
    first?.core.store.asks
      .ofThread(line.thread, 100)
      .some(({ ask, state }) => ask.place.id === line.id && state === "approved"),
  );
  return {
    ...{ steps, acknowledged: said.length, decisions: approved.length, crashes, powerCuts },
    delivered: delivered.reduce((sum, count) => sum + count, 0),
  };
}
