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
    const { lines, bytes, unpinned } = found;
    const check = `log ${log.name}`;
    if (lines === 0) {
      const ends = `all that it ends with is signed by ${log.owner}`;
      return [ok(check, unpinned === 0 ? ends : `${linesBeforeKey(unpinned)}; ${ends}`)];
    }
    const much = lines > QUIET_LINES || bytes > QUIET_BYTES;
    const detail = `the log of ${log.owner} holds ${lines} ${lines === 1 ? "line" : "lines"} that ${log.owner} did not sign, ${bytes} bytes among its last ${LOOK_BYTES}`;
    if (!much) return [ok(check, detail)];
    const fix = `they are passed over; see who may write there: ls -l ${join(place.wire.folder, log.path)}`;
    return [warning(check, detail, fix)];
  });
}

/** What is known of lines that an agent wrote with an earlier key, which is not pinned here. */
export function linesBeforeKey(lines: number): string {
  const are = lines === 1 ? "1 line is" : `${lines} lines are`;
  return `${are} from before its key was pinned here, signed with a key that is not pinned`;
}

/** Undefined when there is nothing to look at. `unpinned`: signed before the key was pinned. */
function foreignLines(
  disk: Disk,
  place: AgentConfig,
  log: Log,
): { readonly lines: number; readonly bytes: number; readonly unpinned: number } | undefined {
  const ctx = pastContextOf(contextOf(place));
  const file = openUnlessObstructed(disk, join(place.wire.folder, log.path));
  if (file === undefined || file === "obstructed") return undefined;
  try {
    const { size } = file.stat();
    const from = Math.max(0, size - LOOK_BYTES);
    let [lines, bytes, unpinned] = [0, 0, 0];
    let isProved = false;
    let isFirst = from > 0;
    for (const line of wholeLines(file, from, size)) {
      // It began before what is looked at.
      const isCut = isFirst;
      isFirst = false;
      if (isCut || (line.bytes !== undefined && isBlank(line.bytes))) continue;
      const source = { owner: log.owner, log: log.name };
      const read = authenticate(line.bytes, source, ctx);
      isProved ||= read.ok;
      if (read.ok) continue;
      if (read.reason === "untrusted_key" && !isProved) {
        unpinned += 1;
        continue;
      }
      lines += 1;
      bytes += line.end - line.start;
    }
    return { lines, bytes, unpinned };
  } finally {
    file.close();
  }
}
