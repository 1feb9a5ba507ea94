/**
 * Fields that a method fills where a caller found nothing in them: it replaces nothing. Each case
 * says which rules of `recommended` must report, in order of lines.
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

test.run();
