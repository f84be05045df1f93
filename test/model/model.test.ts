import { describe, expect, it, test } from "vitest";
import { randomFrom } from "../support/random.ts";
import { PINNED, idOf, readLines, withChains } from "./lines.ts";
import {
  findingsOf,
  knownAt,
  placesNamedBy,
  positionAt,
  readWire,
  type AskOutcome,
  type ModelLine,
  type Pinned,
  type Place,
} from "./model.ts";
import { findBrokenPromises } from "./properties.ts";
import { randomWire } from "./random-wire.ts";
import { findBrokenInSmallWires } from "./small-wires.ts";

const place = (author: string, seq: number | null, name: string): Place => [
  author,
  seq,
  idOf(name),
];

/** What is found about one ask, with whatever its chain needs to be linked. */
function outcomesOf(
  name: string,
  lines: readonly ModelLine[],
  pinned: Pinned = PINNED,
): readonly AskOutcome[] {
  return findingsOf(pinned, withChains(lines)).asks.filter(({ ask }) => ask[2] === idOf(name));
}

const without = (lines: readonly ModelLine[], ...names: string[]): readonly ModelLine[] =>
  lines.filter(({ id }) => !names.some((name) => id === idOf(name)));

// The examples of next 3.4.1: f20 is a proposal to scribe and ann, f21 a request to scribe.
const F20 = `
{"seq":20,"from":"forge","to":["scribe","ann"],"type":"proposal","event_id":"f20","correlation_id":"T1","timestamp":"T1","body":{"required":["scribe","ann"],"decision":"Format v3.1 is frozen until May."}}
{"seq":15,"from":"scribe","type":"ack","event_id":"s15","correlation_id":"T1","body":{"acks":["forge",20,"f20"],"approve":true}}
`;
const AU1 = `
{"from":"ann","to":["forge"],"type":"ack","body":"","correlation_id":"T1","event_id":"au1"}
`;
const F21 = `
{"seq":21,"from":"forge","to":["scribe"],"type":"request","event_id":"f21","correlation_id":"T2","body":{"request_type":"plan_approval","plan":"P7"}}
{"seq":16,"from":"scribe","type":"ack","correlation_id":"T2","body":{"answers":["forge",21,"f21"],"approve":false}}
{"seq":17,"from":"scribe","type":"ack","correlation_id":"T3","body":{"about":["forge",18,"f18"]}}
`;
const F24 = `
{"seq":24,"from":"forge","to":["scribe","ann"],"type":"correction","event_id":"f24","correlation_id":"T1","body":{"decides":["forge",20,"f20"],"outcome":"approved","answers":[{"by":"scribe","ack":[15,"s15"],"at":[17,"s17"]},{"by":"ann","ack":[null,"au1"]}],"reason":"agreed by all"}}
`;
const F25 = `
{"seq":25,"from":"forge","type":"correction","event_id":"f25","correlation_id":"T2","body":{"decides":["forge",21,"f21"],"of":"scribe","outcome":"ended","answers":[{"by":"scribe","ack":[16,"s16"],"at":[17,"s17"]}],"reason":"rejected"}}
`;
const S18 = `
{"seq":18,"from":"scribe","to":["forge"],"type":"proposal","event_id":"s18","correlation_id":"T1","body":{"counters":["forge",20,"f20"],"required":["forge"],"decision":"Frozen until June."}}
`;

describe("the examples of next 3.4", () => {
  const agreed = withChains(readLines(F20 + AU1 + F21 + F24));

  it("f24 approves f20 with the bare ack of ann", () => {
    expect(outcomesOf("f20", agreed)).toEqual([
      {
        ask: place("forge", 20, "f20"),
        outcome: "approved",
        close: place("forge", 24, "f24"),
        isUnprovedByName: true,
      },
    ]);
  });

  it("f24 waits for scribe up to 17, and for ann's ack", () => {
    const rest = without(agreed, "s12", "au1");
    expect(findingsOf(PINNED, rest).asks.find(({ ask }) => ask[1] === 20)).toEqual({
      ask: place("forge", 20, "f20"),
      outcome: "pending",
      waitsFor: [
        ["ann", null],
        ["scribe", 17],
      ],
    });
  });

  it("while f24 is open, no later close of f20 is judged", () => {
    const later = readLines(
      '{"seq":25,"from":"forge","type":"correction","correlation_id":"T1","body":{"decides":["forge",20,"f20"],"outcome":"ended","answers":[]}}',
    );
    const rest = without([...agreed, ...later], "s12");
    expect(findingsOf(PINNED, rest).asks.find(({ ask }) => ask[1] === 20)?.outcome).toBe("pending");
    expect(outcomesOf("f20", [...agreed, ...later])[0]?.outcome).toBe("approved");
  });

  it("f24 is invalid when a beat before it shows s18", () => {
    const beat = readLines(
      '{"seq":23,"from":"forge","type":"heartbeat","body":{"heads":{"scribe":[18,"s18",17]}}}',
    );
    const lines = [...without(agreed, "f23"), ...beat, ...readLines(S18)];
    expect(outcomesOf("f20", lines)).toEqual([
      { ask: place("forge", 20, "f20"), outcome: "pending" },
    ]);
    // While s18 is not held, f24 may turn out to be either.
    expect(outcomesOf("f20", without(lines, "s18"))).toEqual([
      { ask: place("forge", 20, "f20"), outcome: "pending", waitsFor: [["scribe", 18]] },
    ]);
  });

  it("what the asker did not know leaves f24 valid", () => {
    expect(outcomesOf("f20", [...agreed, ...readLines(S18)])[0]?.outcome).toBe("approved");
  });

  it("f25 ends the request and names the rejecting answer", () => {
    const lines = readLines(F21 + F25);
    expect(outcomesOf("f21", lines)).toEqual([
      {
        ask: place("forge", 21, "f21"),
        of: "scribe",
        outcome: "rejected",
        close: place("forge", 25, "f25"),
      },
    ]);
    expect(outcomesOf("f21", without(lines, "s16"))[0]?.outcome).toBe("ended");
  });

  it("forge's position is s18 once it acks s18, and f20 cannot be approved any more", () => {
    const ack = readLines(
      '{"seq":22,"from":"forge","type":"ack","correlation_id":"T1","body":{"acks":["scribe",18,"s18"],"approve":true}}',
    );
    const again = readLines(
      '{"seq":23,"from":"forge","type":"ack","correlation_id":"T1","body":{"acks":["forge",20,"f20"],"approve":true}}',
    );
    const withdrawn = [...without(agreed, "f22"), ...ack, ...readLines(S18)];
    const wire = readWire(PINNED, withChains(withdrawn));
    const at = (seq: number): ModelLine | undefined =>
      wire.lines.find(({ author, seq: other }) => author === "forge" && other === seq);
    const before = at(21);
    const after = at(22);
    if (before === undefined || after === undefined) throw new Error("lines are missing");
    expect(positionAt(wire, before, "T1")).toEqual(place("forge", 20, "f20"));
    expect(positionAt(wire, after, "T1")).toEqual(place("scribe", 18, "s18"));
    expect(outcomesOf("f20", withdrawn)[0]?.outcome).toBe("pending");
    // Naming s18 makes it known: scribe has to come back to f20 as well.
    const s19 = readLines(
      '{"seq":19,"from":"scribe","type":"ack","correlation_id":"T1","body":{"acks":["forge",20,"f20"],"approve":true}}',
    );
    const later = readLines(
      F24.replace('"ack":[15,"s15"],"at":[17,"s17"]', '"ack":[19,"s19"],"at":[19,"s19"]'),
    );
    const back = [...without(withdrawn, "f23", "f24"), ...again, ...later, ...s19];
    expect(outcomesOf("f20", back)[0]?.outcome).toBe("approved");
    expect(outcomesOf("f20", without(back, "f23"))[0]?.outcome).toBe("pending");
  });

  // Next 3.4.4.
  const forked = [
    ...agreed,
    ...readLines(`
{"seq":24,"prev":"f23","from":"forge","type":"correction","event_id":"f24x","correlation_id":"T1","body":{"decides":["forge",20,"f20"],"outcome":"ended","answers":[],"reason":"no time"}}
{"seq":26,"from":"forge","type":"heartbeat","event_id":"f26","body":{}}`),
  ];
  const s19 = readLines(
    '{"seq":19,"from":"scribe","type":"heartbeat","event_id":"s19","body":{"heads":{"forge":[26,"f26",26]}}}',
  );

  it("where forge approves and ends f20, what scribe's s19 names stands", () => {
    expect(outcomesOf("f20", forked)[0]?.outcome).toBe("disputed");
    expect(outcomesOf("f20", [...forked, ...s19])[0]).toMatchObject({
      outcome: "approved",
      close: place("forge", 24, "f24"),
    });
  });

  // Next 3.4.5.
  it("scribe's s22 approves ann's unchained proposal", () => {
    const lines = readLines(`
{"from":"ann","to":["scribe"],"type":"proposal","event_id":"au2","correlation_id":"T4","body":{"decision":"Weekly sync on Monday."}}
{"seq":21,"from":"scribe","type":"ack","correlation_id":"T4","body":{"acks":["ann",null,"au2"],"approve":true}}
{"seq":22,"from":"scribe","type":"correction","event_id":"s22","correlation_id":"T4","body":{"decides":["ann",null,"au2"],"outcome":"approved","answers":[],"reason":"agreed"}}`);
    const close = place("scribe", 22, "s22");
    expect(outcomesOf("au2", lines)).toEqual([
      { ask: place("ann", null, "au2"), outcome: "approved", close },
    ]);
    expect(outcomesOf("au2", without(lines, "s22"))[0]?.outcome).toBe("pending");
    const byForge = readLines(
      '{"seq":9,"from":"forge","type":"correction","correlation_id":"T4","body":{"decides":["ann",null,"au2"],"outcome":"ended"}}',
    );
    expect(outcomesOf("au2", [...lines, ...byForge])[0]).toMatchObject({ close });
  });
});

describe("void asks (next 3.4.1)", () => {
  const close = (body: string): string =>
    `{"seq":2,"from":"forge","type":"correction","correlation_id":"T","body":{"decides":["forge",1,"f1"],${body}}}`;
  const approved = close(
    '"outcome":"approved","answers":[{"by":"scribe","ack":[1,"s1"],"at":[1,"s1"]}]',
  );
  const s1 =
    '{"seq":1,"from":"scribe","type":"ack","correlation_id":"T","body":{"acks":["forge",1,"f1"],"approve":true}}';
  const asked = (to: string, required: string): string =>
    `{"seq":1,"from":"forge",${to}"type":"proposal","correlation_id":"T","body":{${required}}}`;

  it.each([
    ["one other handle", '"to":["scribe"],', "", "approved"],
    ["required of all", '"to":"*",', '"required":["scribe"]', "approved"],
    ["required without `to`", "", '"required":["scribe"]', "approved"],
    [
      "the second spelling of a handle",
      '"to":["scribe"],',
      '"required":["did:wire:scribe"]',
      "approved",
    ],
    ["nobody in particular", '"to":"*",', "", "pending"],
    ["two handles without required", '"to":["scribe","ann"],', "", "pending"],
    ["required is no list", '"to":["scribe"],', '"required":"scribe"', "pending"],
    ["required is null", '"to":["scribe"],', '"required":null', "pending"],
    ["required is empty", '"to":["scribe"],', '"required":[]', "pending"],
    ["required of whom `to` does not name", '"to":["ann"],', '"required":["scribe"]', "pending"],
    ["one handle twice", '"to":"*",', '"required":["scribe","did:wire:scribe"]', "pending"],
    ["the asker itself", '"to":"*",', '"required":["scribe","forge"]', "pending"],
  ])("%s", (_, to, required, outcome) => {
    const lines = readLines([asked(to, required), s1, approved].join("\n"));
    expect(outcomesOf("f1", lines)[0]?.outcome).toBe(outcome);
    const ended = readLines([asked(to, required), close('"outcome":"ended"')].join("\n"));
    expect(outcomesOf("f1", ended)[0]?.outcome).toBe("ended");
  });
});

describe("an unchained answer (next 3.4.5)", () => {
  const f20 =
    '{"seq":20,"from":"forge","to":["ann"],"type":"proposal","event_id":"f20","correlation_id":"T1","timestamp":"T1","body":{}}';
  const f21 =
    '{"seq":21,"from":"forge","type":"correction","correlation_id":"T1","body":{"decides":["forge",20,"f20"],"outcome":"approved","answers":[{"by":"ann","ack":[null,"au1"]}]}}';
  const by = (body: string, more = ""): string =>
    `{"from":"ann","to":["forge"],"type":"ack","correlation_id":"T1","event_id":"au1",${more}"body":${body}}`;

  it.each([
    ["names the ask by its id", by('{"acks":"f20"}'), "approved"],
    ["is bare", by('""'), "approved"],
    ["rejects", by('{"acks":"f20","approve":false}'), "pending"],
    ["names another ask", by('{"acks":"f19"}'), "pending"],
    ["answers another request", by('{"request_id":"00000000"}'), "pending"],
    ["is not signed", by('{"acks":"f20"}', '"unsigned":true,'), "pending"],
    ["is for somebody else", by('""').replace('["forge"]', '["scribe"]'), "pending"],
  ])("%s", (_, answer, outcome) => {
    const lines = readLines([f20, f21, answer].join("\n"));
    expect(outcomesOf("f20", lines)[0]?.outcome).toBe(outcome);
  });

  it("counts for nothing where the asker knew a chained line of the party", () => {
    const beat = '{"seq":19,"from":"forge","type":"heartbeat","body":{"heads":{"ann":[1,"a1",0]}}}';
    const lines = readLines([beat, f20, f21, by('{"acks":"f20"}')].join("\n"));
    expect(outcomesOf("f20", lines)[0]?.outcome).toBe("pending");
  });

  it("does not stand bare for the second ask of a thread", () => {
    const earlier = f20.replaceAll("20", "19");
    const lines = readLines([earlier, f20, f21, by('""')].join("\n"));
    expect(outcomesOf("f20", lines)[0]?.outcome).toBe("pending");
  });
});

describe("places (next 1.6)", () => {
  it("are named by these fields of a body", () => {
    const [line] = readLines(
      '{"seq":9,"from":"forge","type":"heartbeat","body":{"about":["ann",1,"a1"],"after":0,"answers":[{"by":"ann","ack":[null,"au1"],"at":[2,"a2"]},7],"ends":[["ann",3,"a3"],["ann","a3"]],"of":"ann","beats":[[4,"a4"]],"heads":{"ann":[5,"a5",0],"bob":[5,"b5"]},"refused":[["ann",6,7,"a7","schema"],["ann",7,"a7"]],"wants":[["ann",8,8,"a8"]]}}',
    );
    const named = line === undefined ? [] : placesNamedBy(line);
    expect(named).toEqual([
      place("ann", 1, "a1"),
      place("ann", null, "au1"),
      ...[2, 3, 4, 5, 7].map((seq) => place("ann", seq, `a${seq}`)),
    ]);
  });

  it("of others are known from that line on", () => {
    const lines = withChains(
      readLines(
        '{"seq":2,"from":"forge","type":"ack","body":{"about":["ann",1,"a1"]}}\n{"seq":3,"from":"forge","type":"heartbeat","body":{}}',
      ),
    );
    const wire = readWire(PINNED, lines);
    const known = lines
      .toSorted((a, b) => (a.seq ?? 0) - (b.seq ?? 0))
      .map((line) => knownAt(wire, line, "ann").length);
    expect(known).toEqual([0, 1, 1]);
  });
});

// The examples of next 3.11.
const CHANGE = `
{"seq":60,"from":"forge","to":["*"],"type":"proposal","event_id":"f60","correlation_id":"roster:0d4be1a97725c83f","body":{"action":"members","after":0,"starts":{"forge":true,"scribe":true,"ann":false},"leaves":[],"makes":{"forge":true,"scribe":true,"ann":false,"mason":true},"required":["scribe"],"decision":"mason joins"}}
{"seq":55,"from":"scribe","type":"ack","event_id":"s55","correlation_id":"roster:0d4be1a97725c83f","body":{"acks":["forge",60,"f60"],"approve":true}}
{"seq":63,"from":"forge","type":"correction","event_id":"f63","correlation_id":"roster:0d4be1a97725c83f","body":{"decides":["forge",60,"f60"],"outcome":"approved","answers":[{"by":"scribe","ack":[55,"s55"],"at":[56,"s56"]}]}}
`;
const LEAVE = `
{"seq":70,"from":"mason","to":["*"],"type":"shutdown","event_id":"m70","body":{"leave":true,"after":["forge",63,"f63"]}}
`;
const AFTER_F63 = `roster:${idOf("f63")}`;

describe("the examples of next 3.11", () => {
  const s56 = readLines('{"seq":56,"from":"scribe","type":"heartbeat","body":{}}');
  const joined = withChains([...readLines(CHANGE), ...s56]);
  const rosterOf = (lines: readonly ModelLine[], pinned: Pinned = PINNED): unknown =>
    findingsOf(pinned, withChains(lines)).roster;

  it("mason joins", () => {
    const members = { ann: false, forge: true, mason: true, scribe: true };
    expect(outcomesOf("f60", joined)[0]?.outcome).toBe("approved");
    expect(rosterOf(joined)).toEqual({ members, isForked: false });
    const before = { ann: false, forge: true, scribe: true };
    expect(rosterOf(without(joined, "f63"))).toEqual({ members: before, isForked: false });
  });

  it("applies nothing where the pinned configuration has another roster", () => {
    const pinned = { ...PINNED, roster: ["forge", "scribe"] };
    expect(outcomesOf("f60", joined, pinned)[0]?.outcome).toBe("approved");
    expect(rosterOf(joined, pinned)).toMatchObject({ members: { forge: true, scribe: true } });
  });

  it("mason leaves, and returns by a change that counts the leave", () => {
    const left = [...joined, ...readLines(LEAVE)];
    const members = { ann: false, forge: true, scribe: true };
    expect(rosterOf(left)).toEqual({ members, isForked: false });
    const back = readLines(`
{"seq":57,"from":"scribe","to":["*"],"type":"proposal","event_id":"s57","correlation_id":"${AFTER_F63}","body":{"action":"members","after":["forge",63,"f63"],"starts":{"forge":true,"scribe":true,"ann":false},"leaves":[["mason",70,"m70"]],"makes":{"forge":true,"scribe":true,"ann":false,"mason":true},"required":["forge"]}}
{"seq":64,"from":"forge","type":"ack","correlation_id":"${AFTER_F63}","body":{"acks":["scribe",57,"s57"],"approve":true}}
{"seq":58,"from":"scribe","type":"correction","correlation_id":"${AFTER_F63}","body":{"decides":["scribe",57,"s57"],"outcome":"approved","answers":[{"by":"forge","ack":[64,"f64"],"at":[64,"f64"]}]}}`);
    expect(rosterOf([...left, ...back])).toEqual({
      members: { ...members, mason: true },
      isForked: false,
    });
    // It waits for the leave that it counts.
    const wanting = findingsOf(PINNED, without(withChains([...left, ...back]), "m70"));
    expect(wanting.asks.find(({ ask }) => ask[2] === idOf("s57"))).toMatchObject({
      outcome: "pending",
      waitsFor: [["mason", 70]],
    });
  });

  it.each([
    ["another thread", '"roster:0d4be1a97725c83f"', '"T1"'],
    ["a thread of another epoch", '"after":0', '"after":1'],
    ["a member that starts and is not asked", '"required":["scribe"]', '"required":[]'],
    ["one asked that does not chain", '"required":["scribe"]', '"required":["scribe","ann"]'],
    ["an asker that is no member", '"starts":{"forge":true,', '"starts":{'],
    ["two handles more", '"mason":true', '"mason":true,"zoe":true'],
    [
      "a mark that falls",
      '"makes":{"forge":true,"scribe":true',
      '"makes":{"forge":true,"scribe":false',
    ],
    ["no mark", '"ann":false', '"ann":null'],
    ["a leave that is none", '"leaves":[]', '"leaves":[["zoe",1,"z1"]]'],
    ["no list of leaves", '"leaves":[],', ""],
  ])("a change is void with %s", (_, from, to) => {
    const lines = [
      ...readLines(CHANGE.replaceAll(from, to)),
      ...readLines('{"seq":1,"from":"zoe","type":"heartbeat"}'),
      ...s56,
    ];
    expect(outcomesOf("f60", lines)[0]?.outcome).toBe("pending");
  });

  it("who took one change takes another only with the end of the first", () => {
    const first = `
{"seq":50,"from":"ann","to":["*"],"type":"proposal","event_id":"a50","correlation_id":"roster:0d4be1a97725c83f","body":{}}
{"seq":51,"from":"ann","type":"correction","event_id":"a51","correlation_id":"roster:0d4be1a97725c83f","body":{"decides":["ann",50,"a50"],"outcome":"ended"}}
{"seq":54,"from":"scribe","type":"ack","correlation_id":"roster:0d4be1a97725c83f","body":{"acks":["ann",50,"a50"],"approve":true}}`;
    const silent = readLines(first + CHANGE);
    const telling = readLines(
      first + CHANGE.replace('"approve":true', '"approve":true,"ends":[["ann",51,"a51"]]'),
    );
    expect(outcomesOf("f60", [...silent, ...s56])[0]?.outcome).toBe("pending");
    expect(outcomesOf("f60", [...telling, ...s56])[0]?.outcome).toBe("approved");
    const unknown = without(withChains([...telling, ...s56]), "a51");
    expect(findingsOf(PINNED, unknown).asks.find(({ ask }) => ask[1] === 60)).toMatchObject({
      outcome: "pending",
      waitsFor: [["ann", 51]],
    });
  });

  it("a leave of the asker between the change and its close makes the close invalid", () => {
    const leave = readLines('{"seq":62,"from":"forge","type":"shutdown","body":{"leave":true}}');
    expect(outcomesOf("f60", [...without(joined, "f62"), ...leave])[0]?.outcome).toBe("pending");
  });
});

const thread = "roster:0d4be1a97725c83f";
const membersOf = (lines: readonly ModelLine[], pinned: Pinned): unknown =>
  findingsOf(pinned, lines).roster;
const of = (...roster: readonly string[]): Pinned => ({ ...PINNED, roster, unchained: [] });

/** A change that needs nobody, with its close. */
function changeAlone(author: string, starts: string, makes: string, more = ""): string {
  const ask = `["${author}",1,"${author.charAt(0)}1"]`;
  return `
{"seq":1,"from":"${author}","to":["*"],"type":"proposal","correlation_id":"${thread}","body":{"action":"members","after":0,"leaves":[],"starts":{${starts}},"makes":{${makes}},"required":[]${more}}}
{"seq":2,"from":"${author}","type":"correction","correlation_id":"${thread}","body":{"decides":${ask},"outcome":"approved","answers":[]}}`;
}

describe("rosters (next 3.11)", () => {
  it("two members that chain cannot remove each other, beside a third that does not", () => {
    const starts = '"forge":true,"scribe":true,"ann":false';
    const lines = readLines(
      changeAlone("forge", starts, '"forge":true,"ann":false') +
        changeAlone("scribe", starts, '"scribe":true,"ann":false'),
    );
    const members = { ann: false, forge: true, scribe: true };
    expect(membersOf(lines, PINNED)).toEqual({ members, isForked: false });
  });

  it.each(["con", "NUL.txt", "Forge"])("a change cannot add %s", (handle) => {
    const starts = '"forge":true';
    const lines = readLines(changeAlone("forge", starts, `${starts},"${handle}":true`));
    expect(membersOf(lines, of("forge"))).toMatchObject({ members: { forge: true } });
  });

  // Mason closes a change, and is removed by the next one.
  const next = `roster:${idOf("m4")}`;
  const all = '"forge":true,"mason":true,"scribe":true';
  const pinned = of("forge", "mason", "scribe");
  const close = (seq: number, more = ""): string =>
    `{"seq":${seq},"from":"mason","type":"correction",${more}"correlation_id":"${thread}","body":{"decides":["mason",1,"m1"],"outcome":"approved","answers":[{"by":"forge","ack":[1,"f1"],"at":[1,"f1"]},{"by":"scribe","ack":[1,"s1"],"at":[1,"s1"]}]}}`;
  const removal = withChains(
    readLines(`
{"seq":1,"from":"mason","to":["*"],"type":"proposal","correlation_id":"${thread}","body":{"action":"members","after":0,"starts":{${all}},"leaves":[],"makes":{${all},"zoe":false},"required":["forge","scribe"]}}
{"seq":1,"from":"forge","type":"ack","correlation_id":"${thread}","body":{"acks":["mason",1,"m1"],"approve":true}}
{"seq":1,"from":"scribe","type":"ack","correlation_id":"${thread}","body":{"acks":["mason",1,"m1"],"approve":true}}
${close(4)}
{"seq":2,"from":"forge","to":["*"],"type":"proposal","correlation_id":"${next}","body":{"action":"members","after":["mason",4,"m4"],"starts":{${all},"zoe":false},"leaves":[],"makes":{"forge":true,"scribe":true,"zoe":false},"required":["scribe"]}}
{"seq":2,"from":"scribe","type":"ack","correlation_id":"${next}","body":{"acks":["forge",2,"f2"],"approve":true}}
{"seq":3,"from":"forge","type":"correction","correlation_id":"${next}","body":{"decides":["forge",2,"f2"],"outcome":"approved","answers":[{"by":"scribe","ack":[2,"s2"],"at":[2,"s2"]}]}}`),
  );
  const removed = { members: { forge: true, scribe: true, zoe: false }, isForked: false };

  it("a second approving close on a fork of the asker takes nothing back", () => {
    expect(membersOf(removal, pinned)).toEqual(removed);
    const forked = [...removal, ...readLines(close(3, '"event_id":"m3x","prev":"m2",'))];
    expect(membersOf(forked, pinned)).toEqual(removed);
  });

  it("a leave of an earlier epoch puts nobody out of the next one", () => {
    const epoch1 = { ...of("forge", "mason"), epoch: 1 };
    const old = `{"seq":1,"from":"mason","type":"shutdown","body":{"leave":true,"after":0}}`;
    const change = changeAlone("forge", '"forge":true', '"forge":true')
      .replaceAll(thread, `${thread}:1`)
      .replace('"after":0', '"after":1')
      .replace('"leaves":[]', '"leaves":[["mason",1,"m1"]]');
    const before = { forge: true, mason: true };
    expect(membersOf(readLines(old), epoch1)).toMatchObject({ members: before });
    expect(membersOf(readLines(`${old}${change}`), epoch1)).toEqual({
      members: before,
      isForked: false,
    });
  });

  it("a removed member does not return once those who removed it have left", () => {
    const lines = readLines(`
{"seq":1,"from":"scribe","to":["*"],"type":"proposal","correlation_id":"${thread}","body":{"action":"members","after":0,"starts":{${all}},"leaves":[],"makes":{"forge":true,"scribe":true},"required":["forge"]}}
{"seq":1,"from":"forge","type":"ack","correlation_id":"${thread}","body":{"acks":["scribe",1,"s1"],"approve":true}}
{"seq":2,"from":"scribe","type":"correction","correlation_id":"${thread}","body":{"decides":["scribe",1,"s1"],"outcome":"approved","answers":[{"by":"forge","ack":[1,"f1"],"at":[1,"f1"]}]}}
{"seq":3,"from":"scribe","type":"shutdown","body":{"leave":true,"after":["scribe",2,"s2"]}}
{"seq":2,"from":"forge","type":"shutdown","body":{"leave":true,"after":["scribe",2,"s2"]}}`);
    const change = changeAlone("mason", '"mason":true', '"mason":true').replace(
      '"leaves":[]',
      '"leaves":[["scribe",3,"s3"],["forge",2,"f2"]]',
    );
    expect(membersOf(lines, pinned)).toEqual({ members: {}, isForked: false });
    expect(membersOf([...lines, ...readLines(change)], pinned)).toEqual({
      members: {},
      isForked: false,
    });
  });

  it("a removed member does not take its removal back by a fork that others tell of", () => {
    const ended = `{"seq":4,"from":"mason","type":"correction","event_id":"m4x","prev":"m3","correlation_id":"${thread}","body":{"decides":["mason",1,"m1"],"outcome":"ended"}}`;
    const forked = [...removal, ...readLines(ended)];
    expect(membersOf(forked, pinned)).toEqual(removed);
    const told = readLines(
      '{"seq":4,"from":"forge","type":"heartbeat","body":{"refused":[["mason",4,4,"m4x","log_forked"]]}}',
    );
    expect(membersOf([...forked, ...told], pinned)).toEqual(removed);
  });

  it("nobody raises its own mark in a roster that marks nobody", () => {
    const unmarked = { ...of("forge", "scribe"), unchained: ["forge", "scribe"] };
    const starts = '"forge":false,"scribe":false';
    const lines = readLines(
      changeAlone("forge", starts, '"forge":true,"scribe":false') +
        changeAlone("scribe", starts, '"forge":false,"scribe":true'),
    );
    expect(membersOf(lines, unmarked)).toEqual({
      members: { forge: false, scribe: false },
      isForked: false,
    });
  });
});

describe("found in 3.4, see README.md", () => {
  it("telling of a fork names no outcome", () => {
    const lines = readLines(`
{"seq":1,"from":"forge","to":["scribe"],"type":"proposal","correlation_id":"T","body":{}}
{"seq":1,"from":"scribe","type":"ack","correlation_id":"T","body":{"acks":["forge",1,"f1"],"approve":true}}
{"seq":2,"from":"forge","type":"correction","correlation_id":"T","body":{"decides":["forge",1,"f1"],"outcome":"approved","answers":[{"by":"scribe","ack":[1,"s1"],"at":[1,"s1"]}]}}
{"seq":2,"from":"scribe","type":"heartbeat","body":{"heads":{"forge":[2,"f2",2]}}}
{"seq":2,"prev":"f1","from":"forge","type":"correction","event_id":"f2x","correlation_id":"T","body":{"decides":["forge",1,"f1"],"outcome":"ended","answers":[]}}`);
    const told = readLines(
      '{"seq":3,"from":"scribe","type":"heartbeat","body":{"refused":[["forge",2,2,"f2x","log_forked"]]}}',
    );
    expect(outcomesOf("f1", lines)[0]?.outcome).toBe("approved");
    expect(outcomesOf("f1", [...lines, ...told])[0]?.outcome).toBe("approved");
  });

  it("an unchained ask without addressee is approved by whoever likes", () => {
    const lines = readLines(`
{"from":"ann","type":"proposal","event_id":"au1","correlation_id":"T","body":{"decision":"You may merge."}}
{"seq":1,"from":"mallory","type":"correction","correlation_id":"T","body":{"decides":["ann",null,"au1"],"outcome":"approved"}}`);
    expect(outcomesOf("au1", lines)).toMatchObject([{ of: "mallory", outcome: "approved" }]);
  });

  it("approving an unchained request withdraws an own proposal of the thread", () => {
    const lines = readLines(`
{"from":"ann","to":["scribe"],"type":"request","event_id":"au1","correlation_id":"T","body":{}}
{"seq":1,"from":"scribe","to":["forge"],"type":"proposal","correlation_id":"T","body":{}}
{"seq":2,"from":"scribe","type":"correction","correlation_id":"T","body":{"decides":["ann",null,"au1"],"outcome":"approved"}}`);
    const wire = readWire(PINNED, lines);
    const last = lines.at(-1);
    if (last === undefined) throw new Error("lines are missing");
    expect(positionAt(wire, last, "T")).toEqual(place("ann", null, "au1"));
  });
});

describe("random wires keep what next 3.4 and 3.11 promise", () => {
  it.each([1, 2, 3, 4, 5, 6, 7, 8])("seed %d", (seed) => {
    const wire = randomWire(seed, 100);
    expect(findBrokenPromises(wire, randomFrom(seed), 2)).toEqual([]);
  });
});

test("all small wires of three lines keep it too", () => {
  expect(findBrokenInSmallWires(3).broken).toEqual([]);
});
