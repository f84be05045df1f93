import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DeaddropError } from "../../api/errors.ts";
import { define } from "../command.ts";
import type { Cli } from "../context.ts";
import { DemoFailure, Stage } from "../demo/stage.ts";
import { playStory } from "../demo/story.ts";
import { painter } from "../output/output.ts";

/** Two agents and two daemons on this machine, for real. Spec 8.6. */
export const demo = define({
  about:
    "Shows it on this machine, in a temporary folder with a home of its own: two agents, two " +
    "daemons, messages, a decision, an incident. Ends by itself and leaves nothing running.",
  run: playDemo,
});

/** The whole demo ends within this, one way or the other. */
const LIMIT_MS = 600_000;

async function playDemo(cli: Cli): Promise<void> {
  const paint = painter(cli.stdout, cli.env);
  const stage = new Stage(mkdtempSync(join(cli.env["TMPDIR"] ?? tmpdir(), "deaddrop-demo-")));
  const say = (line: string) => {
    cli.stdout.write(`${/^\d+\. /.test(line) ? paint("bold", line) : line}\n`);
  };
  const limit = new AbortController();
  try {
    say(`deaddrop demo, in ${stage.root}`);
    await Promise.race([
      playStory(stage, say),
      endsTooLate(limit.signal),
      interrupted(limit.signal),
    ]);
    farewell(stage, say);
  } catch (cause) {
    if (!(cause instanceof DemoFailure)) throw cause;
    throw new DeaddropError("refused", `the demo went wrong: ${cause.message}`, {
      hint: `what it left is in ${stage.root}; the daemons' logs are in ${join(stage.root, "logs")}`,
      cause,
    });
  } finally {
    limit.abort();
    await stage.close();
  }
}

function farewell(stage: Stage, say: (line: string) => void): void {
  say("");
  say("Nothing is left running. To look around:");
  say(
    `   ${stage.wireDir}   the wire: signed lines, decisions.jsonl, incident_log.jsonl, PROTOCOL.md`,
  );
  say(`   ${join(stage.root, "home")}   what each agent keeps to itself: key, pins, inbox, store`);
  say(`   ${join(stage.root, "logs")}   what the daemons logged`);
  say(`   rm -r ${stage.root}   when you have seen enough`);
  say("To begin for real: deaddrop init --me <handle> --peer <handle>");
}

function endsTooLate(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new DemoFailure(`it took longer than ${LIMIT_MS / 1_000} s`));
    }, LIMIT_MS);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
    });
  });
}

/** Ctrl-C ends the demo as a failure would: with its daemons stopped. */
function interrupted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const stop = () => {
      reject(new DemoFailure("it was interrupted"));
    };
    process.once("SIGINT", stop);
    process.once("SIGTERM", stop);
    signal.addEventListener("abort", () => {
      process.off("SIGINT", stop);
      process.off("SIGTERM", stop);
    });
  });
}
