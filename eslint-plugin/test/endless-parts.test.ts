/**
 * Objects without an end inside what has none: `strict` says so of the place that keeps them, once
 * for a class or function, and `recommended` is silent.
 */
import { suite } from "uvu";
import { casesOf, lastingOf } from "./webgpu-cases.ts";

const test = suite("endless parts");
const M = "require-member-disposal";
const reported = casesOf(test, { untilExit: "reported" });

const lasting = lastingOf(test);

const mesh =
  "class Mesh { buffer: GPUBuffer; constructor(d: GPUDevice) {\n" +
  "this.buffer = d.createBuffer({ size: 4 }); } draw() { return this.buffer.size; } }\n";
const painter =
  "function createPainter(d: GPUDevice) {\n" +
  "const buffer = d.createBuffer({ size: 4 }); return { draw: () => buffer.size }; }\n";

lasting(
  "a class that keeps one in a field",
  mesh +
    "export class Scene { mesh: Mesh; constructor(d: GPUDevice) {\n" +
    "this.mesh = new Mesh(d); } draw() { return this.mesh.draw(); } }",
  [M, M],
);
lasting(
  "classes that keep one another",
  mesh +
    "class Scene { mesh: Mesh; constructor(d: GPUDevice) {\nthis.mesh = new Mesh(d); } }\n" +
    "export class App { scene: Scene; constructor(d: GPUDevice) {\n" +
    "this.scene = new Scene(d); } }",
  [M, M, M],
);
lasting(
  "a class that keeps many",
  mesh +
    "export class Scene { all: Mesh[] = []; byName = new Map<string, Mesh>();\n" +
    "add(d: GPUDevice) {\nthis.all.push(new Mesh(d)); } }",
  [M, M],
);
lasting(
  "a list made of another",
  mesh +
    "export class Scene { all: Mesh[]; constructor(d: GPUDevice, names: string[]) {\n" +
    "this.all = names.map(() => new Mesh(d)); } }",
  [M, M],
);
lasting(
  "a class that is told with what it made itself",
  mesh +
    "export class Scene { mesh: Mesh; own: GPUBuffer; constructor(d: GPUDevice) {\n" +
    "this.own = d.createBuffer({ size: 4 }); this.mesh = new Mesh(d); } }",
  [M, M],
);
lasting(
  "an object of functions in an object of functions",
  painter +
    "export function createView(d: GPUDevice) {\n" +
    "const painter = createPainter(d); return { draw: () => painter.draw() }; }",
  [M, M],
);
lasting(
  "an object of functions that is awaited",
  painter +
    "async function later(d: GPUDevice) { return createPainter(d); }\n" +
    "export async function createView(d: GPUDevice) { const one = await d.queue;\n" +
    "const painter = createPainter(d); return { one, draw: () => painter.draw() }; }",
  [M, M],
);
lasting(
  "a class that keeps an object of functions",
  painter +
    "export class View { painter: ReturnType<typeof createPainter>; constructor(d: GPUDevice) {\n" +
    "this.painter = createPainter(d); } }",
  [M, M],
);
reported(
  "the one that is made again of several",
  mesh +
    "export class Scene { mesh: Mesh; rows: Mesh | null = null; constructor(d: GPUDevice) { " +
    "this.mesh = new Mesh(d); }\nresize(d: GPUDevice) {\nthis.rows = new Mesh(d); } }",
  [M, M],
);
reported(
  "one that others free",
  "class Mesh { buffer: GPUBuffer; constructor(d: GPUDevice) { " +
    "this.buffer = d.createBuffer({ size: 4 }); } }\n" +
    "export class Scene { mesh: Mesh; constructor(d: GPUDevice) { this.mesh = new Mesh(d); }\n" +
    "stop() { this.mesh.buffer.destroy(); } }",
  [],
);
reported(
  "one that is only given",
  mesh + "export class Scene { constructor(readonly mesh: Mesh) {} }",
  [M],
);
reported(
  "an object that goes with its device",
  mesh +
    "export class Scene { mesh: Mesh; constructor(readonly d: GPUDevice) {\n" +
    "this.mesh = new Mesh(d); } stop() { this.d.destroy(); } }",
  [],
);
reported(
  "a static field",
  mesh +
    "export class Scene { static mesh?: Mesh; static init(d: GPUDevice) {\n" +
    "Scene.mesh = new Mesh(d); } }",
  [M],
);
reported(
  "an object that a function gives away",
  painter +
    "export function createView(d: GPUDevice) { const painter = createPainter(d);\n" +
    "const draw = () => painter.draw(); return { painter, draw }; }",
  [M],
);

test.run();
