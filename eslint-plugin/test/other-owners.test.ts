/**
 * Values that have another owner or another name, and what only looks as if it had: records of what
 * a caller has, lists that look on, choices between variables, properties with setters. Each case
 * says which rules of `recommended` must report, in order of lines.
 */
import { suite } from "uvu";
import { casesOf } from "./webgpu-cases.ts";

const test = suite("other owners");
const reports = casesOf(test);

/** A record, what makes it, and what ends it. */
const contexts = (made: string): string =>
  "interface Context { device: GPUDevice; staging: GPUBuffer }\n" +
  `export ${made}\n` +
  "export function destroyContext(c: Context): void { c.staging.destroy(); }";
reports(
  "the device of the caller",
  contexts(
    "function create(device: GPUDevice): Context { " +
      "return { device, staging: device.createBuffer({ size: 4 }) }; }",
  ),
  [],
);
reports(
  "a device of its own",
  contexts(
    "async function create(a: GPUAdapter): Promise<Context> { const device = await " +
      "a.requestDevice(); return { device, staging: device.createBuffer({ size: 4 }) }; }",
  ),
  ["require-disposal"],
);

/** A cache whose layers name their buffers twice. */
const layers = (more: string): string =>
  "interface Layer { k: GPUBuffer; at: { buffer: GPUBuffer; offset: number } }\n" +
  "export class Cache { all: Layer[] = []; constructor(d: GPUDevice, n: number) {\n" +
  "for (let i = 0; i < n; i++) { const k = d.createBuffer({ size: n });\n" +
  `this.all.push({ k, at: { buffer: ${more}, offset: 0 } }); } }\n` +
  "destroy(): void { for (const l of this.all) l.k.destroy(); } }";
reports("a value that has two names", layers("k"), []);
reports("another value", layers("d.createBuffer({ size: 4 })"), ["require-member-disposal"]);

/** A list of meshes that is shown. */
const shown = (fill: string): string =>
  "interface Mesh { v: GPUBuffer }\nconst meshes: Mesh[] = [];\n" +
  `export function show(nodes: { mesh?: Mesh }[], d: GPUDevice): void { ${fill} }\n` +
  "export function clear(): void { meshes.length = 0; }";
reports("a view", shown("for (const n of nodes) if (n.mesh) meshes.push(n.mesh);"), []);
reports("a list of its own", shown("meshes.push({ v: d.createBuffer({ size: nodes.length }) });"), [
  "no-dropped-element",
]);

/** A function that makes a buffer, and a variable around it. */
const stated = (store: string): string =>
  "interface State { v: GPUBuffer; n: number }\nlet state: State | null = null;\n" +
  `export function open(d: GPUDevice): void { const v = d.createBuffer({ size: 4 }); ${store} }\n` +
  "export function close(): void { if (state) { state.v.destroy(); state = null; } }";
reports("a record of the module", stated("close(); state = { v, n: 1 };"), []);
reports("a record under a name", stated("close(); const s = { v, n: 1 }; state = s;"), []);
reports("a record that is dropped", stated("let s; s = { v, n: 1 }; console.log(s.n);"), [
  "require-disposal",
]);

/** A property with a setter, which keeps its value in a private field. */
const property = (end: string): string =>
  "export class Part { #v: GPUBuffer | null = null; constructor(readonly d: GPUDevice) {}\n" +
  "get v(): GPUBuffer | null { return this.#v; } set v(v: GPUBuffer | null) { this.#v = v; }\n" +
  "fill(): void { this.#v?.destroy(); this.v = this.d.createBuffer({ size: 4 }); }\n" +
  `destroy(): void { ${end} } }`;
reports("a setter", property("this.#v?.destroy();"), []);

/** A function that makes two buffers and has one of them in hand. */
const chosen = (end: string): string =>
  "export function f(d: GPUDevice, n: number): number { const x = d.createBuffer({ size: 4 });\n" +
  "const y = d.createBuffer({ size: 8 }); const a = n > 1 ? x : y; const { size } = a;\n" +
  `${end} return size; }`;
reports("one of two that are ended", chosen("x.destroy(); y.destroy();"), []);
reports("one of two that are not", chosen(""), ["require-disposal"]);

reports("a choice that is not ended", chosen("x.destroy();"), ["require-disposal"]);

/** A record that a function makes of what it is given. */
const lent = (parameter: string, given = "b", before = ""): string =>
  "interface Pair { a: GPUBuffer; b: GPUBuffer }\n" +
  `export function create(d: GPUDevice, ${parameter}): Pair { ${before}\n` +
  `return { a: d.createBuffer({ size: 4 }), ${given} }; }\n` +
  "export function destroyPair(p: Pair): void { p.a.destroy(); }";
reports("a record of the caller's", lent("{ b }: { b: GPUBuffer }", "b"), []);
reports("a field of the caller's", lent("o: { b: GPUBuffer }", "b: o.b"), []);
reports("a default of its own", lent("b = d.createBuffer({ size: 4 })", "b"), ["require-disposal"]);
reports("a parameter that is made anew", lent("b: GPUBuffer", "b", "b = d.createBuffer({});"), [
  "require-disposal",
]);

reports(
  "a view of a pattern",
  shown("for (const { mesh } of nodes) if (mesh) meshes.push(mesh);"),
  [],
);
reports(
  "a view under a name",
  shown("for (const n of nodes) { const m = n.mesh; if (m) meshes.push(m); }"),
  [],
);
reports(
  "a list of parts that are made",
  shown(
    "const made = { mesh: { v: d.createBuffer({ size: nodes.length }) } }; meshes.push(made.mesh);",
  ),
  ["no-dropped-element"],
);
reports(
  "a list of its own that also looks on",
  shown(
    "for (const n of nodes) if (n.mesh) meshes.push(n.mesh);\n" +
      "meshes.push({ v: d.createBuffer({ size: nodes.length }) });",
  ),
  ["no-dropped-element"],
);

reports("one made by the size of another", layers("k.size > 4 ? d.createBuffer({ size: 4 }) : k"), [
  "require-member-disposal",
]);
/** A variable of the module that has a record with a buffer, which another variable has, too. */
const twice = (end: string): string =>
  "let shown: { v: GPUBuffer } | null = null; let kept: GPUBuffer | null = null;\n" +
  "export function start(d: GPUDevice): void { stop(); const v = d.createBuffer({ size: 4 });\n" +
  `shown = { v }; kept = v; }\nexport function stop(): void { shown = null; ${end} kept = null; }`;
reports("a record of what another variable has", twice("kept?.destroy();"), []);

/** Properties with setters that end what they replace: of a class above and of an object. */
const sets =
  "#v?: GPUBuffer; get v(): GPUBuffer | undefined { return this.#v; }\n" +
  "set v(v: GPUBuffer | undefined) { this.#v?.destroy(); this.#v = v; }\n" +
  "destroy(): void { this.#v?.destroy(); }";
const updates = "update(d: GPUDevice): void { this.v = d.createBuffer({ size: 4 }); }";
reports(
  "a setter above",
  `class Base { ${sets} }\nexport class Part extends Base { ${updates} }`,
  [],
);
reports(
  "a setter below",
  "abstract class Base { abstract get v(): GPUBuffer | undefined;\n" +
    `abstract set v(v: GPUBuffer | undefined); ${updates} }\n` +
    `export class Part extends Base { ${sets} }`,
  [],
);
reports(
  "a setter of an object",
  "let now: GPUBuffer | undefined;\n" +
    "const place = { get v(): GPUBuffer | undefined { return now; },\n" +
    "set v(v: GPUBuffer | undefined) { now?.destroy(); now = v; } };\n" +
    "export function update(d: GPUDevice): void { place.v = d.createBuffer({ size: 4 }); }\n" +
    "export function end(): void { now?.destroy(); now = undefined; }",
  [],
);

test.run();
