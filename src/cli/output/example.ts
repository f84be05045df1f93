/** Behind a command's help: one line to copy. */
export function example(...lines: readonly string[]): string {
  const shown = lines.map((line) => `  $ ${line}`).join("\n");
  return `\n${lines.length === 1 ? "Example" : "Examples"}:\n${shown}`;
}
