import type { Disk } from "../storage/disk/disk.ts";
import type { Places } from "../storage/paths.ts";
import { isAgentHere } from "../storage/private/private-folders.ts";
import { sharingOf } from "../storage/sharing.ts";
import type { OwnLines, Transport, WireLayout } from "./carrier.ts";
import { FolderTransport, makeWireLayout, type Membership } from "./folder.ts";
import { GitShare } from "./git/git-share.ts";
import type { TransportWorld } from "./git/schedule.ts";
import { transportPaths } from "./transport-settings.ts";

/** What the carriers of a process need of the world. */
export interface CarriersWorld extends TransportWorld {
  readonly disk: Disk;
  /** Of our process; git gets a part of it. */
  readonly env: NodeJS.ProcessEnv;
  /** Calls back when a file of the wire's folder may have changed, with its name if that is known. */
  watch(listener: (name?: string) => void): () => void;
}

/** On which wire, where, and with whom. */
export interface CarriersPlace {
  readonly wireDir: string;
  /** The pinned id. */
  readonly wireId: string;
  /** What private folders of the wire are named by. */
  readonly wireKey: string;
  readonly places: Places;
  /** As it is now. */
  membership(): Omit<Membership, "handle">;
}

/** All places in which a wire is shared. */
export interface Carriers {
  /** The folder, and the repository while there is one: the same array, whatever the operator changes. */
  readonly transports: readonly Transport[];
  readonly folder: FolderTransport;
  readonly git: GitShare;
  /** Who belongs to the wire now. */
  membership(): Omit<Membership, "handle">;
  /** Whose files the wire has; the same object while nobody joins or leaves. */
  layout(): WireLayout;
  /** Calls back when carriers may have changed, with the name of the file if it is known. */
  onChange(listener: (name?: string) => void): void;
  start(): void;
  stop(): Promise<void>;
}

/**
 * The carriers of one agent: the wire's folder, and the repository if the settings of this machine name one. A
 * daemon starts them; a command that does not reads the folder and what was fetched, and publishes to the folder.
 * Spec 5.
 *
 * @throws StorageError when the settings cannot be read
 */
export function openCarriers(world: CarriersWorld, place: CarriersPlace, ours: OwnLines): Carriers {
  const { disk, clock, after } = world;
  const { wireDir, wireId, wireKey, places } = place;
  const { handle } = ours;
  const listeners: ((name?: string) => void)[] = [];
  const notify = (name?: string): void => {
    for (const listener of listeners) listener(name);
  };
  const layout = followMembership(handle, () => place.membership());
  const common = { disk, ours, layout };
  const folder = new FolderTransport({
    ...{ ...common, wireDir, mode: sharingOf(disk, wireDir).logMode },
    world: { clock, after, watch: (listener) => world.watch(listener) },
  });
  const transports: Transport[] = [folder];
  const git = new GitShare({
    ...{ ...common, world, env: world.env, wireId, wireFolder: wireDir },
    paths: transportPaths(places, wireKey),
    isLocal: (other) => other === handle || isAgentHere(disk, places, wireKey, other),
    onSwitch(now) {
      transports.splice(1, transports.length, ...(now === undefined ? [] : [now]));
      now?.onChange(notify);
    },
  });
  folder.onChange((name) => {
    git.fileChanged(name);
    notify(name);
  });
  return {
    ...{ transports, folder, git, layout },
    membership: () => place.membership(),
    onChange: (listener) => listeners.push(listener),
    start() {
      folder.start();
      git.start();
    },
    async stop() {
      await folder.stop();
      await git.stop();
    },
  };
}

/** Files follow from who was and is a member. */
function followMembership(
  handle: string,
  membership: () => Omit<Membership, "handle">,
): () => WireLayout {
  let made: { readonly by: string; readonly layout: WireLayout } | undefined;
  return () => {
    const { handles, members } = membership();
    const by = JSON.stringify([handles, ...members]);
    if (made?.by !== by) made = { by, layout: makeWireLayout({ handle, handles, members }) };
    return made.layout;
  };
}
