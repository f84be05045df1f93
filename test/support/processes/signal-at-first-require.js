// Preloaded with `node --import`: sends this process SIGUSR1 when bin/deaddrop.js requires its first
// module, which is before anything else of the program has run.
import Module from "node:module";

const load = Module._load;
let isSent = false;
Module._load = (request, parent, ...rest) => {
  if (!isSent && parent?.filename?.endsWith("/bin/deaddrop.js")) {
    isSent = true;
    process.kill(process.pid, "SIGUSR1");
  }
  return load(request, parent, ...rest);
};
