/**
 * Devices, which a program asks for: their classes end them, and what one made is gone when it is
 * lost. Types are those of the platform, as TypeScript declares them itself. Each case says which
 * rules of `recommended` must report, in order of lines, some with what lasts until exit.
 */
import { suite } from "uvu";
import plugin from "../src/index.ts";
import { assert, lines, lint, typeErrors } from "./tester.ts";

const test = suite("devices");
const { rules } = plugin.configs.recommended;

function reports(
  name: string,
  code: string,
  expected: string[],
  untilExit: "allowed" | "reported" = "allowed",
): void {
  test(name, () => {
    assert.equal(typeErrors(code), []);
    const found = lines(lint(code, { rules, settings: { presets: ["webgpu"], untilExit } }));
    assert.equal(
      found.map((line) => line.split(/[ :]/)[1]),
      expected,
      found.join("\n"),
    );
  });
}

/** A class that asks for a device. */
const view = (end: string): string =>
  "export class View { private device: GPUDevice | null = null; " +
  "private buffer: GPUBuffer | null = null;\n" +
  "async init(a: GPUAdapter): Promise<void> {\nthis.device = await a.requestDevice();\n" +
  "this.buffer = this.device.createBuffer({ size: 4, usage: 1 }); }\n" +
  "size(): number { return this.buffer?.size ?? 0; }\n" +
  `${end} }`;

reports(
  "one that the end of its class leaves",
  view("dispose(): void { this.buffer?.destroy(); this.buffer = null; }"),
  ["require-member-disposal"],
);
reports(
  "one that ends all it made",
  view("dispose(): void { this.device?.destroy(); this.device = null; }"),
  [],
);
reports(
  "one that is let go of",
  "export class View { private device: GPUDevice | null = null;\n" +
    "async init(a: GPUAdapter): Promise<void> { this.device = await a.requestDevice(); }\n" +
    "isReady(): boolean { return this.device !== null; }\n" +
    "cleanup(): void {\nthis.device = null; } }",
  ["no-overwritten-tensor"],
);
reports(
  "one that is lost",
  "let now: GPUDevice | null = null;\nlet soon: Promise<GPUDevice> | null = null;\n" +
    "export function get(a: GPUAdapter): Promise<GPUDevice> {\nif (soon) return soon;\n" +
    "soon = (async () => { const d = await a.requestDevice();\n" +
    "d.lost.then(() => { now = null; soon = null; });\nnow = d; return d; })();\nreturn soon; }\n" +
    "export const has = (): boolean => now !== null;",
  [],
);
reports(
  "another that is asked for where the first cannot be had",
  "export async function get(a: GPUAdapter): Promise<GPUDevice> {\nlet device: GPUDevice;\n" +
    "try {\ndevice = await a.requestDevice({ label: 'first' });\nconsole.log('first');\n" +
    "} catch {\ndevice = await a.requestDevice();\n}\nreturn device; }",
  [],
);
reports(
  "another where the first may fail later",
  "export async function get(a: GPUAdapter) {\n" +
    "let device: GPUDevice;\ntry {\ndevice = await a.requestDevice({ label: 'first' });\n" +
    "await device.queue.onSubmittedWorkDone();\n" +
    "} catch {\ndevice = await a.requestDevice();\n}\nreturn device; }",
  ["no-overwritten-tensor"],
);

const shown = (end: string): string =>
  "export class View { private device!: GPUDevice; private buffer: GPUBuffer | null = null;\n" +
  "getDevice(): GPUDevice { return this.device; }\n" +
  "async init(a: GPUAdapter): Promise<void> {\nthis.device = await a.requestDevice();\n" +
  "this.buffer = this.device.createBuffer({ size: 4, usage: 1 });\n" +
  "void this.device.lost.then(() => { void a.requestDevice().then((d) => { this.device = d; });" +
  " }); }\n" +
  `dispose(): void { this.buffer?.destroy(); ${end} } }`;
reports("one that is shown to others", shown(""), []);
reports("one that is shown to others and left", shown(""), ["require-member-disposal"], "reported");
reports("one that is shown to others and ended", shown("this.device.destroy();"), [], "reported");
reports(
  "one that the program ends elsewhere",
  `${shown("")}\nexport const stop = (v: View): void => v.getDevice().destroy();`,
  [],
  "reported",
);

reports(
  "a static field beside those that a static end frees, told once",
  "export class Demo {\nprivate static shown: GPUBuffer;\nprivate static read: GPUBuffer;\n" +
    "static init(device: GPUDevice): void {\n" +
    "this.shown = device.createBuffer({ size: 4, usage: 1 });\n" +
    "this.read = device.createBuffer({ size: 4, usage: 1 }); }\n" +
    "static destroy(): void { this.read.destroy(); }\n" +
    "static size(): number { return this.shown.size; } }",
  ["require-member-disposal"],
  "reported",
);

/** A main function that asks for a device and uses it, and what runs it. */
const main = (start: string, loop = ""): string =>
  "async function main(): Promise<void> {\n" +
  "const adapter = await navigator.gpu.requestAdapter();\n" +
  `${loop} {\nconst device = await adapter!.requestDevice();\ndevice.queue.submit([]);\n} }\n` +
  start;
const once = "main().catch(() => undefined);";
const D = ["require-disposal"];
reports("one of the program", main(once), []);
reports("one of the program, where all must end", main(once), D, "reported");
reports("some of the program", main(once, "for (let i = 0; i < 3; i++)"), D);
reports("one for each click", main("document.onclick = () => { void main(); };"), D);

/** A main function that has a device make something for one pass. */
const draws = (start: string, loop = ""): string =>
  "async function main(): Promise<void> {\n" +
  "const device = await (await navigator.gpu.requestAdapter())!.requestDevice();\n" +
  `${loop} {\nconst made = device.createBuffer({ size: 4, usage: 1 });\n` +
  `device.queue.writeBuffer(made, 0, new Float32Array(1));\n} }\n${start}`;
reports("what one of the program makes once", draws(once), []);
reports("what it makes, where all must end", draws(once), [...D, ...D], "reported");
reports("what it makes again", draws(once, "for (let i = 0; i < 3; i++)"), D);
reports("what it makes for each click", draws("onclick = () => { void main(); };"), [...D, ...D]);

/** Functions that a main function leads to. */
const leads = (start: string, exported = ""): string =>
  "const write = (device: GPUDevice, to: GPUBuffer): void =>\n" +
  "device.queue.writeBuffer(to, 0, new Float32Array(1));\n" +
  `${exported} function upload(device: GPUDevice): void {\n` +
  `const made = device.createBuffer({ size: 4, usage: 1 });\nwrite(device, made); }\n${start}`;
const asks = "const device = await (await navigator.gpu.requestAdapter())!.requestDevice();";
const runs = (body: string): string =>
  `async function main(): Promise<void> { ${asks}\n${body} }\n`;
const first = `${runs("upload(device);")}void main();`;
reports("what is made for a main function", leads(first), []);
reports("what is made for it twice", leads(`${runs("upload(device); upload(device);")}main();`), D);
reports("what others may make, too", leads(first, "export"), D);
reports(
  "what is made in a function that runs there",
  leads(`(async () => { ${asks}\nupload(device); })();`),
  [],
);
const then = "init().then((device) => { upload(device); });";
const init = `async function init(): Promise<GPUDevice> { ${asks} return device; }\n`;
reports("what is made once a device is there", leads(init + then), []);
reports("what is made when a page is", leads(`${runs("upload(device);")}onload = main;`), []);
reports("what a click makes", leads(`${runs("upload(device);")}onclick = main;`), [...D, ...D]);
reports(
  "what is made when a page is loaded",
  leads(`${runs("upload(device);")}addEventListener("load", () => { void main(); });`),
  [],
);

/** An object of the program that keeps what it makes, and has an end. */
const game = (start: string): string =>
  "class Game { private b: GPUBuffer; constructor(private d: GPUDevice) {\n" +
  "this.b = d.createBuffer({ size: 4, usage: 32 }); }\n" +
  "run(): void { this.d.queue.writeBuffer(this.b, 0, new Uint8Array(4)); }\n" +
  `destroy(): void { this.b.destroy(); } }\n${start}`;
const plays = "const game = new Game(device);\ngame.run();";
reports("an object of a main function", game(`${runs(plays)}void main();`), []);
reports(
  "an object for each click",
  game(
    `const play = (device: GPUDevice): void => { ${plays} };\n` +
      "export const on = (d: GPUDevice): void => addEventListener('click', () => play(d));",
  ),
  D,
);

test.run();
