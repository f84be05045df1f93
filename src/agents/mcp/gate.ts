import { DeaddropError } from "../../api/errors.ts";

/** Calls that are carried out at once; the others wait for their turn. */
const MAX_AT_ONCE = 16;
const MAX_WAITING_CALLS = 4_096;
/** Calls that wait for mail take no one's turn. */
const MAX_WAITS = 8;

/** Bounds what a client may ask for at once. Throws DeaddropError beyond. */
export function makeGate() {
  let running = 0;
  let waits = 0;
  const waiting: (() => void)[] = [];

  async function inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (waiting.length >= MAX_WAITING_CALLS) throw tooMany();
    if (running < MAX_AT_ONCE) running += 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      // Its place goes to the next one, and to no call that comes just now.
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  }

  async function asWait<T>(work: () => Promise<T>): Promise<T> {
    if (waits >= MAX_WAITS) throw tooMany();
    waits += 1;
    try {
      return await work();
    } finally {
      waits -= 1;
    }
  }

  return <T>(work: () => Promise<T>, waits = false): Promise<T> =>
    waits ? asWait(work) : inTurn(work);
}

function tooMany(): DeaddropError {
  return new DeaddropError("refused", "not done: too many calls wait already", {
    hint: "call again when some of them are answered",
  });
}
