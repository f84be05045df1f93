import { IdColumn } from "../logs/id-column.ts";

/** A message that is routed to our agent and not marked read. */
export interface UnreadLine {
  readonly id: string;
  readonly line: number;
  readonly at: number;
  /** Its correlation id. */
  readonly thread: string;
  /** Of high priority, or an incident. */
  readonly urgent?: true;
  /** No agent is woken for it. Spec 8.3. */
  readonly quiet?: true;
}

/** Such messages of one log, in order. In columns: an object for each would take three times as much. */
export interface UnreadLines {
  ids: IdColumn;
  lines: number[];
  /** When each was taken in. */
  ats: number[];
  threads: string[];
  /** By id, of the few that are urgent or quiet. */
  readonly special: Map<string, Pick<UnreadLine, "line" | "urgent" | "quiet">>;
}

export function noUnread(): UnreadLines {
  return { ids: new IdColumn(), lines: [], ats: [], threads: [], special: new Map() };
}

export function addUnread(unread: UnreadLines, line: UnreadLine): void {
  const { id, at, thread, urgent, quiet } = line;
  const before = unread.threads.at(-1);
  unread.ids.push(id);
  unread.lines.push(line.line);
  unread.ats.push(at);
  // Messages of one thread often follow each other, and each line brings a text of its own.
  unread.threads.push(thread === before ? before : thread);
  if (urgent === undefined && quiet === undefined) return;
  unread.special.set(id, {
    line: line.line,
    ...(urgent === undefined ? {} : { urgent }),
    ...(quiet === undefined ? {} : { quiet }),
  });
}

/** The message at that place in the list; counted from the end when it is negative. */
export function unreadAt(unread: UnreadLines, place: number): UnreadLine | undefined {
  const id = unread.ids.at(place);
  const line = unread.lines.at(place);
  const at = unread.ats.at(place);
  const thread = unread.threads.at(place);
  if (id === undefined || line === undefined || at === undefined || thread === undefined) {
    return undefined;
  }
  return { id, line, at, thread, ...unread.special.get(id) };
}

/** The lines of those that are urgent and come after that line. */
export function urgentAfter({ special }: UnreadLines, line: number): number[] {
  const urgent = [...special.values()].filter((each) => each.urgent === true && each.line > line);
  return urgent.map((each) => each.line);
}

/** Takes out all but those that are kept, by their lines and their places in the list. */
export function keepUnread(
  unread: UnreadLines,
  isKept: (line: number, place: number) => boolean,
): void {
  const kept = unread.lines.map(isKept);
  if (kept.every(Boolean)) return;
  const isThere = (_value: unknown, place: number): boolean => kept[place] === true;
  if (unread.special.size > 0) {
    for (const [place, id] of [...unread.ids].entries()) {
      if (kept[place] !== true) unread.special.delete(id);
    }
  }
  unread.ids = unread.ids.filter((place) => kept[place] === true);
  unread.lines = unread.lines.filter(isThere);
  unread.ats = unread.ats.filter(isThere);
  unread.threads = unread.threads.filter(isThere);
}
