/**
 * What looks as if it replaced something and does not: fields that a method fills where a caller
 * found nothing in them, lists that are filled once, objects of a pool, what goes with a device.
 * Each case says which rules of `recommended` must report, in order of lines.
 */
import { suite } from "uvu";
import { casesOf } from "./webgpu-cases.ts";

const test = suite("lazy fills");
const reports = casesOf(test);

/** A class whose method `use` calls one that fills a field. */
const filled = (use: string, mk = "mk", field = "v"): string =>
  `export class Part { ${field}: GPUBuffer | null = null; constructor(readonly d: GPUDevice) {}\n` +
  `use(): number { ${use} }\n${mk}(): void { this.${field.replace("accessor ", "")} = ` +
  `this.d.createBuffer({ size: 4 }); }\n` +
  `destroy(): void { this.${field.replace("accessor ", "")}?.destroy(); } }`;

reports("a private method", filled("if (!this.v) this.#mk(); return 1;", "#mk"), []);
reports("a method that says nothing", filled("if (!this.v) this.mk(); return 1;"), []);
reports("an accessor", filled("if (!this.v) this.#mk(); return 1;", "#mk", "accessor v"), []);
reports("a short test", filled("this.v ?? this.mk(); return 1;"), []);
reports("after a way out", filled("if (this.v) return 2; this.mk(); return 1;"), []);
reports("no test", filled("this.resize(); return 1;", "resize"), ["no-overwritten-tensor"]);
reports(
  "a test of something else that is done",
  filled("let n = 0; if (this.v) n = this.v.size; this.resize(); return n;", "resize"),
  ["no-overwritten-tensor"],
);

const part =
  "export class Row { b: GPUBuffer; constructor(d: GPUDevice, back?: (r: Row) => void) {\n" +
  "this.b = d.createBuffer({ size: 4 }); this.back = back; } back?: (r: Row) => void; }\n";
const table = (members: string): string =>
  `${part}export class Table { rows: Row[] = []; now?: Row;\n` +
  `constructor(readonly d: GPUDevice) {}\n` +
  `${members} }`;
reports(
  "a list that is filled once",
  table(
    "init(): void { this.rows = []; for (let i = 0; i < 2; i++) this.rows.push(new Row(this.d)); }",
  ),
  [],
);
reports(
  "a list that is filled again for each size",
  table(
    "onResize(): void { this.rows = []; " +
      "for (let i = 0; i < 2; i++) this.rows.push(new Row(this.d)); }",
  ),
  ["require-member-disposal"],
);
reports(
  "what comes from a pool",
  table(
    "take(): Row { const row = this.rows.pop(); if (row) return this.rows.pop()!; " +
      "return new Row(this.d, (r) => this.rows.push(r)); }\n" +
      "onFrame(): void { this.now = this.take(); }",
  ),
  [],
);
reports(
  "what a page starts with",
  "class Engine { b: GPUBuffer; constructor(d: GPUDevice) {\n" +
    "this.b = d.createBuffer({ size: 4 }); }\n" +
    "destroy(): void { this.b.destroy(); } }\nlet engine: Engine | null = null;\n" +
    "declare const d: GPUDevice;\nfunction init(): void { engine = new Engine(d); }\n" +
    "if (document.readyState === 'loading') " +
    "document.addEventListener('DOMContentLoaded', () => init());\nelse init();\n" +
    "window.addEventListener('beforeunload', () => { engine?.destroy(); });\nexport {};",
  [],
);

const context =
  "class Context { constructor(readonly d: GPUDevice) {} destroy(): void { this.d.destroy(); } }\n";
const sorter = (end: string): string =>
  `${context}class Sorter { b: GPUBuffer; c: GPUBuffer; constructor(d: GPUDevice) {\n` +
  "this.b = d.createBuffer({ size: 4 }); this.c = d.createBuffer({ size: 4 }); }\n" +
  "destroy(): void { this.b.destroy(); } }\n" +
  "export class View { s: Sorter; constructor(readonly context: Context) {\n" +
  `this.s = new Sorter(context.d); } destroy(): void { ${end} } }`;
reports("what goes with the device of its owner", sorter("this.context.destroy();"), []);
reports("what its owner leaves a part of", sorter("this.s.destroy();"), [
  "require-member-disposal",
]);

/** A class whose `init()` fills a field, and what has an instance of it. */
const started = (has: string, init = "init"): string =>
  "class Part { v: GPUBuffer | null = null; constructor(readonly d: GPUDevice) {}\n" +
  `${init}(): void { this.mk(); }\nmk(): void { this.v = this.d.createBuffer({ size: 4 }); }\n` +
  `destroy(): void { this.v?.destroy(); } }\n${has}`;
const page = (turn: string, more = ""): string =>
  "declare const button: EventTarget; declare const d: GPUDevice; let part = new Part(d);\n" +
  `${more} button.addEventListener("click", () => { ${turn} });`;

reports(
  "an object of its own each time",
  started(page("part.destroy(); part = new Part(d); part.init();")),
  [],
);
reports("an object that has no name yet", started(page("part.destroy(); new Part(d).init();")), []);
reports("the same object again", started(page("part.init();")), ["no-overwritten-tensor"]);
/** A class that loads a scene and processes it. */
const loads = (calls: string): string =>
  "export class Scene { v!: GPUTexture; constructor(readonly d: GPUDevice) {}\n" +
  `${calls}\nprivate process(n: number): void { this.v = this.d.createTexture({ size: n }); }\n` +
  "destroy(): void { this.v.destroy(); } }";
reports("what loads processes", loads("load(n: number): void { this.process(n); }"), []);
reports("what plays processes", loads("play(n: number): void { this.process(n); }"), [
  "no-overwritten-tensor",
]);

/** A class that empties a list, which it also fills. */
const lists = (methods: string): string =>
  "export class Parts { all: GPUBuffer[] = []; constructor(readonly d: GPUDevice) {}\n" +
  `${methods}\ndestroy(): void { for (const b of this.all) b.destroy(); } }`;
const fills = "for (let i = 0; i < 2; i++) this.all.push(this.d.createBuffer({ size: i })); }";
reports("a list that is made", lists(`make(): void { this.all = []; ${fills}`), []);
reports("a list made anew", lists(`resize(): void { this.all = []; ${fills}`), [
  "no-overwritten-tensor",
]);
reports(
  "a list that is emptied",
  lists(`make(): void { ${fills} drop(): void { this.all = []; }`),
  ["no-overwritten-tensor"],
);

reports(
  "the object that was there",
  started(page("part = new Part(d); part = keep; part.init();", "const keep = new Part(d);")),
  ["no-overwritten-tensor"],
);
test.run();
