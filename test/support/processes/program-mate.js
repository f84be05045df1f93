// A plain program on the library: it works for the one that leads.
// usage: node program-mate.js LIBRARY WIRE FILE; FILE is what it ships.
import process from "node:process";
import { openTwice } from "./program-twice.js";

const [, dir, file] = process.argv.slice(2);
const { wire, twice } = await openTwice(dir, "scribe");
const plan = { type: "plan_approval", plan: "1. write 2. ship", key: "plan" };
await twice((wire) => wire.request(plan));
const learnt = {};
for await (const { type, body, _meta } of wire.inbox()) {
  const [id, key] = [_meta.id, `for ${_meta.id}`];
  if (type === "ack" && body.request_type === "plan_approval") {
    learnt.approved = body.approve;
    await twice((wire) => wire.claim({ paths: ["src/**"], key: "claim" }));
    const ship = { subject: "the file", state: "it is written", refs: [file], key: "ship" };
    await twice((wire) => wire.ship(ship));
    await twice((wire) => wire.release(undefined, { key: "release" }));
  } else if (type === "proposal") {
    learnt.proposed = body.decision;
    const about = { subject: "release", decision: "We release on Tuesday.", body: "holiday", key };
    await twice((wire) => wire.counter(id, about));
  } else if (type === "ack" && body.approve === true) break;
}
// What both have accepted is a decision once it is recorded; a message of the daemon's tells when.
for (let decided = false; !decided;) {
  const { in_force: inForce } = await wire.decisions();
  const [found] = inForce;
  decided = found !== undefined;
  if (decided) learnt.decided = found.decision;
  else await new Promise((resolve) => setImmediate(resolve));
}
await twice((wire) => wire.send({ subject: "all is decided", body: learnt.decided, key: "last" }));
wire.close();
process.stdout.write(`${JSON.stringify(learnt)}\n`);
