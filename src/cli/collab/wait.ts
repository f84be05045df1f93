import { readHead } from "../../collab/folder/read-round.ts";
import { waitTurn, checkParticipant, type WatchFolder } from "../../collab/folder/wait-turn.ts";
import { changeWatched } from "../../collab/folder/watched-rounds.ts";
import { watchFolder } from "../../daemon/folder-events.ts";
import { sanitise } from "../../framing/sanitise.ts";
import { filesystemKind } from "../../storage/disk/fs-kind.ts";
import { SECOND_MS } from "../../wire/durations.ts";
import { agentPlace } from "../agent-place.ts";
import { define } from "../command.ts";
import { withClient } from "../context.ts";
import { emit } from "../output/output.ts";
import { showNext } from "./look.ts";
import { needed, onRound, PARTICIPANT_OPTIONS, secondsFrom } from "./round-command.ts";

const TIMED_OUT = 1;
/** In schema 1; a round of schema 2 is waited for without end. Spec 6.3. */
const USUAL_TIMEOUT_S = 1_800;
const USUAL_INTERVAL_S = 5;
const LEAST_INTERVAL_S = 0.1;
/** Node fires a longer timer at once. */
const LONGEST_TIMER_S = 2_000_000;

/** `deaddrop collab wait`: until it is a participant's turn, or the round has ended. Spec 6.3. */
export const wait = define({
  about: "wait until it is a participant's turn, or the round has ended; exit code 1: timeout",
  options: {
    ...PARTICIPANT_OPTIONS,
    "--timeout <seconds>": `defaults to ${USUAL_TIMEOUT_S} seconds in schema 1, to 0 in schema 2; 0 for no timeout`,
    "--interval <seconds>": "how often to look where the filesystem has no events",
  },
  run: (cli, flags) =>
    onRound(cli, flags, async (place) => {
      const { disk, folder, schema } = place;
      const participant = needed("--participant", flags.participant);
      const { interval: asked = String(USUAL_INTERVAL_S) } = flags;
      const interval = secondsFrom("--interval", asked, LEAST_INTERVAL_S);
      const usual =
        readHead(disk, folder, schema).round.protocol.schema === 1 ? USUAL_TIMEOUT_S : 0;
      const timeout = secondsFrom("--timeout", flags.timeout ?? String(usual), 0);
      const timeoutMs =
        timeout === 0 || timeout > LONGEST_TIMER_S ? undefined : timeout * SECOND_MS;
      const say = (line: string): void => {
        if (flags.json !== true) cli.stdout.write(`${sanitise(line)}\n`);
      };
      const watch = watcherFor(folder, interval * SECOND_MS);
      const end = await waitTurn(disk, watch, { folder, participant, schema, timeoutMs, say });
      if (!end.ready) {
        cli.stderr.write(`timeout: ${sanitise(end.reason)}\n`);
        cli.exitCode = TIMED_OUT;
        return;
      }
      say(`ready: ${end.reason}`);
      showNext(cli, flags, place, participant);
    }),
});

/** By events of the filesystem; where it has none, by looking from time to time. */
function watcherFor(folder: string, intervalMs: number): WatchFolder {
  if (!filesystemKind(folder).events) {
    return (_folder, changed) => {
      const timer = setInterval(changed, intervalMs);
      return { close: () => clearInterval(timer) };
    };
  }
  // A folder that cannot be watched is retried automatically, and looked at each time.
  return (path, changed) =>
    watchFolder(path, { below: [], report: changed, onError: () => undefined });
}

/** `deaddrop collab watch`: the daemon tells the agent, once, when its turn has come. Spec 6.3. */
export const watch = define({
  about: "have your daemon tell you, once, when it is your turn",
  options: { ...PARTICIPANT_OPTIONS, "--end": "watch it no longer" },
  run: (cli, flags) =>
    onRound(cli, flags, async ({ disk, folder }) => {
      const participant = needed("--participant", flags.participant);
      const isWatched = flags.end !== true;
      if (isWatched) checkParticipant(readHead(disk, folder).round.protocol, participant);
      const { paths } = agentPlace(cli, flags).place;
      const real = disk.stat(folder) === undefined ? folder : disk.realPath(folder);
      const changed = changeWatched(disk, paths.rounds, { folder: real, participant }, isWatched);
      const viaDaemon = await withClient(cli, flags, async (client) => {
        if (client.viaDaemon) await client.ask("rounds");
        return client.viaDaemon;
      });
      const data = { folder: real, participant, watched: isWatched, changed, daemon: viaDaemon };
      emit(cli, flags, data, () => {
        const what = isWatched ? "is watched" : "is no longer watched";
        const none = viaDaemon || !isWatched ? "" : "\nNo daemon runs: you are told once one does.";
        return `${sanitise(real)} ${what}${none}`;
      });
    }),
});
