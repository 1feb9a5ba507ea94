/**
 * Pools that have room for so many: what is put back and does not fit has to be ended. Each case
 * says which rules must report, in order of lines.
 */
import { suite } from "uvu";
import { casesOf } from "./webgpu-cases.ts";

const test = suite("full pools");
const R = "require-disposal";
const webgpu = casesOf(test);

const take = "return this.free.pop() ?? this.d.createBuffer({ size: 4 });";
const pool = (release: string, acquire = take): string =>
  "export class Pool {\nfree: GPUBuffer[] = []; isClosed = false;\nconstructor(readonly d: " +
  `GPUDevice) {}\nacquire(): GPUBuffer { ${acquire} }\nrelease(b: GPUBuffer) {\n${release} }\n` +
  "destroy() { this.isClosed = true; for (const b of this.free) b.destroy(); this.free = []; } }";
const keep = "this.free.push(b);";
const room = "this.free.length < 8";

webgpu("what does not fit is left", pool(`if (${room}) ${keep}`), [R]);
webgpu("what does not fit is ended", pool(`if (${room}) ${keep} else b.destroy();`), []);
webgpu("a way out leaves it", pool(`if (this.free.length >= 8) return; ${keep}`), [R]);
webgpu("a way out ends it", pool(`if (!(${room})) { b.destroy(); return; }\n${keep}`), []);
webgpu(
  "only a closed one ends it",
  pool(`if (this.isClosed) { b.destroy(); return; }\nif (${room}) ${keep}`),
  [R],
);
webgpu("what is there already", pool(`if (!this.free.includes(b)) ${keep}`), []);
webgpu(
  "a test of somebody else",
  pool(`if (this.fits(b)) ${keep}`).replace(
    "destroy()",
    "fits(b: GPUBuffer) { return b.size < 9; } destroy()",
  ),
  [],
);
webgpu("all of it is kept", pool(keep), []);
webgpu(
  "a list that gives nothing new",
  pool(`if (${room}) ${keep}`, "return this.free.pop()!;"),
  [],
);
webgpu(
  "a pool of closures",
  "export function poolOf(d: GPUDevice) {\nconst free: GPUBuffer[] = [];\nreturn {\nacquire() { " +
    "return free.pop() ?? d.createBuffer({ size: 4 }); },\nrelease(b: GPUBuffer) { " +
    "if (free.length < 8) free.push(b); },\ndestroy() { while (free.length > 0) " +
    "free.pop()!.destroy(); } }; }",
  [R],
);

webgpu(
  "a caller is told",
  pool("if (this.free.length >= 8) return false;\nthis.free.push(b); return true;"),
  [],
);
webgpu(
  "a test that has a name",
  pool(`const fits = ${room};\nif (fits) ${keep}\nif (!fits) b.destroy();`),
  [],
);
webgpu("a size of its own", pool(`if (b.size > 256) return;\n${keep}`), []);
webgpu("a flag of who else has it", pool(`if (this.isClosed) return;\n${keep}`), []);

test.run();
