// A plain program on the library, which waits for nothing but messages: it leads.
// usage: node program-lead.js LIBRARY WIRE PEER; prints what it has learnt as JSON and ends.
import process from "node:process";
import { openTwice } from "./program-twice.js";

const [, dir, peer] = process.argv.slice(2);
const { wire, twice } = await openTwice(dir, "forge");
const learnt = {};
for await (const message of wire.inbox()) {
  const { type, subject, _meta, body } = message;
  const [id, key] = [_meta.id, `for ${_meta.id}`];
  if (type === "request") {
    learnt.plan = body.plan;
    await twice((wire) => wire.respond(id, { approve: true, reason: "go", key }));
  } else if (type === "claim") learnt.claimed = body.paths;
  else if (type === "ship") {
    learnt.shipped = body.manifest_digest;
    const about = { subject: "release", decision: "We release on Monday.", key };
    await twice((wire) => wire.propose(about));
  } else if (type === "proposal") {
    learnt.countered = body.decision;
    await twice((wire) => wire.accept(id, { key }));
  } else if (subject === "all is decided") {
    learnt.last = subject;
    break;
  }
}
wire.close();
process.stdout.write(`${JSON.stringify({ peer, ...learnt })}\n`);
