import { join } from "node:path";
import { contextOf, pastContextOf } from "../../agent/session/environment.ts";
import type { AgentConfig } from "../../agent/config/agent-config.ts";
import { QUIET_BYTES, QUIET_LINES } from "../../agent/intake/trouble/foreign-lines.ts";
import { openUnlessObstructed, type Disk } from "../../storage/disk/disk.ts";
import { isBlank, wholeLines } from "../../storage/disk/line-splitter.ts";
import { authenticate } from "../../admission/authenticate.ts";
import type { Log } from "../../wire/layout.ts";
import { ok, warning, type Finding } from "./host-checks.ts";

/** Bytes at the end of each log that are looked at: a log may have a million lines. */
const LOOK_BYTES = 1_048_576;

/** Whether others have written into the logs of peers. They prove nothing about anyone. Spec 2.4. */
export function checkForeignLines(disk: Disk, place: AgentConfig): readonly Finding[] {
  // Of whom nothing is pinned, nothing is known to be signed.
  const logs = [...place.layout.logs.values()].filter(
    ({ owner }) => owner !== place.handle && place.store.peers.has(owner),
  );
  return logs.flatMap((log) => {
    const found = foreignLines(disk, place, log);
    if (found === undefined) return [];
    const { lines, bytes } = found;
    const check = `log ${log.name}`;
    if (lines === 0) return [ok(check, `all that it ends with is signed by ${log.owner}`)];
    const much = lines > QUIET_LINES || bytes > QUIET_BYTES;
    const detail = `the log of ${log.owner} holds ${lines} ${lines === 1 ? "line" : "lines"} that ${log.owner} did not sign, ${bytes} bytes among its last ${LOOK_BYTES}`;
    if (!much) return [ok(check, detail)];
    const fix = `they are passed over; see who may write there: ls -l ${join(place.wire.folder, log.path)}`;
    return [warning(check, detail, fix)];
  });
}

/** Undefined when there is nothing to look at. */
function foreignLines(
  disk: Disk,
  place: AgentConfig,
  log: Log,
): { readonly lines: number; readonly bytes: number } | undefined {
  const ctx = pastContextOf(contextOf(place));
  const file = openUnlessObstructed(disk, join(place.wire.folder, log.path));
  if (file === undefined || file === "obstructed") return undefined;
  try {
    const { size } = file.stat();
    const from = Math.max(0, size - LOOK_BYTES);
    let [lines, bytes] = [0, 0];
    let isFirst = from > 0;
    for (const line of wholeLines(file, from, size)) {
      // It began before what is looked at.
      const isCut = isFirst;
      isFirst = false;
      if (isCut || (line.bytes !== undefined && isBlank(line.bytes))) continue;
      const source = { owner: log.owner, log: log.name };
      if (line.bytes !== undefined && authenticate(line.bytes, source, ctx).ok) continue;
      lines += 1;
      bytes += line.end - line.start;
    }
    return { lines, bytes };
  } finally {
    file.close();
  }
}
