// Imported by a process: no native module loads in it, as on a machine that they have no binary for.
process.dlopen = () => {
  throw new Error("no native module loads in this process");
};
