/** Stores, carriers, files and our own chain. In brackets: the clause of the design whose absence it is. */
export const FILES_PLANTS = [
  {
    // [a mark is written and synced before a line is published]
    name: "a line is published before its mark",
    file: "src/agent/core.ts",
    find: "        this.#raiseMark(last.seq);",
    put: "",
  },
  {
    // [a restored store would sign its numbers again]
    name: "signs below its mark",
    seeds: 12,
    file: "src/agent/lines/own-lines.ts",
    find: 'if (seq < mark.seq) return { is: "behind", whole: seq, mark: mark.seq };',
    put: 'if (seq < mark.seq) return { is: "ready" };',
  },
  {
    // [whoever deletes the folder destroys no evidence]
    name: "carriers are not looked at again",
    file: "src/carriers/publisher.ts",
    find: "files.every((path) => lookOf(disk, path) === known.files[path]);",
    put: "files.length > 0;",
  },
  {
    name: "a torn line is not ended",
    file: "src/carriers/publisher.ts",
    find: "file.append(isWhole ? bytes : Buffer.concat([LINE_END, bytes]));",
    put: "file.append(bytes);",
  },
  {
    // [a cursor only saves work]
    name: "a cursor outlives its file",
    file: "src/carriers/reader.ts",
    find: "return stat.size >= cursor.offset && prefixHash(file, cursor.offset) === cursor.prefixHash;",
    put: "return true;",
  },
  {
    // [one mechanism serves gaps, stale copies and restored stores]
    name: "wants are not served",
    file: "src/protocol/beats/serving.ts",
    find: "if (asked.size < MOST_LINES_A_BEAT) asked.set(line.n, line);",
    put: "continue;",
  },
  {
    // [wants of one's own name: a restored store cannot chain yet]
    name: "unchained wants count for nothing",
    file: "src/protocol/beats/serving.ts",
    find: "if (!isChained && want.last.author !== reader) continue;",
    put: "if (!isChained) continue;",
  },
  {
    name: "inbox.jsonl forgets what it has",
    file: "src/agent/plain-files.ts",
    find: "!present.has(m) && !this.#unknown.delete(id)",
    put: "m > 0 || id",
  },
  {
    name: "a line ahead of a gap is thrown away",
    file: "src/agent/lines/intake.ts",
    find: "} else if (chains.wait(this.#waiting(line, isLive, { isProven: true, isVerified }))) {",
    put: "} else if (true) {",
  },
  {
    // [nothing is adopted above the mark: a thief's next line would become ours]
    name: "lines above the mark are adopted",
    file: "src/agent/lines/intake.ts",
    find: "return mark !== undefined && (seq < mark.seq || (seq === mark.seq && id === mark.id));",
    put: "return mark !== undefined && seq >= 0 && id !== '';",
    test: "test/agent/lines/intake.test.ts",
  },
];
