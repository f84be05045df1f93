/** Enough of an id to name a message by (6 characters or more do). Spec 8.6. */
export function shortId(id: string): string {
  return id.slice(0, 10);
}
