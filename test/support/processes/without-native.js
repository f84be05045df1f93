// Imported by a process: of native modules none loads in it but that of the store, as on a machine that they
// have no binary for.
const { dlopen } = process;
process.dlopen = (module, path, ...flags) => {
  if (!path.includes("sqlite")) throw new Error("no native module loads in this process");
  return dlopen(module, path, ...flags);
};
