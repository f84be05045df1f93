// Safe mode written from the text of 3.5 (docs/spec), slowly: everything anew from a list of lines.
import { isJsonArray, isJsonObject } from "../../../src/wire/json/json.ts";
import { fieldOf, Held, isPlaceOf } from "../../support/naive-held.ts";
import type { TimedLine } from "../../support/timed-lines.ts";

export interface NaiveReader {
  readonly self: string;
  readonly members: ReadonlySet<string>;
  readonly trusted: ReadonlySet<string>;
  readonly cadences: { readonly T1_active: number; readonly T3_long_idle: number };
}

interface Read {
  readonly incident: TimedLine | undefined;
  readonly of: string;
  readonly beats: readonly (TimedLine | undefined)[];
}

/** The form of an escalation; the lines that it names are undefined while they are not linked. */
function read(held: Held, line: TimedLine): Read | undefined {
  const [escalates, of, beats] = ["escalates", "of", "beats"].map((name) => fieldOf(line, name));
  if (line.type !== "incident" || !isJsonArray(escalates) || escalates[0] !== line.author)
    return undefined;
  if (typeof of !== "string" || !isJsonArray(beats) || beats.length !== 2) return undefined;
  const linked = held.linked();
  return {
    incident: linked.find((each) => isPlaceOf(escalates, each)),
    of,
    beats: beats.map((beat) =>
      linked.find((each) => isJsonArray(beat) && isPlaceOf([of, ...beat], each)),
    ),
  };
}

/** Conditions 1 to 4. */
function isRight(held: Held, line: TimedLine, reader: NaiveReader): boolean {
  const escalation = read(held, line);
  const { incident, of = "", beats = [] } = escalation ?? {};
  const [first, second] = beats;
  if (incident === undefined || first === undefined || second === undefined) return false;
  const branch = held.branch(line) ?? [];
  // 1
  const severity = fieldOf(incident, "severity");
  const isGrave = severity === "high" || severity === "critical";
  const isIncident =
    incident.type === "incident" &&
    ["escalates", "resolves", "resumes"].every((name) => fieldOf(incident, name) === undefined);
  const { to = ["*"] } = incident;
  const isAddressed = of !== line.author && (to.includes(of) || to.includes("*"));
  const isSecond = branch.slice(1).some((each) => {
    const other = read(held, each);
    return other?.of === of && isPlaceOf(fieldOf(each, "escalates"), incident);
  });
  const descends = branch.slice(1).includes(incident);
  if (!isGrave || !isIncident || !isAddressed || isSecond || !descends) return false;
  // 2
  const isBehind = (held.branch(second) ?? []).slice(1).includes(first);
  if (first.type !== "heartbeat" || second.type !== "heartbeat" || !isBehind) return false;
  if (fieldOf(first, "state") === "busy") return false;
  const beatsOfFirst = (held.branch(first) ?? []).filter(({ type }) => type === "heartbeat");
  const hasRead = beatsOfFirst.some((beat) => {
    const heads = fieldOf(beat, "heads");
    const head = isJsonObject(heads) ? heads[line.author] : undefined;
    if (!isJsonArray(head)) return false;
    const named = held
      .linked()
      .find((each) => isPlaceOf([line.author, head[0] ?? 0, head[1] ?? ""], each));
    return (
      named !== undefined &&
      held.isAtOrBehind(named, incident) &&
      Number(head[2]) >= (incident.seq ?? 0)
    );
  });
  const hasRefused = beatsOfFirst.some((beat) => {
    const refused = fieldOf(beat, "refused");
    return (
      isJsonArray(refused) && refused.some((item) => isJsonArray(item) && item[3] === incident.id)
    );
  });
  if (!hasRead || hasRefused) return false;
  // 3
  const eta = fieldOf(first, "next_eta");
  const etaMs = typeof eta === "string" ? Date.parse(eta) - first.sentMs : 0;
  const { T1_active, T3_long_idle } = reader.cadences;
  const cadenceMs = etaMs > 0 ? Math.min(etaMs, T3_long_idle) : T1_active;
  if (second.sentMs - first.sentMs < Math.max(600_000, cadenceMs)) return false;
  if ([first, second].some((beat) => beat.sentMs > beat.receivedMs)) return false;
  // 4
  return !(held.branch(second) ?? []).some(
    (each) => each.type === "ack" && isPlaceOf(fieldOf(each, "about"), incident),
  );
}

function isOver(held: Held, line: TimedLine, reader: NaiveReader): boolean {
  const { incident, of } = read(held, line) ?? {};
  if (incident === undefined) return false;
  return held.linked().some((each) => {
    if (each.author === of && each.type === "ack" && isPlaceOf(fieldOf(each, "about"), incident))
      return true;
    if (each.type !== "incident") return false;
    if (each.author === line.author && isPlaceOf(fieldOf(each, "resolves"), incident)) return true;
    const resumes = fieldOf(each, "resumes");
    const isResumed = isJsonArray(resumes) && resumes.some((place) => isPlaceOf(place, line));
    return isResumed && [line.author, reader.self].includes(each.author);
  });
}

/** The ids of the escalations in force, none of them over, when these lines are taken in in this order. */
export function escalationsInForce(
  lines: readonly TimedLine[],
  reader: NaiveReader,
): ReadonlySet<string> {
  const counted: TimedLine[] = [];
  const judged = new Set<string>();
  for (let at = 1; at <= lines.length; at += 1) {
    const held = new Held(lines.slice(0, at));
    const fresh = held.linked().filter(({ id }) => !judged.has(id));
    for (const line of fresh.toSorted((one, other) => (one.seq ?? 0) - (other.seq ?? 0))) {
      judged.add(line.id);
      const escalation = read(held, line);
      if (escalation === undefined) continue;
      // 5 and 6
      const isTrusted = line.author === reader.self || reader.trusted.has(line.author);
      const areMembers = [line.author, escalation.of].every((each) => reader.members.has(each));
      const isTooSoon = counted.some(({ author, receivedMs }) => {
        const agoMs = line.receivedMs - receivedMs;
        return author === line.author && agoMs >= 0 && agoMs < 86_400_000;
      });
      if (isTrusted && areMembers && !isTooSoon) counted.push(line);
    }
  }
  const held = new Held(lines);
  return new Set(
    counted
      .filter((line) => isRight(held, line, reader) && !isOver(held, line, reader))
      .map(({ id }) => id),
  );
}
