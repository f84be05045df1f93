/** What a transport waits with. */
export function afterMs(inMs: number, act: () => void): () => void {
  const timer = setTimeout(act, inMs);
  return () => clearTimeout(timer);
}
