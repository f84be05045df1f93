const PLANTED = "test/protocol/asks/planted.long.test.ts";
const BY_MODEL = "test/protocol/asks/model.long.test.ts";

/** What lines mean. In brackets: the clause of the design whose absence it is. */
export const RULES_PLANTS = [
  {
    // 6.4: the asker's daemon closes
    name: "a rejection closes nothing",
    file: "src/protocol/asks/closing.ts",
    find: 'if (no !== undefined) return end("rejected", no.entry);',
    put: "",
  },
  {
    name: "members who leave stay",
    file: "src/protocol/asks/roster.ts",
    find: "const left = new Set(leaves.map(({ author }) => author));",
    put: "const left = new Set();",
  },
  {
    // 6.2: the first valid close is the outcome
    name: "an invalid close is an outcome",
    file: "src/protocol/asks/closes.ts",
    find: 'if (before === undefined || entries.length !== parties.length) return "no";',
    put: 'if (before !== undefined) return "yes";',
  },
  {
    name: "anybody may close an ask",
    file: "src/protocol/asks/closes.ts",
    find: "if (author !== place.author || !history.descends(line.place, place)) return undefined;",
    put: "",
  },
  {
    // 6.3 [by "the author's daemon" too, an upgrade closes it twice]
    name: "the asker closes its unchained ask",
    file: "src/protocol/asks/closes.ts",
    find: "const isTheirs = isParty && (ask.parties?.[0] ?? author) === author && author !== place.author;",
    put: "const isTheirs = isParty && author !== undefined;",
    test: BY_MODEL,
  },
  {
    // 6.2, 4 [nobody can un-know; by heads alone a silent asker could]
    name: "an asker forgets what it knew",
    file: "src/protocol/asks/closes.ts",
    find: 'if (history.isKnownBehind(before, at)) return "no";',
    put: "",
    test: PLANTED,
  },
  {
    // 6.2, 1
    name: "an asker is bound to what it has left",
    file: "src/protocol/asks/closes.ts",
    find: 'if (ask.is === "proposal" && !isPosition(history, before, ask)) return "no";',
    put: "",
    test: PLANTED,
  },
  {
    // 6.2, 3
    name: "any answer does, not the last one",
    file: "src/protocol/asks/closes.ts",
    find: "isTrue(yes !== undefined && isSamePlace(yes, ack)),",
    put: "isTrue(yes !== undefined),",
    test: PLANTED,
  },
  {
    // 6.2: a reader that lacks lines waits
    name: "lines that are not held are not waited for",
    file: "src/protocol/asks/closes.ts",
    find: 'unlinked === undefined ? "yes" : lacking(unlinked),',
    put: '"yes",',
    test: PLANTED,
  },
  {
    // 6.3
    name: "a bare ack binds an agent that chains",
    file: "src/protocol/asks/closes.ts",
    find: 'if (ask.isOfMembers || history.knowsChain(before, by)) return "no";',
    put: 'if (ask.isOfMembers) return "no";',
    test: PLANTED,
  },
  {
    // 6.3: a bare ack means the asker's only ask in the thread
    name: "a bare ack means two asks",
    file: "src/protocol/asks/closes.ts",
    find: "return isToAsker && history.standing(before, thread).asks === 1;",
    put: "return isToAsker;",
    test: BY_MODEL,
  },
  {
    // 6.2: of branches that differ, what a required party's chain names stands
    name: "a fork of the asker is always a dispute",
    file: "src/protocol/asks/outcome.ts",
    find: "return standing !== undefined && others.length === 0",
    put: "return standing !== undefined && others.length < 0",
    test: BY_MODEL,
  },
  {
    // 8 [else honest agents fork the roster]
    name: "two changes of members are taken at once",
    file: "src/protocol/asks/closes.ts",
    find: '  if (before === undefined) return "yes";\n  const listed',
    put: '  if (before !== undefined || before === undefined) return "yes";\n  const listed',
    test: BY_MODEL,
  },
  {
    // 8 [a false old roster needs nobody]
    name: "a change starts from any roster",
    file: "src/protocol/asks/closes.ts",
    find: 'if (!isOfThem || !isSameRoster(change.starts, left)) return "no";',
    put: "",
    test: BY_MODEL,
  },
  {
    // 1: chained lines of another wire
    name: "lines of another wire are taken",
    file: "src/agent/lines/intake.ts",
    find: "return line.isOfWire && (line.author !== this.#by.self || this.#isMarked(line));",
    put: "return line.author !== this.#by.self || this.#isMarked(line);",
    test: "test/agent/lines/model.long.test.ts",
  },
];
