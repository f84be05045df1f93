import type { SafeMode } from "./safe-mode.ts";

const REASON = '--reason "why it is safe to go on"';

/**
 * Who can end safe mode, and with which command: what every screen and refusal says. An ack does not
 * help any more. Spec 3.5.
 */
export function safeModeEnd(mode: Pick<SafeMode, "author">, self: string): string {
  const ours = resumeCommand(mode, self);
  if (mode.author === self) return `your operator ends it for all with: ${ours}`;
  return (
    `the operator of ${mode.author} ends it for all with: deaddrop resume ${REASON}; ` +
    `yours ends it for you alone with: ${ours}`
  );
}

/** The command by which the own operator ends it. */
export function resumeCommand({ author }: Pick<SafeMode, "author">, self: string): string {
  return `deaddrop resume ${author === self ? "" : "--here "}${REASON}`;
}
