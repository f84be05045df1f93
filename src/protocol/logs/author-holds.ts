import { answerLog, type Layout } from "../../wire/layout.ts";
import { lineAfter } from "./continued.ts";
import { coveredAt, type Covered } from "./covering-beats.ts";
import type { LogsState } from "./logs-state.ts";

/**
 * What the author of a line held of another log when it wrote it, by its beats; `undefined`: it cannot
 * be judged yet. Of a closed log it goes on holding in its outbox what its own closed log has covered.
 * Spec 1.6, 3.4.
 */
export function authorHolds(
  logs: LogsState,
  layout: Layout,
  { log, line }: { readonly log: string; readonly line: number },
  target: string,
): Covered | undefined {
  const [of, at] = [layout.logs.get(target), layout.logs.get(log)];
  const isOutbox = at?.continues !== undefined;
  const reader = of?.into === undefined || !isOutbox ? undefined : answerLog(layout, of, at.owner);
  if (reader === undefined) return coveredAt(logs, log, line, target);
  return coveredAt(logs, reader.name, lineAfter(line), target);
}
