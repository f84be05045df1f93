/**
 * The least that a hook of a tool can be: it reads its input, asks the daemon on that socket one thing,
 * and ends with the answer. Run by `node -e` with the path of the socket, which may be longer than a
 * socket's address: it asks from within the folder.
 */
export const ASKING_SCRIPT = `
const { connect } = require("node:net");
const { basename, dirname } = require("node:path");
const [, path] = process.argv;
process.chdir(dirname(path));
const pieces = [];
process.stdin.on("data", (piece) => pieces.push(piece));
process.stdin.on("end", () => {
  const { session_id: session } = JSON.parse(Buffer.concat(pieces).toString("utf8"));
  const args = { tool: "claude", session, moment: "call", isContinued: false, isInteractive: true };
  const until = Number(process.hrtime.bigint() / 1000000n) + 2000;
  const request = JSON.stringify({ id: 1, until, op: "hook", args }) + "\\n";
  const socket = connect(basename(path), () => socket.write(request));
  let said = "";
  socket.setEncoding("utf8").on("data", (text) => {
    said += text;
    // First it says that it begins.
    if (said.includes('"ok":')) process.exit(said.includes('"ok":true') ? 0 : 1);
  });
});
`;
