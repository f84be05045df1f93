#!/usr/bin/env node
import * as nodeModule from "node:module";

// Node 22 and later keep compiled code between runs; the older ones compile what they load.
nodeModule.enableCompileCache?.();
const { main } = await import("../dist/cli/main.js");
process.exitCode = await main(process.argv.slice(2));
