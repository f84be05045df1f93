import { isAway, type Absence, type Absences, type LogPlace } from "../../wire/roster/members.ts";
import { parseConfig, type WireConfig } from "./config.ts";
import { leftJson } from "./left-members.ts";

/** A change of members, as a configuration takes it. Spec 1.1. */
interface Change {
  readonly handle: string;
  readonly becomes: "new" | "back" | "left";
  readonly atMs: number;
  readonly logs: ReadonlyMap<string, LogPlace>;
  readonly changedBy: string | undefined;
}

/** Whether a configuration has that very change already: then there is nothing to write. */
function hasMembership({ left, membersChangedBy }: WireConfig, change: Change): boolean {
  const { handle, becomes, atMs, changedBy } = change;
  if (changedBy !== undefined) return membersChangedBy === changedBy;
  const last = left.get(handle)?.at(-1);
  return becomes === "left" && isAway(left, handle) && last?.atMs === atMs;
}

/**
 * The bytes of `config.json` after a change of members: the same for all who apply it to the same bytes.
 * Everything else in the file stays, and all of it where it has that change: who failed to read it again
 * may apply it twice. Throws when the bytes are no configuration with a roster, or the change does not
 * follow from it.
 */
export function withMembership(bytes: Uint8Array, change: Change): Uint8Array {
  const parsed = parseConfig(bytes);
  if (!parsed.ok) throw new Error(parsed.detail);
  if (hasMembership(parsed.config, change)) return bytes;
  const { roster, left } = parsed.config;
  if (roster.length === 0) throw new Error("config.json names no roster");
  const { handle, becomes, changedBy } = change;
  const isKnown = roster.includes(handle);
  const isLeft = isAway(left, handle);
  if (becomes === "new" ? isKnown : !isKnown || isLeft !== (becomes === "back")) {
    throw new Error(`${handle} is ${isKnown && !isLeft ? "a member already" : "no member"}`);
  }
  const fields = JSON.parse(new TextDecoder().decode(bytes)) as Record<string, unknown>;
  const next: Record<string, unknown> = {
    ...fields,
    roster: becomes === "new" ? [...roster, handle] : roster,
    left: leftJson(leftAfter(left, change)),
    ...(changedBy === undefined ? {} : { members_changed_by: changedBy }),
  };
  const text = `${JSON.stringify(next, null, 2)}\n`;
  const made = new TextEncoder().encode(text);
  const result = parseConfig(made);
  if (!result.ok) throw new Error(result.detail);
  return made;
}

function leftAfter(left: Absences, { handle, becomes, atMs, logs }: Change): Absences {
  const before = left.get(handle) ?? [];
  const back = { atMs, logs };
  switch (becomes) {
    case "left":
      return withAbsences(left, handle, [...before, { atMs, logs, back: undefined }]);
    case "new":
      // It was no member before: what was written until then asks nothing of it.
      return withAbsences(left, handle, [{ atMs: undefined, logs: new Map(), back }]);
    case "back": {
      const last = before.at(-1);
      if (last === undefined || !isAway(left, handle)) throw new Error(`${handle} is not away`);
      return withAbsences(left, handle, [...before.slice(0, -1), { ...last, back }]);
    }
  }
}

function withAbsences(left: Absences, handle: string, absences: readonly Absence[]): Absences {
  return new Map([...left, [handle, absences]]);
}
