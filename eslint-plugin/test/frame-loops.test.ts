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
test.run();
