import { expect, it } from "vitest";
import {
  hasParked,
  isParking,
  requestId,
  requestType,
} from "../../../src/protocol/asks/requests.ts";
import type { LinkedLine } from "../../../src/protocol/asks/history.ts";
import { fromPlain } from "../../../src/wire/json/json.ts";
import type { PlaceJson } from "../../../src/wire/places.ts";
import { AskingAgent } from "../../support/asking-agents.ts";

function request(by: AskingAgent, body: object): PlaceJson {
  return by.say({ type: "request", thread: "t1", to: ["scribe"], body });
}

function lineOf(agent: AskingAgent, [author, seq, id]: PlaceJson): LinkedLine {
  const line = agent.history.linked({ author, seq, id });
  if (line === undefined) throw new Error("no line is there");
  return line;
}

it("a request is plain, or asks for something, and may have a name", () => {
  const forge = new AskingAgent("forge");
  const plain = lineOf(forge, request(forge, {}));
  const named = lineOf(forge, request(forge, { request_type: "x", request_id: "0123456789ab" }));
  const wrong = lineOf(forge, request(forge, { request_type: "x", request_id: "no name" }));
  expect([plain, named, wrong].map(requestType)).toEqual([undefined, "x", "x"]);
  expect([plain, named, wrong].map(requestId)).toEqual([undefined, "0123456789ab", undefined]);
});

it("an agent parks by its own answer alone: it agrees to finish, or acks that a trusted peer shuts down", () => {
  const forge = new AskingAgent("forge");
  const scribe = new AskingAgent("scribe");
  const asked = request(forge, { request_type: "shutdown" });
  const plan = request(forge, { request_type: "plan_approval" });
  const told = forge.say({ type: "shutdown", thread: "t2", body: {} });
  scribe.read(forge);
  const parks = (body: object, trusted = true): boolean =>
    isParking(scribe.history, { type: "ack", body: fromPlain(body) }, () => trusted);
  expect(parks({ answers: asked, approve: true })).toBe(true);
  expect(parks({ answers: asked, approve: false })).toBe(false);
  expect(parks({ answers: plan, approve: true })).toBe(false);
  expect(parks({ about: told })).toBe(true);
  expect(parks({ about: told }, false)).toBe(false);
  expect(hasParked({ type: "ack", body: fromPlain({ answers: asked, parks: true }) })).toBe(true);
  expect(hasParked(lineOf(forge, asked))).toBe(false);
});
