import type { SafeMode } from "./safe-mode.ts";

/**
 * Who can end safe mode, and with which command: what every screen and refusal says. An ack does not
 * help any more. Spec 3.5.
 */
export function safeModeEnd({ author }: Pick<SafeMode, "author">, self: string): string {
  return author === self
    ? "your operator ends it for all with: deaddrop resume --reason …"
    : `the operator of ${author} ends it for all with: deaddrop resume --reason …; ` +
        "yours ends it for you alone with: deaddrop resume --here --reason …";
}

/** The command by which the own operator ends it. */
export function resumeCommand({ author }: Pick<SafeMode, "author">, self: string): string {
  return `deaddrop resume ${author === self ? "" : "--here "}--reason …`;
}
