import { readWhole, type Disk } from "../../storage/disk/disk.ts";
import { TransportError } from "../port.ts";
import { PRIVATE_FILE } from "../../storage/disk/file-modes.ts";

/** Which remote was used, and the last commit of it that we know. Durable: spec 5.2, `history_rewritten`. */
export interface SeenRemote {
  head(): string | undefined;
  save(head: string): void;
  /** The operator has looked at the remote's new history, and takes it as it is. */
  forget(): void;
}

const MAX_SEEN_BYTES = 65_536;

/**
 * Throws TransportError ("stopped") when another remote was used here before: the operator says with
 * `deaddrop transport switch` that the wire has moved.
 */
export function openSeenRemote(disk: Disk, path: string, origin: string): SeenRemote {
  let seen = read(disk, path);
  if (seen.origin !== undefined && seen.origin !== origin) {
    throw new TransportError(
      "stopped",
      `the remote is ${origin} now, and ${seen.origin} was pinned here`,
      { hint: "if the wire has moved, say so: deaddrop transport switch git --remote URL" },
    );
  }
  const write = (head: string | undefined): void => {
    seen = { origin, head };
    disk.replace(
      path,
      Buffer.from(`${JSON.stringify({ expected_origin: origin, head })}\n`),
      PRIVATE_FILE,
    );
  };
  if (seen.origin === undefined) write(undefined);
  return {
    head: () => seen.head,
    save(head) {
      if (seen.head !== head) write(head);
    },
    forget: () => write(undefined),
  };
}

interface Seen {
  readonly origin: string | undefined;
  readonly head: string | undefined;
}

/** A damaged file must not make us forget the pin in silence. */
function read(disk: Disk, path: string): Seen {
  const bytes = readWhole(disk, path, MAX_SEEN_BYTES);
  if (bytes === undefined) return { origin: undefined, head: undefined };
  try {
    const fields = JSON.parse(Buffer.from(bytes).toString("utf8")) as Record<string, unknown>;
    const { expected_origin: origin, head } = fields;
    if (typeof origin !== "string") throw new SyntaxError("no expected_origin");
    const isId = typeof head === "string" && /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/.test(head);
    return { origin, head: isId ? head : undefined };
  } catch (cause) {
    throw new TransportError("stopped", `${path} is damaged: it holds the pinned remote`, {
      hint: "look at the remote, then pin it again: deaddrop transport switch git --remote URL",
      cause,
    });
  }
}
