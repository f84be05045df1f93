import { describe, expect, test } from "vitest";
import {
  OutcomeScript,
  outcomesInAnyOrder,
  outcomesOf,
} from "../../support/scripts/outcome-script.ts";
import { lineEvent } from "../../support/scripts/wire-script.ts";

/** Spec 3.4, a clause a row: what is written, and what became of the proposals. */
interface Row {
  clause: string;
  steps: string[];
  outcomes: string[];
}

const PAIR: Row[] = [
  {
    clause: "an ack alone ratifies nothing: the proposer's log decides",
    steps: ["a proposes P", "b acks P"],
    outcomes: ["P open"],
  },
  {
    clause: "the beat that covers the ack ratifies",
    steps: ["a proposes P", "a beats", "b acks P", "a beats", "a beats"],
    outcomes: ["P ratified by a:3"],
  },
  {
    clause: "a rejection that a beat covers rejects",
    steps: ["a proposes P", "b rejects P", "a beats"],
    outcomes: ["P rejected by a:2"],
  },
  {
    clause: "a rejection speaks until the same party acks: then it does not",
    steps: ["a proposes P", "b rejects P", "b acks P", "a beats"],
    outcomes: ["P ratified by a:2"],
  },
  {
    clause: "a last word that rejects outweighs an earlier ack",
    steps: ["a proposes P", "b acks P", "b rejects P", "a beats"],
    outcomes: ["P rejected by a:2"],
  },
  {
    clause: "a revert before the ratifying beat reverts, for good",
    steps: ["a proposes P", "b acks P", "a reverts P", "a beats"],
    outcomes: ["P reverted by a:2"],
  },
  {
    clause: "a revert after ratification changes nothing",
    steps: ["a proposes P", "b acks P", "a beats", "a reverts P"],
    outcomes: ["P ratified by a:2"],
  },
  {
    clause: "a newer proposal of its own supersedes",
    steps: ["a proposes P", "b acks P", "a proposes Q", "a beats", "b acks Q", "a beats"],
    outcomes: ["P superseded by a:2", "Q ratified by a:4"],
  },
  {
    clause: "an ack repeated after ratification changes nothing",
    steps: ["a proposes P", "b acks P", "a beats", "b acks P", "b rejects P", "a beats"],
    outcomes: ["P ratified by a:2"],
  },
  {
    clause: "a counter after ratification changes nothing",
    steps: ["a proposes P", "b acks P", "a beats", "b proposes Q counters=P", "a beats"],
    outcomes: ["P ratified by a:2", "Q open"],
  },
  {
    clause: "a counter moves its author's support away",
    steps: ["a proposes P", "b acks P", "b proposes Q counters=P", "a beats"],
    outcomes: ["P open", "Q open"],
  },
  {
    clause: "a counter that is acked is a decision of its own",
    steps: ["a proposes P", "b proposes Q counters=P", "a acks Q", "b beats"],
    outcomes: [
      expect.stringMatching(/^P (open|withdrawn by a:2)$/u) as string,
      "Q ratified by b:2",
    ],
  },
  {
    clause: "heads that name another event id cover nothing",
    steps: ["a proposes P", "b acks P", "a beats wrong=b"],
    outcomes: ["P open"],
  },
  {
    clause: "a later beat that names the right one covers",
    steps: ["a proposes P", "b acks P", "a beats wrong=b", "a beats"],
    outcomes: ["P ratified by a:3"],
  },
  {
    clause: "a line that the proposer named as refused does not count",
    steps: ["a proposes P", "b acks P", "a beats refuses=b:1", "a beats"],
    outcomes: ["P open"],
  },
  {
    clause: "and another ack does",
    steps: ["a proposes P", "b acks P", "a beats refuses=b:1", "b acks P", "a beats"],
    outcomes: ["P ratified by a:3"],
  },
  {
    clause: "a rejection that is named as refused is not heard",
    steps: ["a proposes P", "b acks P", "b rejects P", "a beats refuses=b:2"],
    outcomes: ["P ratified by a:2"],
  },
  {
    clause: "a beat that does not cover the ack does not ratify",
    steps: ["a proposes P", "b beats", "b acks P", "a beats b=1"],
    outcomes: ["P open"],
  },
  {
    clause: "an ack that names nothing does not count on a chained line",
    steps: ["a proposes P", "b acks", "a beats"],
    outcomes: ["P open"],
  },
  {
    clause: "on an unchained line it means the proposer's only proposal",
    steps: ["a proposes P", "b acks bare", "a beats"],
    outcomes: ["P ratified by a:2"],
  },
  {
    clause: "it means nothing when there are two before the beat that covers it",
    steps: ["a proposes P", "a proposes Q", "b acks bare", "a beats"],
    outcomes: ["P superseded by a:2", "Q open"],
  },
  {
    clause: "it means the first when the second came after that beat",
    steps: ["a proposes P", "b acks bare", "a beats", "a proposes Q", "a beats"],
    outcomes: ["P ratified by a:2", "Q open"],
  },
  {
    clause: "an unchained answer to a request in the thread is no ack of the proposal",
    steps: ["a proposes P", "a asks R", "b acks bare request=0badcafe", "a beats"],
    outcomes: ["P open"],
  },
  {
    clause: "an ack of another message of the thread leaves the support where it was",
    steps: ["a proposes P", "b acks P", "a asks R", "b acks R request=0badcafe", "a beats"],
    outcomes: ["P ratified by a:3"],
  },
  {
    clause: "so does an ack of a message of its author's own",
    steps: ["a proposes P", "b asks S", "b acks P", "b acks S", "a beats"],
    outcomes: ["P ratified by a:2"],
  },
  {
    clause: "an ack of what neither log holds leaves it, too",
    steps: ["a proposes P", "b acks P", "b acks 000", "a beats"],
    outcomes: ["P ratified by a:2"],
  },
  {
    clause: "unless it says `approve: true`: then it moves it away",
    steps: ["a proposes P", "b acks P", "b agrees 000", "a beats"],
    outcomes: ["P open"],
  },
  {
    clause: "what is in the proposer's log when its beat is judged is told by what it is",
    steps: ["a proposes P", "a asks R", "b acks P", "b agrees R", "a beats"],
    outcomes: ["P ratified by a:3"],
  },
  {
    clause: "in whichever thread it is",
    steps: ["a proposes P", "a asks R thread=new", "b acks P", "b agrees R", "a beats"],
    outcomes: ["P ratified by a:3"],
  },
  {
    clause: "so is what is in the acker's own log",
    steps: ["a proposes P", "b asks S thread=new", "b acks P", "b agrees S", "a beats"],
    outcomes: ["P ratified by a:2"],
  },
  {
    clause: "an ack of the proposer's proposal in another thread moves it away",
    steps: ["a proposes P", "a proposes Q thread=new", "b acks P", "b acks Q", "a beats"],
    outcomes: ["P open", "Q open"],
  },
  {
    clause: "an ack of a heartbeat is one of no proposal",
    steps: ["a proposes P", "a beats H", "b acks P", "b agrees H", "a beats"],
    outcomes: ["P ratified by a:3"],
  },
  {
    clause: "an answer to a request rejects nothing, whatever it names",
    steps: ["a proposes P", "b acks P", "b rejects P request=0badcafe", "a beats"],
    outcomes: ["P ratified by a:2"],
  },
  {
    clause: "an ack of another proposal takes back no rejection of this one",
    steps: ["a proposes P", "b rejects P", "b proposes S", "b agrees S", "a beats"],
    outcomes: ["P rejected by a:2", "S open"],
  },
  {
    clause: "and an ack of a revert, which is no proposal, leaves it",
    steps: ["a proposes P", "a asks R", "a reverts R", "b acks P", "b acks R", "a beats"],
    outcomes: ["P ratified by a:4"],
  },
  {
    clause: "body.required that names the proposer can never be ratified",
    steps: ["a proposes P needs=a,b", "b acks P", "a beats"],
    outcomes: ["P void"],
  },
  {
    clause: "nor an empty one; one outside the roster waits for it to grow",
    steps: ["a proposes P needs=", "a proposes Q needs=x thread=new", "b acks P", "a beats"],
    outcomes: ["P void", "Q open"],
  },
];

describe("in a pair", () => {
  test.each(PAIR)("$clause", ({ steps, outcomes }) => {
    for (const found of outcomesInAnyOrder(steps)) expect(found).toEqual(outcomes);
  });
});

/** `a` chains, `b` does not: their proposals cross, and a's log decides both. Spec 3.4, *mixed*. */
const MIXED: Row[] = [
  {
    clause: "its ack of the other's ratifies that and withdraws its own, whatever the ids",
    steps: ["a proposes P", "b proposes Q plain", "a agrees Q", "b acks P plain", "a beats"],
    outcomes: ["P withdrawn by a:2", "Q ratified by a:2"],
  },
  {
    clause: "its beat that covers the other's support of its own ratifies that, and withdraws",
    steps: ["a proposes P", "b proposes Q plain", "b acks P plain", "a beats", "a agrees Q"],
    outcomes: ["P ratified by a:2", "Q withdrawn by a:2"],
  },
  {
    clause: "what its heads do not cover by then stays open",
    steps: [
      "a proposes P",
      "b acks P plain",
      "b proposes Q plain",
      "b acks P plain",
      "a beats b=1",
    ],
    outcomes: ["P ratified by a:2", "Q open"],
  },
  {
    clause: "and is decided later",
    steps: [
      "a proposes P",
      "b acks P plain",
      "b proposes Q plain",
      "a beats b=1",
      "a agrees Q",
      "a beats",
    ],
    outcomes: ["P ratified by a:2", "Q ratified by a:3"],
  },
  {
    clause: "a beat that the other chains later changes nothing",
    steps: [
      "a proposes P",
      "b proposes Q plain",
      "a agrees Q",
      "b acks P plain",
      "a beats",
      "b beats",
      "a beats",
    ],
    outcomes: ["P withdrawn by a:2", "Q ratified by a:2"],
  },
  {
    clause: "an ack of what its author had not read counts for nothing",
    steps: ["a proposes P", "b acks P plain", "b proposes Q plain", "a agrees Q", "a beats b=1"],
    outcomes: ["P ratified by a:3", "Q open"],
  },
  {
    clause: "an ack of what was taken back before withdraws nothing of a lower id",
    steps: [
      "b proposes Q plain",
      "b reverts Q plain",
      "a beats",
      "a proposes P thread=0",
      "a agrees Q",
      "a beats",
    ],
    outcomes: ["P open", "Q reverted by b:2"],
  },
  {
    clause: "the first that it acks withdraws the other's other one",
    steps: [
      "a proposes P",
      "b proposes Q plain",
      "a beats",
      "b proposes R plain",
      "a agrees Q",
      "a beats",
    ],
    outcomes: ["P withdrawn by a:3", "Q ratified by a:3", "R open"],
  },
];

describe("one chained, one unchained", () => {
  test.each(MIXED)("$clause", ({ steps, outcomes }) => {
    for (const found of outcomesInAnyOrder(steps)) expect(found).toEqual(outcomes);
  });

  test("whatever the ids, no two proposals of one thread are ratified by crossing acks", () => {
    const ends = ["1", "2", "3", "4", "5", "6", "7", "8"].map((name) => {
      const steps = [
        `a proposes P${name}`,
        `b proposes Q${name} plain`,
        `b acks P${name} plain`,
        `a agrees Q${name}`,
        "a beats",
      ];
      const script = new OutcomeScript("pairwise", ["a", "b"], steps);
      const isLower = script.idOf(`P${name}`) < script.idOf(`Q${name}`);
      const outcomes = script.outcomes(script.fold("a")).map((each) => each.replace(name, ""));
      return { isLower, outcomes };
    });
    expect(new Set(ends.map(({ isLower }) => isLower)).size).toBe(2);
    for (const { outcomes } of ends) {
      expect(outcomes).toEqual(["P withdrawn by a:2", "Q ratified by a:2"]);
    }
  });
});

const UNCHAINED: Row[] = [
  {
    clause: "the acker's log decides, by its first ack",
    steps: ["a proposes P plain", "b acks P", "b rejects P"],
    outcomes: ["P ratified by b:1"],
  },
  {
    clause: "or its first rejection",
    steps: ["a proposes P plain", "b rejects P", "b acks P"],
    outcomes: ["P rejected by b:1"],
  },
  {
    clause: "unless its heads before that line cover a revert",
    steps: ["a proposes P plain", "a reverts P plain", "b beats", "b acks P"],
    outcomes: ["P reverted by a:2"],
  },
  {
    clause: "a revert that those heads do not cover comes too late",
    steps: ["a proposes P plain", "b beats", "a reverts P plain", "b acks P", "b beats"],
    outcomes: ["P ratified by b:2"],
  },
  {
    clause: "also after an ack that names nothing",
    steps: ["a proposes P plain", "b beats", "b acks bare", "a reverts P plain", "b beats"],
    outcomes: ["P ratified by b:2"],
  },
  {
    clause: "or a newer proposal",
    steps: ["a proposes P plain", "a proposes Q plain", "b beats", "b acks P", "b acks Q"],
    outcomes: ["P superseded by a:2", "Q ratified by b:3"],
  },
  {
    clause: "without any answer the acker's heads over a revert settle it",
    steps: ["a proposes P plain", "a reverts P plain", "b beats"],
    outcomes: ["P reverted by a:2"],
  },
  {
    clause: "what those heads covered is not undone by naming it as refused later",
    steps: ["a proposes P plain", "a proposes Q plain", "b beats", "b beats refuses=a:2"],
    outcomes: ["P superseded by a:2", "Q open"],
  },
  {
    clause: "what they named as refused by then does not count",
    steps: ["a proposes P plain", "a proposes Q plain", "b beats refuses=a:2", "b acks P"],
    outcomes: ["P ratified by b:2", "Q open"],
  },
  {
    clause: "between two unchained parties timestamps decide: the revert was first",
    steps: ["a proposes P plain", "b acks bare @9", "a reverts P plain @8"],
    outcomes: ["P reverted by a:2"],
  },
  {
    clause: "the ack was first",
    steps: ["a proposes P plain", "b acks bare @7", "a reverts P plain @8"],
    outcomes: ["P ratified by b:1"],
  },
  {
    clause: "a chained proposal that comes later takes back nothing",
    steps: ["a proposes P plain", "b acks bare", "a beats", "a proposes Q", "b beats"],
    outcomes: ["P ratified by b:1", "Q open"],
  },
  {
    clause: "one bare ack never means two proposals",
    steps: ["a proposes P @6", "b acks bare @5", "a beats", "a proposes Q plain @4"],
    outcomes: ["P ratified by a:2", "Q open"],
  },
  {
    clause: "a bare ack means the only proposal dated before it",
    steps: ["a proposes P plain", "b acks bare @5", "a proposes Q plain @6"],
    outcomes: ["P ratified by b:1", "Q open"],
  },
];

describe("an unchained proposer", () => {
  test.each(UNCHAINED)("$clause", ({ steps, outcomes }) => {
    for (const found of outcomesInAnyOrder(steps)) expect(found).toEqual(outcomes);
  });

  test("asks one agent, however many the wire has", () => {
    const steps = ["a proposes P needs=b plain", "b acks P", "a beats"];
    expect(outcomesOf(steps, "outbox", ["a", "b"])).toEqual(["P ratified by b:1"]);
    expect(outcomesOf(steps, "outbox", ["a", "b", "c"])).toEqual(["P ratified by b:1"]);
    const both = ["a proposes P needs=b,c plain", "b acks P", "c acks P", "a beats"];
    expect(outcomesOf(both, "outbox", ["a", "b", "c"])).toEqual(["P void"]);
  });
});

describe("what an ack names elsewhere stays elsewhere", () => {
  /** What b names before a has written it: anybody can know the id of a line to come. */
  const ID = "ab".repeat(32);
  const LATER = "a asks R";
  const acked = ["a proposes P", "b acks P", `b agrees ${ID}`, "a beats"];

  /** In the order of writing, and one whole log after the other; R has the id that b named. */
  function outcomesNaming(steps: readonly string[]): string[][] {
    const script = new OutcomeScript("pairwise", ["a", "b"], steps);
    const events = script.events("a", ({ message }) =>
      message.subject === "asks R" ? { message: { ...message, id: ID } } : {},
    );
    const own = events.filter(({ log }) => log === "a_to_b");
    const theirs = events.filter(({ log }) => log === "b_to_a");
    const orders = [events, [...own, ...theirs], [...theirs, ...own]];
    return orders.map((order) => script.outcomes(script.fold("a", order)));
  }

  test("the proposer cannot add the line later and turn reverted into ratified", () => {
    for (const found of outcomesNaming([...acked, "a reverts P", LATER, "a beats"])) {
      expect(found).toEqual(["P reverted by a:3"]);
    }
  });

  test("nor open into ratified", () => {
    for (const found of outcomesNaming([...acked, LATER, "a beats"])) {
      expect(found).toEqual(["P open"]);
    }
  });

  test("added before the first beat that covers the ack, it is no proposal", () => {
    for (const found of outcomesNaming([...acked.slice(0, -1), LATER, "a beats"])) {
      expect(found).toEqual(["P ratified by a:3"]);
    }
  });
});

const OUTBOX: Row[] = [
  {
    clause: "unanimity: one of two is not enough",
    steps: ["a proposes P needs=b,c", "b acks P", "a beats"],
    outcomes: ["P open"],
  },
  {
    clause: "both are",
    steps: ["a proposes P needs=b,c", "b acks P", "a beats", "c acks P", "a beats"],
    outcomes: ["P ratified by a:3"],
  },
  {
    clause: "heads that fall back count as the largest before them",
    steps: ["a proposes P needs=b,c", "b acks P", "a beats", "c acks P", "a beats b=0"],
    outcomes: ["P ratified by a:3"],
  },
  {
    clause: "one rejection rejects",
    steps: ["a proposes P needs=b,c", "b acks P", "c rejects P", "a beats"],
    outcomes: ["P rejected by a:2"],
  },
  {
    clause: "an agent that is not required has no voice",
    steps: ["a proposes P needs=b", "c rejects P", "b acks P", "a beats"],
    outcomes: ["P ratified by a:2"],
  },
  {
    clause: "among three a proposal that names nobody is void",
    steps: ["a proposes P", "b acks P", "c acks P", "a beats"],
    outcomes: ["P void"],
  },
  {
    clause: "a rejection speaks until its author acks that one: not when it acks a sibling",
    steps: [
      "a proposes P needs=b",
      "c proposes Q needs=b",
      "b acks P",
      "b rejects P",
      "b agrees Q",
      "a beats",
      "c beats",
    ],
    outcomes: ["P rejected by a:2", "Q ratified by c:2"],
  },
  {
    clause: "an ack of a third agent's sibling moves support, when it says `approve: true`",
    steps: [
      "a proposes P needs=b",
      "c proposes Q needs=b",
      "b acks P",
      "b agrees Q",
      "a beats",
      "c beats",
    ],
    outcomes: ["P open", "Q ratified by c:2"],
  },
  {
    clause: "an ack of a third agent's message takes no support away",
    steps: ["a proposes P needs=b", "c asks R", "b acks P", "b acks R", "a beats"],
    outcomes: ["P ratified by a:2"],
  },
];

describe("in an outbox", () => {
  test.each(OUTBOX)("$clause", ({ steps, outcomes }) => {
    for (const found of outcomesInAnyOrder(steps, ["a", "b", "c"])) expect(found).toEqual(outcomes);
  });

  test("a reader that lacks a covered line waits, and a third party's log is not asked for", () => {
    const steps = ["a proposes P needs=b", "c asks R", "b acks P", "a beats"];
    const script = new OutcomeScript("outbox", ["a", "b", "c"], steps);
    const [proposal, , ack, beat] = script.events("c");
    expect(proposal && beat && ack).toBeDefined();
    if (proposal === undefined || beat === undefined || ack === undefined) return;
    const waiting = script.fold("c", [proposal, beat]);
    expect(script.outcomes(waiting)).toEqual(["P open"]);
    expect(script.outcomes(script.fold("c", [proposal, beat, ack]))).toEqual(["P ratified by a:2"]);
  });

  test("several required parties need an outbox", () => {
    expect(outcomesOf(["a proposes P needs=b,c"], "pairwise", ["a", "b", "c"])).toEqual(["P void"]);
  });
});

describe("crossing counters", () => {
  const crossings = ["1", "2", "3", "4", "5", "6", "7", "8"].map((name) => {
    const steps = [
      `a proposes P${name}`,
      `b proposes Q${name} counters=P${name}`,
      `a acks Q${name}`,
      `b acks P${name}`,
      "a beats",
      "b beats",
    ];
    const script = new OutcomeScript("pairwise", ["a", "b"], steps);
    const isLower = script.idOf(`P${name}`) < script.idOf(`Q${name}`);
    return { name, script, isLower };
  });

  test("both cases are among these", () => {
    expect(new Set(crossings.map(({ isLower }) => isLower)).size).toBe(2);
  });

  test.each(crossings)("the lower id is kept: $name", ({ name, script, isLower }) => {
    expect(script.outcomes(script.fold("a"))).toEqual(
      isLower
        ? [`P${name} ratified by a:3`, `Q${name} withdrawn by b:2`]
        : [`P${name} withdrawn by a:2`, `Q${name} ratified by b:3`],
    );
  });

  test.each(crossings)("also read one log after the other: $name", ({ name, script }) => {
    const events = script.events("a");
    const own = events.filter(({ log }) => log === "a_to_b");
    const theirs = events.filter(({ log }) => log === "b_to_a");
    const expected = script.outcomes(script.fold("a"));
    expect(script.outcomes(script.fold("a", [...own, ...theirs]))).toEqual(expected);
    expect(script.outcomes(script.fold("a", [...theirs, ...own]))).toEqual(expected);
    expect(expected[0]).toContain(`P${name}`);
  });

  test("a rejection of the lower sibling rejects it, and the higher is kept", () => {
    for (const { name, isLower } of crossings) {
      const [lower, higher] = isLower ? ["P", "Q"] : ["Q", "P"];
      const authorOf = { P: "a", Q: "b" } as Record<string, string>;
      const low = authorOf[lower] ?? "";
      const high = authorOf[higher] ?? "";
      const outcomes = outcomesOf([
        `a proposes P${name}`,
        `b proposes Q${name} counters=P${name}`,
        `${high} rejects ${lower}${name}`,
        `${low} acks ${higher}${name}`,
        `${low} beats`,
        `${high} beats`,
      ]);
      expect(outcomes).toContain(`${lower}${name} rejected by ${low}:3`);
      expect(outcomes).toContain(`${higher}${name} ratified by ${high}:3`);
    }
  });
});

describe("lines that we refused", () => {
  const steps = ["a proposes P", "b acks P", "a beats"];
  const script = new OutcomeScript("pairwise", ["a", "b"], steps);
  const reasons = (reason: "clock_skew" | "log_forked", of: string) =>
    script.order.map((line) =>
      lineEvent(line, "a", { refused: line.message.type === of ? reason : undefined }),
    );

  test.each([
    "clock_skew",
    "unchained",
    "tier_refused",
    "body_too_large",
    "too_many_refs",
  ] as const)("%s: the line still speaks for its author", (reason) => {
    const events = script.order.map((line) => lineEvent(line, "a", { refused: reason }));
    expect(script.outcomes(script.fold("a", events))).toEqual(["P ratified by a:2"]);
  });

  test.each(["wrong_wire", "log_forked", "replayed"] as const)("%s: it does not", (reason) => {
    const events = script.order.map((line) => lineEvent(line, "a", { refused: reason }));
    expect(script.outcomes(script.fold("a", events))).toEqual([]);
  });

  test("an ack of a forked log is none, and the heads name what is not there", () => {
    const state = script.fold("a", reasons("log_forked", "ack"));
    expect(script.outcomes(state)).toEqual(["P open"]);
    expect(state.logs.get("a_to_b")?.mismatches).toEqual([{ beat: 2, target: "b_to_a", lines: 1 }]);
  });
});

describe("plain lines appended by hand beside daemons that chain", () => {
  test("are ruled as unchained: the example's two decisions, the second by who countered", () => {
    const outcomes = outcomesOf([
      "a beats",
      "b beats",
      "a proposes P plain thread=new",
      "b beats",
      "b acks bare",
      "a beats",
      "b proposes Q plain thread=new @8",
      "a beats",
      "a proposes R plain thread=2026-11-20T12:00:08.000000Z",
      "b beats",
      "b acks bare thread=2026-11-20T12:00:08.000000Z",
      "a beats",
      "b beats",
    ]);
    expect(outcomes).toEqual(["P ratified by b:3", "Q open", "R ratified by b:6"]);
  });
});

describe("threads that share a name", () => {
  test("two roots of the same second are decided apart", () => {
    const outcomes = outcomesOf([
      "a proposes P thread=new plain @3",
      "b proposes Q thread=new plain @3",
      "a acks Q plain @4",
      "b acks P plain @4",
    ]);
    expect(outcomes).toEqual(["P ratified by b:2", "Q ratified by a:2"]);
  });
});
