import type { Disk, DiskFile } from "../../../src/storage/disk/disk.ts";

/** A disk, and how often each call of it and of its open files was made since the last look. */
export function countedDisk(real: Disk): { disk: Disk; taken(): Record<string, number> } {
  const counts = new Map<string, number>();

  function counted<T extends object>(of: string, target: T): T {
    return new Proxy(target, {
      get(_, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        return (...args: unknown[]): unknown => {
          const key = `${of} ${String(name)}`;
          counts.set(key, (counts.get(key) ?? 0) + 1);
          const result: unknown = Reflect.apply(value, target, args);
          return name === "open" ? counted("file", result as DiskFile) : result;
        };
      },
    });
  }

  return {
    disk: counted("disk", real),
    taken() {
      const taken = Object.fromEntries(counts);
      counts.clear();
      return taken;
    },
  };
}
