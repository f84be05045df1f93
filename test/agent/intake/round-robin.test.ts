import { describe, expect, test } from "vitest";
import { takeTurns } from "../../../src/agent/intake/round-robin.ts";

/** Sources with so many turns' worth each; what was served, in order, and `arrive` for more. */
function stage(waiting: Record<string, number>) {
  const served: string[] = [];
  const take = async (name: string): Promise<boolean> => {
    const left = waiting[name] ?? 0;
    if (left > 0) served.push(name);
    waiting[name] = Math.max(0, left - 1);
    return Promise.resolve(left > 1);
  };
  return { served, take, arrive: (name: string) => (waiting[name] = 1) };
}

const never = () => false;

describe("turns", () => {
  test("all that waits is served, and sources that have more take turns", async () => {
    const { served, take } = stage({ a: 3, b: 1, c: 2, d: 0 });
    expect(await takeTurns(["a", "b", "c", "d"], take, never)).toBe(false);
    expect(served).toEqual(["a", "b", "c", "a", "c", "a"]);
  });

  test("however many flood, one that says little waits for one turn", async () => {
    const floods = Array.from({ length: 30 }, (_, at) => `flood ${at}`);
    const { served, take, arrive } = stage(Object.fromEntries(floods.map((name) => [name, 100])));
    const isOver = (turns: number): boolean => {
      if (turns % 10 === 5) arrive("quiet");
      return turns >= 100;
    };
    expect(await takeTurns([...floods, "quiet"], take, isOver)).toBe(true);
    const heard = served.flatMap((name, at) => (name === "quiet" ? [at] : []));
    // 30 first looks; then it stands right after the turn during which it spoke.
    expect(heard).toEqual(
      [5, 15, 25, 35, 45, 55, 65, 75, 85, 95].map((turn, nth) => 30 + turn + nth),
    );
  });

  test("when it is over, what waits is said to wait", async () => {
    const { served, take } = stage({ a: 5 });
    expect(await takeTurns(["a"], take, (turns) => turns >= 2)).toBe(true);
    expect(served).toHaveLength(3);
  });
});
