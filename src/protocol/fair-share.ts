/** The items in turns of their authors: the first of each, then the second of each, and so on. */
export function inTurns<Item>(items: readonly Item[], authorOf: (item: Item) => string): Item[] {
  const byAuthor = new Map<string, Item[]>();
  for (const item of items) {
    const own = byAuthor.get(authorOf(item));
    if (own === undefined) byAuthor.set(authorOf(item), [item]);
    else own.push(item);
  }
  const longest = Math.max(0, ...[...byAuthor.values()].map(({ length }) => length));
  const ordered: Item[] = [];
  for (let turn = 0; turn < longest; turn += 1) {
    for (const own of byAuthor.values()) ordered.push(...own.slice(turn, turn + 1));
  }
  return ordered;
}

/**
 * At most `max` of these items, in their order. Where there are more, authors have turns, so that nobody
 * hides what another has said by saying very much.
 */
export function fairShare<Item>(
  items: readonly Item[],
  max: number,
  authorOf: (item: Item) => string,
): Item[] {
  if (items.length <= max) return [...items];
  const chosen = new Set(inTurns(items, authorOf).slice(0, max));
  return items.filter((item) => chosen.has(item));
}
