/**
 * Methods that fill an object which was made just before, by its constructor or by who made it, and
 * functions that run when a page is there: nothing is lost. `// !` marks the line of a report.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("new objects");
const finds = marked(test);

/** A view that a click makes anew, as told, and a method that fills it. */
const view = (start: string, mark = ""): string =>
  `class View { b: GPUBuffer | null = null; constructor(readonly d: GPUDevice) {}
async fill(n: number) { this.b = this.d.createBuffer({ size: n });${mark}
return n > 1; }
destroy() { this.b?.destroy(); } }
class Flat extends View { override async fill() { return true; } }
interface Button { addEventListener(event: string, listener: () => void): void }
let current: View;
export function main(d: GPUDevice, button: Button, isFlat: boolean): void {
current = new View(d);
async function open() { ${start} return current; }
button.addEventListener("click", () => { void open(); }); }
`;
const made =
  "current.destroy(); if (isFlat) { current = new Flat(d); } else { current = new View(d); }";
const filled = "await current.fill(4);";

finds("on every way", view(`${made} ${filled}`), "webgpu");
finds("and asked further in", view(`${made} if (!isFlat) { ${filled} }`), "webgpu");
finds("in no way", view(filled, " // !"), "webgpu");

/** A class whose constructor calls a method, and others that do. */
const mesh = (more = "", mark = ""): string =>
  `export class Mesh { b!: GPUBuffer; constructor(readonly d: GPUDevice) { this.setBuffer(1); }
setBuffer(n: number): void { this.b = this.d.createBuffer({ size: n }); }${mark}
${more}destroy(): void { this.b.destroy(); } }
`;
finds("a method that the constructor alone calls", mesh(), "webgpu");
finds(
  "a method that others call",
  mesh("grow(): void { this.setBuffer(2); }\n", " // !"),
  "webgpu",
);

/** A function that fills a variable for an event. */
const page = (event: string, mark = ""): string =>
  `declare const window: { addEventListener(event: string, listener: () => void): void };
declare const device: GPUDevice;
let shown: GPUTexture | null = null;
function main(): void { shown = device.createTexture({}); }${mark}
export const end = (): void => shown?.destroy();
window.addEventListener("${event}", main);
`;
finds("an event that comes once", page("DOMContentLoaded"), "webgpu");
finds("an event that comes again", page("resize", " // !"), "webgpu");

test.run();
