import { join } from "node:path";
import { safeModeSignText } from "../../protocol/escalations/safe-mode-end.ts";
import { lookOf, StorageError } from "../../storage/disk/disk.ts";
import type { StoreWriter } from "../../store/store.ts";
import type { Duty, Ground } from "./duty.ts";

const SAFE_MODE = "SAFE_MODE";
const SHARED_MODE = 0o660;
/** In `meta`: the file is there since safe mode holds for us, and we remove it when that is over. */
const IS_UP = "safe_mode_file";

/**
 * The file `SAFE_MODE` of the wire says to people why most messages are not sent. It proves nothing: one that
 * another program has put there starts no safe mode. Spec 1.1, 3.5.
 */
export class SafeModeFile implements Duty {
  readonly #ground: Ground;
  readonly #path: string;
  /** How one looked that is not explained by our lines. */
  #unexplained = "";

  constructor(ground: Ground, { wireDir }: { readonly wireDir: string }) {
    this.#ground = ground;
    this.#path = join(wireDir, SAFE_MODE);
  }

  decide(into: StoreWriter): boolean {
    const look = this.#unexplained;
    if (look !== "")
      this.#ground.tell(into, {
        key: `safe_mode_sign:${look}`,
        cause: "safe_mode_sign",
        subject: "a SAFE_MODE file is in the wire without a reason",
        detail:
          "safe mode follows from signed lines alone, and none calls for it here; sending goes on",
      });
    this.#unexplained = "";
    return false;
  }

  /** @throws StorageError */
  write(): void {
    const { safeMode, store, world } = this.#ground;
    const isThere = world.disk.stat(this.#path) !== undefined;
    const isUp = store.meta(IS_UP) === "yes";
    if (safeMode !== undefined) {
      if (!isThere)
        world.disk.replace(this.#path, Buffer.from(safeModeSignText(safeMode)), SHARED_MODE);
      if (!isUp) this.#setUp("yes");
      return;
    }
    if (isUp) {
      this.#setUp("no");
      if (isThere) this.#remove();
    } else if (isThere) this.#unexplained = lookOf(world.disk, this.#path);
  }

  /** Another user's can be removed only by them, or by the owner of the folder. */
  #remove(): void {
    try {
      this.#ground.world.disk.remove(this.#path);
    } catch (error) {
      if (!(error instanceof StorageError) || error.code !== "denied") throw error;
    }
  }

  #setUp(isUp: "yes" | "no"): void {
    this.#ground.store.write((into) => {
      into.setMeta(IS_UP, isUp);
    });
  }
}
