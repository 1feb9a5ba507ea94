/**
 * Loops of frames: what one uses it keeps for good, and what starts one runs once, unless the
 * program stops the loop before. Each case says which rules of `recommended` must report.
 */
import { suite } from "uvu";
import plugin from "../src/index.ts";
import { assert, lines, lint, typeErrors } from "./tester.ts";

const test = suite("frame loops");
const { rules } = plugin.configs.recommended;

function reports(name: string, code: string, expected: string[]): void {
  test(name, () => {
    assert.equal(typeErrors(code), []);
    const found = lines(lint(code, { rules, settings: { presets: ["webgpu"] } }));
    assert.equal(
      found.map((line) => line.split(/[ :]/)[1]),
      expected,
      found.join("\n"),
    );
  });
}

/** A function that makes what its frames use; the loop is started and goes on as told. */
const loop = (start: string, next: string): string =>
  `export async function open(device: GPUDevice): Promise<void> {
const data = device.createBuffer({ size: 4, usage: 1 });
function frame(now: number): void {
device.queue.writeBuffer(data, 0, new Float32Array([now]));
${next}
}
${start}
}`;
const byName = "requestAnimationFrame(frame);";
const byArrow = "requestAnimationFrame((now) => frame(now));";

reports("a loop by the name of its function", loop(byName, byName), []);
reports("a loop by a function that calls it", loop(byArrow, byArrow), []);
/** The same loop, started with the function itself. */
const written = (next: string): string =>
  loop("", next)
    .replace("function frame(", "requestAnimationFrame(function frame(")
    .replace("\n}\n\n}", "\n});\n}");
reports("a loop that starts where it is written", written(byName), []);
reports("a single frame that is written where it is asked for", written(""), ["require-disposal"]);
reports("a single frame", loop(byArrow, ""), ["require-disposal"]);

/** A button that makes the parts of a program. */
const button = (before: string, start: string): string =>
  `class Pass {
readonly data: GPUBuffer;
constructor(device: GPUDevice) { this.data = device.createBuffer({ size: 4, usage: 1 }); }
size(): number { return this.data.size; }
}
const passes: { all: Pass[] } = { all: [] };
let asked = 0;
function frame(): void {
console.log(asked, passes.all.map((p) => p.size()));
asked = requestAnimationFrame(frame);
}
export function open(device: GPUDevice, button: HTMLElement): void {
button.addEventListener("click", () => {
${before}
passes.all = [new Pass(device)];
${start}
});
}`;
reports("a button that starts it", button("", "frame();"), []);
reports("one that has it called", button("", "requestAnimationFrame(frame);"), []);
reports("one that starts none", button("", ""), ["require-member-disposal"]);
reports("one that stops it first", button("cancelAnimationFrame(asked);", "frame();"), [
  "require-member-disposal",
]);
/** Something that is made ready inside of something of the same kind. */
const inner = `interface Runner { init(): Promise<void>; Destroy(): Promise<void>; }
declare const device: GPUDevice;
class Field {
readonly texture: GPUTexture;
constructor(d: GPUDevice) {
this.texture = d.createTexture({ size: [1], format: "rgba8unorm", usage: 4 });
}
destroy(): void { this.texture.destroy(); }
}
export class Fluid implements Runner {
field!: Field;
async init(): Promise<void> { await this.initField(); }
async initField(): Promise<void> {
this.field = await Promise.resolve(new Field(device));
}
async Destroy(): Promise<void> { this.field.destroy(); }
}
export class Framed implements Runner {
constructor(private readonly runner: Runner) {}
async init(): Promise<void> { await this.runner.init(); }
async Destroy(): Promise<void> { await this.runner.Destroy(); }
}
export async function handle(r: Runner): Promise<void> { await r.init(); await r.Destroy(); }
export const show = (): Promise<void> => handle(new Framed(new Fluid()));`;
reports("something that makes ready what is in it", inner, []);
test.run();
