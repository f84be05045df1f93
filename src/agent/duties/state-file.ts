import { openUnlessObstructed } from "../../storage/disk/disk.ts";
import type { Duty, Known } from "./duty.ts";

const STATE_MODE = 0o640;

/**
 * How much mail waits, in `<h>_state.json` of the wire: for people and for peers without receipts. It proves
 * nothing; our signed beats do. Spec 1.1.
 */
export class StateFile implements Duty {
  readonly #known: Known;
  readonly #path: string;

  constructor(known: Known, path: string) {
    this.#known = known;
    this.#path = path;
  }

  /** @throws StorageError */
  write(): void {
    const { store, place } = this.#known;
    const state = { agent: place.self, inbox_unread_count: store.mail.count({ unread: true }) };
    const bytes = Buffer.from(`${JSON.stringify(state)}\n`, "utf8");
    if (!this.#isWritten(bytes)) this.#known.world.disk.replace(this.#path, bytes, STATE_MODE);
  }

  /** Another program may have put something else there, of any size. */
  #isWritten(bytes: Buffer): boolean {
    const file = openUnlessObstructed(this.#known.world.disk, this.#path);
    if (file === undefined || file === "obstructed") return false;
    try {
      return file.stat().size === bytes.length && bytes.equals(file.read(bytes.length, 0));
    } finally {
      file.close();
    }
  }
}
