/**
 * Serves sources in turns until none has more, or `isOver`; true when more waits. `take` serves one
 * and says whether it has more. A source that has more than one turn takes is busy. Before each
 * turn of a busy source all others are served: a quiet one waits for one turn at most, however many
 * are busy. Spec 2.4: reading has its own budget per log.
 */
export async function takeTurns<Source>(
  sources: Iterable<Source>,
  take: (source: Source) => Promise<boolean>,
  isOver: (turns: number) => boolean,
): Promise<boolean> {
  const quiet = new Set(sources);
  const busy: Source[] = [];
  for (let turns = 0; ; turns += 1) {
    for (const source of quiet) {
      if (!(await take(source))) continue;
      quiet.delete(source);
      busy.push(source);
    }
    const next = busy.shift();
    if (next === undefined) return false;
    if (await take(next)) busy.push(next);
    else quiet.add(next);
    if (isOver(turns + 1)) return busy.length > 0;
  }
}
