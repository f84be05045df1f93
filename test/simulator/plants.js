/**
 * Mistakes that one could make in this program. Each is put into the running code when Node loads
 * it (`DEADDROP_PLANT=name`), never into the sources, and the proof has to find it: the simulator
 * within 300 seeds, or the test that is named.
 */
export const PLANTS = [
  {
    name: "no fsync",
    file: "src/storage/own-log/pending.ts",
    find: "file.append(record);\n        file.datasync();",
    put: "file.append(record);",
  },
  {
    name: "cursor before inbox",
    file: "src/agent/session/open-session.ts",
    find: "restoreInbox({ disk, place, memory, files })",
    put: "true",
  },
  {
    name: "decision without lock check",
    file: "src/storage/files/shared-file.ts",
    find: "const present = findLine(file, options.find, knownTo(file, options.known));",
    put: "const present = undefined;",
    test: "test/storage/files/shared-file.test.ts",
  },
  {
    name: "prefix not re-checked",
    file: "src/storage/files/tail.ts",
    find: "if (prefixHash(file, cursor.offset) === cursor.prefixHash) return undefined;",
    put: "if (stat.size >= cursor.offset) return undefined;",
    test: "test/storage/files/tail.test.ts",
  },
  {
    name: "torn tail consumed",
    file: "src/storage/files/tail.ts",
    find: "const more = splitter.position < stat.size;",
    put: "for (const { bytes, start, end } of splitter.feed(Buffer.from('\\n'))) addLine(lines, bytes, { start, end: end - 1, line: (line += 1) });\n  const more = splitter.position < stat.size;",
  },
  {
    name: "seq reused after crash",
    file: "src/storage/own-log/pending.ts",
    find: "let lines = readRecords(readWhole(disk, path));",
    put: "let lines = [];",
  },
  {
    name: "base64 lenient",
    file: "src/wire/signature.ts",
    find: 'if (bytes.length !== length || bytes.toString("base64") !== base64) return undefined;',
    put: "",
  },
  {
    name: "keys sorted by UTF-16",
    file: "src/wire/canonical.ts",
    find: "return keys.some(hasHighUnit) ? keys.sort(byCodePoint) : keys;",
    put: "return keys;",
  },
  {
    name: "replay by correlation id",
    file: "src/admission/judge.ts",
    find: "const tagBefore = log.seen.tagOf(message);",
    put: "log.threads ??= new Map();\n  const tagBefore = log.threads.get(message.correlationId);\n  log.threads.set(message.correlationId, message.lineTag);",
    test: "test/admission/admission.property.test.ts",
  },
  {
    name: "cursor over bytes that nobody judged",
    file: "src/storage/files/tail.ts",
    find: "const cursor = isSame ? again.cursor : undefined;",
    put: "const cursor = again.cursor;",
    test: "test/storage/files/tail.test.ts",
  },
  {
    name: "a repair that is not due taken for damage",
    file: "src/agent/intake/trouble/log-anomalies.ts",
    find: "if (!isLookedAt || session",
    put: "if (session",
    test: "test/scenes/storage-trouble.test.ts",
  },
  {
    name: "promised lines forgotten in the time of the next",
    file: "src/agent/session/open-session.ts",
    find: "noteSent(memory, files.own.writer.promised, world.clock.wallMs());",
    put: "",
    test: "test/scenes/storage-trouble.test.ts",
  },
  {
    name: "first line of a run forgotten",
    file: "src/admission/rules/seen-ids.ts",
    find: "if (first <= seq && seq < first + count) {",
    put: "if (first < seq && seq < first + count) {",
    test: "test/admission/seen-ids.test.ts",
  },
  {
    name: "ack of an older proposal counted",
    file: "src/protocol/decisions/party-position.ts",
    find: 'const target = line.says === "ack" ? ackTarget(of, proposal, line) : undefined;',
    put: 'const target = line.says === "ack" ? proposal.id : undefined;',
    test: "test/protocol/decisions/outcomes.test.ts",
  },
  {
    name: "ack of another takes back a rejection",
    file: "src/protocol/decisions/party-position.ts",
    find: "[support, ack] = [target, undefined];",
    put: "[support, ack, rejection] = [target, undefined, undefined];",
    test: "test/protocol/decisions/outcomes.test.ts",
    title: "'a rejection speaks until its author a…'",
  },
  {
    name: "looks for the named line in the whole log",
    file: "src/protocol/decisions/party-position.ts",
    find: "named !== undefined && named.line < before",
    put: "named !== undefined",
    test: "test/protocol/decisions/outcomes.test.ts",
    title: "the proposer cannot add the line later and turn reverted into ratified",
  },
  {
    name: "what was elsewhere may come later",
    file: "src/protocol/decisions/party-position.ts",
    find: 'if (proposal.elsewhere.has(ack.id)) return "elsewhere";',
    put: "",
    test: "test/protocol/decisions/outcomes.test.ts",
  },
  {
    name: "an ack withdraws by the heads before it alone",
    file: "src/protocol/decisions/chained-outcome.ts",
    find: "withdrawnBy(of, proposal, pending, step.line) ?? ",
    put: "",
    test: "test/protocol/decisions/agreement.property.test.ts",
  },
  {
    name: "a refused rival withdraws nothing",
    file: "src/protocol/decisions/chained-outcome.ts",
    find: "if (line === undefined || line > (covered[0] ?? 0)) return false;",
    put: "if (line === undefined || line > (covered[0] ?? 0) || (of.logs.get(proposal.log)?.covers.get(logs[0])?.refused ?? []).some(({ first, last }) => first <= line && line <= last)) return false;",
    test: "test/protocol/decisions/refused-rivals.test.ts",
  },
  {
    name: "an ack waits for every log, whatever it may name",
    file: "src/protocol/decisions/chained-outcome.ts",
    find: "if (target < proposal.id) return readersOf(",
    put: "if (target < proposal.id || proposal.required.length === 1) return readersOf(",
    test: "test/protocol/decisions/awaited-lines.test.ts",
  },
  {
    name: "a refused counter moves no support",
    file: "src/protocol/decisions/party-position.ts",
    find: '(line) => (line.says === "proposal" && agreedTo.has(line.id)) || !isRefused(line),',
    put: "(line) => !isRefused(line),",
    test: "test/protocol/decisions/refused-rivals.test.ts",
  },
  {
    name: "mixed proposals by the lower id",
    file: "src/protocol/decisions/chained-outcome.ts",
    find: '(ack.target ?? "") < proposal.id || ratifiesUnchained(of, proposal, ack)',
    put: '(ack.target ?? "") < proposal.id',
    test: "test/protocol/decisions/outcomes.test.ts",
  },
  {
    name: "clock from sender",
    file: "src/protocol/heartbeats/peer-beats.ts",
    find: "at: event.at,",
    put: "at: event.message.timestampMs,",
    test: "test/protocol/heartbeats/liveness.test.ts",
  },
  {
    name: "incident about an incident",
    file: "src/protocol/incidents/incident-lines.ts",
    find: ' && field(body, "cause") === undefined',
    put: "",
    test: "test/protocol/incidents/incidents.test.ts",
  },
  {
    name: "silence by the sender's clock",
    file: "src/protocol/logs/logs.ts",
    find: "    at: event.at,",
    put: "    at: event.message.timestampMs,",
    test: "test/protocol/decisions/proposal-deadlines.test.ts",
    title: "runs by our clock, although the sender's is an hour ahead of it",
  },
  {
    name: "a hold is of one log",
    file: "src/agent/intake/read-log.ts",
    find: "!isOwn(session, intake) && session.env.reading.heldPeers.has(intake.log.owner)",
    put: "!isOwn(session, intake) && intake.admission.held !== undefined",
    test: "test/scenes/holds.test.ts",
    title: "a peer that forked the log of another reader is held: its log to us is not read either",
  },
  {
    name: "held event lost in a replay",
    file: "src/agent/state/journal-replay.ts",
    find: "takeLocal(replay.memory, event);",
    put: 'if (event.kind !== "held") takeLocal(replay.memory, event);',
    test: "test/scenes/holds.test.ts",
    title:
      "an author who rewrote its log stays held after a restart from its journal, also when the log is as it was",
  },
  {
    name: "a fork forgotten with its line",
    file: "src/agent/state/journal-replay.ts",
    find: 'if (entry.reason === "log_forked") {',
    put: "if (false) {",
    test: "test/scenes/holds.test.ts",
    title:
      "an author who forked its log stays held after a restart from its journal, also when the fork is gone",
  },
  {
    name: "remembered heads go back",
    file: "src/agent/intake/commit-batch.ts",
    find: "if (head === undefined || head.seq <= (files.heads.peer(name)?.seq ?? 0)) return;",
    put: "if (head === undefined) return;",
    test: "test/scenes/holds.test.ts",
    title: "the head that we remember of a peer stays where it was while history is read again",
  },
  {
    name: "head remembered before it is written",
    file: "src/storage/own-log/heads.ts",
    find: "      disk.replace(path, bytes, 0o600);",
    put: "      if (nextPeers !== undefined) refill(peers, nextPeers);\n      disk.replace(path, bytes, 0o600);",
    test: "test/storage/own-log/heads.test.ts",
    title: "a head that could not be written is not remembered: the next save writes it",
  },
  {
    name: "checkpoint forgets the last receipt",
    file: "src/agent/state/checkpoint.ts",
    find: "    intake.past.lastAt = each.lastAt;\n",
    put: "",
    test: "test/agent/state/checkpoint.test.ts",
    title: "a checkpoint keeps all of the memory that is not of the moment",
  },
  {
    name: "checkpoint forgets where history ends",
    file: "src/agent/state/checkpoint.ts",
    find: "    intake.past.historyTo = each.historyTo;\n",
    put: "",
    test: "test/agent/state/checkpoint.test.ts",
    title: "a checkpoint keeps all of the memory that is not of the moment",
  },
  {
    name: "checkpoint forgets that our key is in use",
    file: "src/agent/state/checkpoint.ts",
    find: "    inUse: saved.inUse,\n",
    put: "",
    test: "test/agent/state/checkpoint.test.ts",
    title: "a checkpoint keeps all of the memory that is not of the moment",
  },
  {
    name: "checkpoint forgets what a log lacks",
    file: "src/agent/state/checkpoint.ts",
    find: "intake.awaited.set(entry.id, entry);",
    put: ";",
    test: "test/agent/state/checkpoint.test.ts",
    title: "a checkpoint keeps all of the memory that is not of the moment",
  },
  {
    name: "incident waits by the beat that covers",
    file: "src/protocol/incidents/incident-deadlines.ts",
    find: "(last ?? beat).cadenceMs",
    put: "beat.cadenceMs",
    test: "test/protocol/incidents/incidents.test.ts",
    title: "waits as long as it advertised last, from the beat that covers",
  },
  {
    name: "an event shortens the wait for the disk",
    file: "src/agent/state/storage-troubles.ts",
    find: "return this.#edges.clock.monoMs() >= trouble.dueMs;",
    put: "return true;",
    test: "test/scenes/storage-trouble.test.ts",
    title: "a failing wire, of which nobody can say when it works again, is tried every 30 s",
  },
  {
    name: "a torn end of ours is cut again and again",
    file: "src/storage/own-log/own-log-repair.ts",
    find: "const isOurBeginning = cutAt !== undefined && isTornBefore(file, cutAt, missing);",
    put: "const isOurBeginning = false;",
    test: "test/storage/own-log/log-writer.test.ts",
    title: "goes on where a write of ours ended: nothing is cut, and nothing copied",
  },
  {
    name: "pending forgets before the copy has it",
    file: "src/storage/own-log/log-writer.ts",
    find: "this.#copies.keep(log.log, this.#pending?.lines ?? []);",
    put: "",
    test: "test/storage/own-log/log-writer.test.ts",
    title: "gives all of it back to a log that is missing",
  },
  {
    name: "goes on past a hole",
    file: "src/storage/own-log/own-log-restore.ts",
    find: "if (last === undefined || last.seq < (record?.seq ?? 0)) return undefined;",
    put: "if (last === undefined) return undefined;\n  record = undefined;",
    test: "test/storage/own-log/log-writer.test.ts",
    title: "does not go on past a hole: a copy that is older than the log was gives nothing back",
  },
  {
    name: "a copy doubts what is durable",
    file: "src/storage/own-log/own-copy.ts",
    find: "find(({ seq }) => seq > durable)",
    put: "at(0)",
    test: "test/storage/own-log/log-writer.test.ts",
    title: "gives back what pending still names, when a crash came before pending forgot it",
  },
  {
    name: "an ack of an unknown line leaves nothing open",
    file: "src/protocol/decisions/unchained-outcome.ts",
    find: "if (step.isUnsure === true) isSure = false;",
    put: "",
    test: "test/protocol/decisions/outcomes.property.test.ts",
    title: "an ack of what has not come yet leaves open what later acks decide",
  },
];

/** The plant that this process runs with, if any. Throws when there is none of that name. */
export function plantedHere(name = process.env.DEADDROP_PLANT) {
  if (name === undefined || name === "") return undefined;
  const plant = PLANTS.find((each) => each.name === name);
  if (plant === undefined) throw new Error(`no plant is named "${name}"`);
  return plant;
}

/** The text of a source file with the mistake in it. Throws when it has no place for it any more. */
export function withPlant(plant, path, text) {
  if (plant === undefined || !path.endsWith(`/${plant.file}`)) return text;
  const pieces = text.split(plant.find);
  if (pieces.length !== 2)
    throw new Error(`"${plant.name}" fits ${pieces.length - 1} places of ${plant.file}`);
  return pieces.join(plant.put);
}
