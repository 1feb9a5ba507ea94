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

test.run();
