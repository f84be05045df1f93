import { sha256Hex } from "../../wire/canonical.ts";
import type { Message } from "../../wire/message.ts";
import type { AdmittedMessage } from "../admitted-message.ts";

/** The message of a line, with what is known of where it came from. */
export function proved<Kind extends AdmittedMessage>(message: Message, lineTag: number): Kind {
  return Object.freeze({ ...message, lineTag }) as Kind;
}

export function lineTagOf(line: Uint8Array): number {
  return Number.parseInt(sha256Hex(line).slice(0, 8), 16);
}
