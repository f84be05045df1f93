import { actsOf } from "./stage/acts.ts";
import { Broken } from "./checks/broken.ts";
import { checkFinale } from "./checks/finale.ts";
import { PLAIN_MISCHIEF } from "./stage/hostile-plain.ts";
import { MISCHIEF } from "./stage/hostile.ts";
import { PLAIN_DEEDS } from "./stage/plain-member.ts";
import { beginPlay, look, ringOnce, type Play } from "./play.ts";
import { CLAIM_MISCHIEF } from "./stage/claim-deeds.ts";
import { SEEDS_WITHOUT_CLAIMS, SEEDS_WITHOUT_REQUESTS } from "./stage/cast.ts";
import { REQUEST_DEEDS, REQUEST_MISCHIEF } from "./stage/request-deeds.ts";
import { others } from "./stage/sending.ts";
import { comeBack, troublesOf } from "./stage/troubles.ts";

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
  readonly mostOperations: number;
}

export interface Failure {
  readonly seed: number;
  /** The step after which it was seen; as many as there are: at the end of all. */
  readonly step: number;
  /** "promise 3", or "fault" for an error of our own. */
  readonly kind: string;
  readonly text: string;
  readonly stack: string;
  /** The names of all steps that were made, by number. */
  readonly told: ReadonlyMap<number, string>;
}

export type Outcome =
  | { readonly ok: true; readonly figures: Figures }
  | { readonly ok: false; readonly failure: Failure };

/** Plays one seed to its end or to the first promise that is broken. */
export async function runSeed({ seed, steps, only }: Run): Promise<Outcome> {
  const told = new Map<number, string>();
  let step = 0;
  try {
    const play = beginPlay(seed);
    for (const member of play.honest) await play.stage.start(member);
    for (; step < steps; step += 1) {
      if (only !== undefined && !only.has(step)) continue;
      play.luck.beginStep(step);
      told.set(step, await oneStep(play));
      look(play);
      play.stage.watch(() => watcherDelays(play));
    }
    play.luck.beginStep(steps);
    await checkFinale(play);
    const { ledger, inboxes, shared, mostOperations } = play;
    const { acknowledged } = ledger;
    const decisions = Math.max(...[...shared.values()].map(({ recorded }) => recorded.size));
    const { delivered } = inboxes;
    const { crashes, powerCuts } = play.stage;
    const figures = {
      ...{ steps, acknowledged, delivered, decisions },
      ...{ crashes, powerCuts, mostOperations },
    };
    return { ok: true, figures };
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    const kind = error instanceof Broken ? `promise ${error.promise}` : "fault";
    const stack = (error instanceof Error ? error.stack : undefined) ?? "";
    return { ok: false, failure: { seed, step, kind, text, stack, told } };
  }
}

/** Some of what the watcher should say it says late, twice or never. */
function watcherDelays({ luck }: Play): number[] {
  const delay = (): number => luck.between(0, 120);
  return luck.weighted([
    [70, [delay()]],
    [15, [delay(), delay() + 40]],
    [15, []],
  ]);
}

async function oneStep(play: Play): Promise<string> {
  const { luck, hostile, plain } = play;
  const withRequests = play.seed > SEEDS_WITHOUT_REQUESTS;
  const what = luck.weighted([
    [60, "time"],
    [24, "act"],
    [2.5, "trouble"],
    [3.5, "return"],
    [hostile === undefined ? 0 : 10, "mischief"],
    [plain === undefined ? 0 : 10, "plain deed"],
  ]);
  const who = luck.pick(play.honest);
  if (what === "act" && others(play, who).length === 0) return `${who.handle} is alone`;
  if (what === "act") {
    const act = luck.weighted(actsOf(play.seed));
    await act(play, who);
    return `${who.handle} ${act.name}`;
  }
  if (what === "trouble") {
    const trouble = luck.weighted(troublesOf(play.seed));
    await trouble(play, who);
    return `${who.handle} ${trouble.name}`;
  }
  if (what === "return") {
    await comeBack(play);
    return "whoever is down comes back";
  }
  if (what === "mischief" && hostile !== undefined) {
    const mischief = luck.weighted([
      ...MISCHIEF,
      ...PLAIN_MISCHIEF,
      ...(withRequests ? REQUEST_MISCHIEF : []),
      ...(play.seed > SEEDS_WITHOUT_CLAIMS ? CLAIM_MISCHIEF : []),
    ]);
    mischief(play, hostile);
    return `${hostile.handle} ${mischief.name}`;
  }
  if (what === "plain deed" && plain !== undefined) {
    const deed = luck.weighted([...PLAIN_DEEDS, ...(withRequests ? REQUEST_DEEDS : [])]);
    deed(play, plain);
    return deed.name;
  }
  await ringOnce(play);
  return "time";
}
