/** Index of the last item whose rising key is at most `limit`; -1 when there is none. */
export function lastAtOrBelow<T>(
  items: readonly T[],
  limit: number,
  key: (item: T) => number,
): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (key(items[middle] as T) <= limit) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
