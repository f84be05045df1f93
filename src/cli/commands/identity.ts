import { DeaddropError } from "../../api/errors.ts";
import type { WhoamiView } from "../../api/views.ts";
import { sanitise } from "../../framing/sanitise.ts";
import { claimFolder } from "../../setup/here/bind-folder.ts";
import { nodeDisk } from "../../storage/disk/node-disk.ts";
import { unbindFolder } from "../../storage/private/bound-folders.ts";
import { define } from "../command.ts";
import { localHandles, placesOf, whoHere, withClient, type Cli } from "../context.ts";
import { emit, factsTable } from "../output/output.ts";

/** Which identity the commands of this folder use. Spec 8.6. */
export const as = define({
  about:
    "Says who you are in this folder, and why. With a handle: from now on commands in this folder, " +
    "and in those below it, are of that identity, unless --as or DEADDROP_AS says otherwise.",
  args: { "[handle]": "an identity of yours" },
  options: {
    "--replace": "also when the folder is bound to another identity",
    "--forget": "bind this folder to nobody",
  },
  examples: ["deaddrop as forge", "deaddrop as"],
  run(cli, flags, { handle }) {
    const disk = nodeDisk();
    const places = placesOf(cli.env);
    const folder = disk.realPath(cli.cwd);
    if (flags.forget === true) {
      unbindFolder(disk, places, folder);
      emit(cli, flags, { folder, handle: null }, () => `${sanitise(folder)} is bound to nobody.`);
      return;
    }
    if (handle !== undefined) {
      refuseStranger(cli, handle);
      claimFolder(disk, places, { folder, handle }, { replaces: flags.replace === true });
    }
    const who = whoHere(cli, flags);
    emit(cli, flags, who, () => {
      const wanted = handle !== undefined && who.handle !== handle;
      const but = wanted ? `, and not ${handle}: that comes first` : "";
      return `You are ${who.handle} in ${sanitise(folder)}, by ${sanitise(who.by)}${but}.`;
    });
  },
});

export const whoami = define({
  about: "Says who you are, on which wire, and whether your daemon runs.",
  examples: ["deaddrop whoami --json"],
  async run(cli, flags) {
    const view = await withClient(cli, flags, (client) => client.view("whoami"));
    emit(cli, flags, view, (paint) =>
      factsTable(
        [
          ["handle", view.handle],
          ["key", view.key_id],
          ["wire", view.wire_dir],
          ["wire id", view.wire_id ?? "none"],
          ["roster", view.roster.join(", ")],
          ["daemon", daemonText(view)],
          ["inbox", view.inbox_path],
        ],
        paint,
      ),
    );
  },
});

/** An agent that has approved its shutdown goes on. Spec 3.8. */
export const wake = define({
  about:
    "Ends what the approval of a shutdown began: the daemon says again that the agent is there, " +
    "and new work is begun. What came meanwhile is in the inbox. It starts no agent.",
  args: { "[handle]": "an identity of this user (else your own)" },
  examples: ["deaddrop status wake", "deaddrop status wake scribe"],
  async run(cli, flags, { handle }) {
    if (handle !== undefined && !localHandles(cli.env).includes(handle)) {
      throw new DeaddropError("usage", `${handle} is no identity of this user`, {
        hint: `its operator wakes it, where it runs: deaddrop status wake --as ${handle}`,
      });
    }
    const who = handle === undefined ? flags : { ...flags, as: handle };
    await withClient(cli, who, async (client) => {
      const answer = await client.ask("wake");
      emit(cli, flags, answer, () =>
        answer.woken
          ? `${client.handle} goes on; what came meanwhile: deaddrop inbox --unread`
          : `${client.handle} is not parked.`,
      );
    });
  },
});

function refuseStranger(cli: Cli, handle: string): void {
  const handles = localHandles(cli.env);
  if (handles.includes(handle)) return;
  throw new DeaddropError("usage", `you have no identity "${handle}" on this machine`, {
    hint:
      handles.length === 0
        ? "make one with `deaddrop init` or `deaddrop join`"
        : `yours are ${handles.join(", ")}`,
  });
}

export function daemonText({ daemon }: WhoamiView): string {
  if (!daemon.running) return "not running";
  return daemon.pid === undefined ? "running" : `running, process ${daemon.pid}`;
}
