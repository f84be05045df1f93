import { changeWatched } from "../../collab/folder/watched-rounds.ts";
import { readHead } from "../../collab/folder/read-round.ts";
import { checkParticipant } from "../../collab/folder/wait-turn.ts";
import { sanitise } from "../../framing/sanitise.ts";
import { agentPlace } from "../agent-place.ts";
import { withClient, type Cli } from "../context.ts";
import { emit } from "../output/output.ts";
import { needed, onRound, type RoundFlags } from "./round-command.ts";

export interface WatchFlags extends RoundFlags {
  end?: boolean;
}

/** `deaddrop collab watch`: the daemon tells the agent, once, when its turn has come. Spec 6.3. */
export function watch(cli: Cli, flags: WatchFlags): Promise<void> {
  return onRound(cli, flags, async ({ disk, folder }) => {
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
  });
}
