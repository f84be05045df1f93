import { expect, test } from "vitest";
import { isJsonArray, isJsonObject } from "../../../src/wire/json/json.ts";
import type { ChainPlace } from "../../../src/wire/places.ts";
import type { ModelLine } from "../../model/model.ts";
import { amount } from "../../support/amounts.ts";
import { storeOf, Writer } from "../../support/chain-lines.ts";
import { randomFrom } from "../../support/random.ts";

// Receipts against the text of Spec 3.2.2, word for word, with lists in place of tables.

function placeOf({ author, seq, id }: ModelLine): ChainPlace {
  if (seq === null) throw new Error("no place of a chain");
  return { author, seq, id };
}

class Naive {
  readonly lines: readonly ModelLine[];
  readonly #branches = new Map<ModelLine, readonly ModelLine[] | undefined>();

  constructor(lines: readonly ModelLine[]) {
    this.lines = lines;
  }

  branch(line: ModelLine): readonly ModelLine[] | undefined {
    if (!this.#branches.has(line)) this.#branches.set(line, this.#walk(line));
    return this.#branches.get(line);
  }

  #walk(line: ModelLine): readonly ModelLine[] | undefined {
    const branch = [line];
    for (let at = line; at.seq !== 1;) {
      const before = this.lines.find(
        (each) =>
          each.author === at.author && each.seq === Number(at.seq) - 1 && each.id === at.prev,
      );
      if (before === undefined) return undefined;
      branch.push(before);
      at = before;
    }
    return branch;
  }

  first(tip: ModelLine, line: ModelLine, isRead: boolean): number | undefined {
    const beats = this.branch(tip)?.filter(({ type }) => type === "heartbeat") ?? [];
    const found = beats.filter(({ body }) => {
      const heads = isJsonObject(body) ? body["heads"] : undefined;
      const entry = isJsonObject(heads) ? heads[line.author] : undefined;
      if (!isJsonArray(entry)) return false;
      const [seq, id, read] = entry;
      const named = this.lines.find(
        (each) => each.author === line.author && each.seq === seq && each.id === id,
      );
      const isBehind = named !== undefined && this.branch(named)?.includes(line) === true;
      return isBehind && (!isRead || Math.min(Number(read), Number(seq)) >= Number(line.seq));
    });
    return found.at(-1)?.seq ?? undefined;
  }
}

function randomChains(random: () => number): ModelLine[] {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const writers = ["forge", "scribe", "ann", "mason"]
    .slice(0, 2 + Math.floor(random() * 3))
    .map((name) => new Writer(name));
  for (let step = 0; step < 30; step += 1) {
    const by = pick(writers);
    if (by.lines.length > 0 && random() < 0.15) {
      const { author, seq, id } = pick(by.lines);
      by.goBackTo([author, seq, id]);
    }
    const others = writers.filter((each) => each !== by && each.lines.length > 0);
    const heads = others.map((other) => {
      const { author, seq, id } = pick(other.lines);
      const named = random() < 0.1 ? "0".repeat(64) : id;
      return [author, [seq, named, Math.floor(random() * 8)]];
    });
    if (random() < 0.3) by.say("ship", `t${step}`, {});
    else by.say("heartbeat", "", { step, heads: Object.fromEntries(heads) as unknown });
  }
  return writers.flatMap(({ lines }) => lines);
}

test("on random chains with forks and gaps, in any order", () => {
  for (let seed = 1; seed <= amount(25, 5_000); seed += 1) {
    const random = randomFrom(seed);
    const lines = randomChains(random)
      .filter(() => random() < 0.97)
      .map((line) => ({ line, at: random() }))
      .toSorted((one, other) => one.at - other.at)
      .map(({ line }) => line);
    const store = storeOf(lines);
    const history = store.history("w");
    const naive = new Naive(lines);
    const pairs = lines.flatMap((tip) =>
      lines.filter((line) => line.author !== tip.author).map((line) => [tip, line] as const),
    );
    const wrong: unknown[] = [];
    for (const [tip, line] of pairs) {
      if (naive.branch(line) === undefined) continue;
      for (const kind of ["taken_in", "read"] as const) {
        const found = history.firstHead(placeOf(tip), placeOf(line), kind)?.seq;
        const expected = naive.first(tip, line, kind === "read");
        if (found !== expected) wrong.push({ tip, line, kind, found, expected });
        if (expected !== undefined && !history.hasHead(tip.author, placeOf(line), kind))
          wrong.push({ tip, line, kind, expected });
      }
    }
    for (const line of lines.filter((each) => naive.branch(each) !== undefined))
      for (const by of new Set(lines.map(({ author }) => author))) {
        const isTaken = lines.some(
          (tip) => tip.author === by && naive.first(tip, line, false) !== undefined,
        );
        if (history.hasHead(by, placeOf(line), "taken_in") !== isTaken)
          wrong.push({ by, line, isTaken });
      }
    expect({ seed, wrong }).toEqual({ seed, wrong: [] });
    store.close();
  }
});
