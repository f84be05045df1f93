// A process of its own: the least that a durable send is. A server on a socket that writes as many
// bytes as a line has and syncs them before it answers; what comes together gets one sync.
import { fdatasyncSync, openSync, writeSync } from "node:fs";
import { createServer, type Socket } from "node:net";

const [socketPath = "", filePath = ""] = process.argv.slice(2);
const file = openSync(filePath, "a");
let waiting: { readonly socket: Socket; readonly line: string }[] = [];

function flush(): void {
  const batch = waiting;
  waiting = [];
  writeSync(file, batch.map(({ line }) => `${line}\n`).join(""));
  fdatasyncSync(file);
  for (const { socket } of batch) socket.write("sent\n");
}

createServer((socket) => {
  let rest = "";
  socket.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (waiting.length === 0) setImmediate(flush);
      waiting.push({ socket, line });
    }
  });
}).listen(socketPath, () => process.stdout.write("ready\n"));
