/**
 * Tables of a module: `strict` asks for an end of what functions put into them again and again, and
 * leaves alone what they are filled with once.
 */
import { suite } from "uvu";
import { lastingOf } from "./webgpu-cases.ts";

const test = suite("module tables");
const D = "require-disposal";
const lasting = lastingOf(test);

const make = "const make = (d: GPUDevice) => d.createBuffer({ size: 4 });\n";
const map = `${make}const all = new Map<string, GPUBuffer>();\n`;
const grow = (body: string): string =>
  `export function main(d: GPUDevice) { addEventListener("wheel", (e) => {\n${body} }); }\n`;
const use = "export const sizes = () => { for (const b of all.values()) console.log(b.size); };\n";

lasting("a map that a listener fills", map + grow("all.set(e.type, make(d));") + use, [D]);
lasting(
  "a list that a listener fills",
  `${make}const all: GPUBuffer[] = [];\n${grow("all.push(make(d));")}${use}`,
  [D],
);
lasting(
  "parts of records in a record",
  `${make}const all: Record<string, { position: GPUBuffer } | undefined> = {};\n` +
    grow("const position = make(d); all[e.type] = { position };") +
    "export const size = (k: string) => all[k]?.position.size;",
  [D],
);
lasting(
  "what a function adds that a listener calls through another",
  map +
    "async function load(d: GPUDevice, keys: string[]) { await Promise.all(keys)" +
    ".then((got) => {\ngot.forEach((k) => { all.set(k, make(d)); }); }); }\n" +
    grow("void load(d, [e.type]);") +
    use,
  [D],
);
lasting(
  "a map that is filled once",
  map +
    'function init(d: GPUDevice) { for (const k of ["a", "b"]) all.set(k, make(d)); }\n' +
    `export function main(d: GPUDevice) { init(d); }\n${use}`,
  [],
);
lasting(
  "a list filled once, by a callback",
  `${make}const all: GPUBuffer[] = [];\n` +
    'function init(d: GPUDevice) { ["a", "b"].forEach(() => { all.push(make(d)); }); }\n' +
    `export function main(d: GPUDevice) { init(d); }\n${use}`,
  [],
);
lasting(
  "a map whose values another function ends",
  map +
    grow("all.set(e.type, make(d));") +
    "export function drop(k: string) { all.get(k)?.destroy(); all.delete(k); }",
  [],
);
lasting(
  "a map whose values another function gives to one that ends them",
  map +
    grow("all.set(e.type, make(d));") +
    "const end = (b: GPUBuffer) => { b.destroy(); };\n" +
    "export function drop() { all.forEach((b) => { end(b); }); all.clear(); }",
  [],
);
lasting(
  "a map under another name outside",
  `${map}${grow("all.set(e.type, make(d));")}export { all as buffers };`,
  [],
);
lasting(
  "a map under its name outside",
  `${map}${grow("all.set(e.type, make(d));")}${use}export { all };`,
  [D],
);
lasting(
  "a map that is handed to who knows whom",
  `${map}${grow("all.set(e.type, make(d));")}export const given = JSON.parse("{}").take(all);`,
  [],
);

test.run();
