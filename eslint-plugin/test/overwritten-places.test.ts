/**
 * Values that are written over by others in fields, lists and tables, and in variables that
 * functions share. Each case is a program with what the rule says of it: nothing for those that end
 * what they write over.
 */
import { suite } from "uvu";
import { losses } from "./losing.ts";

const test = suite("overwritten places");
const { invalid, valid } = losses(test);

// ---- places that are full, or get something better ----

const stacker = (body: string, end = "this.#best?.image.dispose();"): string => `
class Stacker {
  #best: { image: Tensor; sharpness: number } | null = null;
  get sharpness(): number { return this.#best?.sharpness ?? 0; }
  add(image: Tensor, sharpness: number): void {
    ${body}
  }
  [Symbol.dispose](): void { ${end} }
}
export function run(n: number): number {
  using stacker = new Stacker();
  for (let i = 0; i < n; i++) stacker.add(rand([2]), i);
  return stacker.sharpness;
}`;
invalid(
  "the sharpest image",
  stacker(
    "if (this.#best === null || sharpness >= this.#best.sharpness) {\n" +
      "this.#best = { image, sharpness };\n} else {\nimage.dispose();\n}",
  ),
  "7: This assignment loses the tensor `this.#best` held before; dispose it afterwards.",
);
valid(
  "the sharpest image, which ends the one before",
  stacker(
    "if (this.#best === null || sharpness >= this.#best.sharpness) {\n" +
      "this.#best?.image.dispose();\nthis.#best = { image, sharpness };\n} else image.dispose();",
  ),
);
valid(
  "the first image",
  stacker("if (this.#best === null) this.#best = { image, sharpness }; else image.dispose();"),
);
valid(
  "the first sharp image",
  stacker(
    "if (this.#best === null && sharpness > 3) this.#best = { image, sharpness };\n" +
      "else image.dispose();",
  ),
);

const running = (body: string): string => `
function openMean() {
  let running: Tensor | null = null;
  return {
    add(value: Tensor): void {
      ${body}
    },
    size: (): number => running?.size ?? 0,
    close(): void { running?.dispose(); running = null; },
  };
}
export function run(values: Tensor[]): number {
  const mean = openMean();
  for (const value of values) mean.add(value.neg());
  const size = mean.size();
  mean.close();
  return size;
}`;
invalid(
  "a mean that is there",
  running(
    "if (running === null) {\nrunning = value;\nreturn;\n}\n" +
      "const before: Tensor = running;\nrunning = before.lerp(value, 0.3);\nvalue.dispose();",
  ),
  "11: This assignment loses the tensor `running` held before; dispose it afterwards.",
);
invalid(
  "a mean that is asked for",
  running(
    "if (running) {\nconst blended: Tensor = running.lerp(value, 0.2);\nvalue.dispose();\n" +
      "running = blended;\n} else {\nrunning = value;\n}",
  ),
  "9: This assignment loses the tensor `running` held before; dispose it afterwards.",
);
valid(
  "a mean that is ended",
  running(
    "if (running === null) {\nrunning = value;\nreturn;\n}\n" +
      "const before: Tensor = running;\nrunning = before.lerp(value, 0.3);\nbefore.dispose();",
  ),
);
valid("a mean that is not there", running("if (running !== null) return;\nrunning = value;"));
valid(
  "a mean that is filled where it is not there",
  running("if (running !== null) value.dispose();\nelse running = value;"),
);

// ---- fields of what is found, of builders, and of records written anew ----

const layered = (body: string): string => `
interface Layer { readonly name: string; pixels: Tensor; mask?: Tensor }
function endLayer({ pixels, mask }: Layer): void { pixels.dispose(); mask?.dispose(); }
function createLayers() {
  const stack: Layer[] = [];
  const find = (name: string): Layer => stack.find((each) => each.name === name)!;
  return {
    add: (layer: Layer): void => void stack.push(layer),
    setMask(name: string, mask: Tensor): void {
      const layer = find(name);
      ${body}
    },
    dispose(): void { for (const layer of stack) endLayer(layer); },
  };
}
export function run(mask: Tensor): void {
  const layers = createLayers();
  layers.add({ name: "sky", pixels: zeros([2]) });
  for (const name of ["sky", "sky"]) layers.setMask(name, mask);
  layers.dispose();
}`;
invalid(
  "a field of what a function finds",
  layered("layer.mask = mask.clone();"),
  "11: This assignment loses the tensor `layer.mask` held before; dispose it afterwards.",
);
valid("one that is ended", layered("layer.mask?.dispose();\n layer.mask = mask.clone();"));
valid("one that is only filled", layered("layer.mask ??= mask.clone();"));

const builder = (body: string, calls: string, more = ""): string => `
class Codec {
  readonly step: Tensor;
  constructor(step: Tensor) { this.step = step; }
  [Symbol.dispose](): void { this.step.dispose(); }
}
class Builder {
  #step: Tensor | undefined;
  #rate = 1;
  rate(rate: number): this { this.#rate = rate; return this; }
  step(size: number): this {
    ${body}
    return this;
  }
  ${more}
  build(): Codec { return new Codec(this.#step ?? ones([this.#rate])); }
}
export function run(): number {
  using codec = new Builder()${calls}.build();
  return codec.step.size;
}`;
const twice = ".step(2).rate(3).step(4)";
invalid(
  "a step that a builder is given twice",
  builder("this.#step = rand([size]);", twice),
  "12: This assignment loses the tensor `this.#step` held before; dispose it afterwards.",
);
valid("a step that it is given once", builder("this.#step = rand([size]);", ".rate(3).step(4)"));
valid("a step that it ends", builder("this.#step?.dispose();\nthis.#step = rand([size]);", twice));
valid(
  "a step that another method ends",
  builder(
    "this.drop();\nthis.#step = rand([size]);",
    twice,
    "drop(): void { this.#step?.dispose(); }",
  ),
);
valid(
  "a step that it drops between",
  builder(
    "this.#step = rand([size]);",
    ".step(2).none().step(4)",
    "none(): this { this.#step?.dispose(); this.#step = undefined; return this; }",
  ),
);

const cloud = (body: string): string => `
interface Cloud { states: Tensor; weights: Tensor }
const end = ({ states, weights }: Cloud): void => { states.dispose(); weights.dispose(); };
class Filter {
  #cloud: Cloud = { states: rand([4]), weights: ones([4]) };
  #mark: Cloud | undefined;
  predict(): void {
    const states = this.#cloud.states.add(1);
    this.#cloud.states.dispose();
    this.#cloud = { ...this.#cloud, states };
  }
  mark(): void {
    if (this.#mark !== undefined) end(this.#mark);
    const { states, weights } = this.#cloud;
    this.#mark = { states: states.clone(), weights: weights.clone() };
  }
  back(): void {
    if (this.#mark === undefined) return;
    ${body}
    this.#mark = undefined;
  }
  [Symbol.dispose](): void {
    if (this.#mark !== undefined) end(this.#mark);
    end(this.#cloud);
  }
}
export function run(): void {
  using filter = new Filter();
  filter.mark();
  filter.predict();
  filter.back();
}`;
invalid(
  "a record that another takes the place of",
  cloud("this.#cloud = this.#mark;"),
  "19: This assignment loses the tensor `this.#cloud` held before; dispose it afterwards.",
);
valid(
  "a record that keeps all it had",
  cloud("end(this.#cloud);\n this.#cloud = this.#mark;").replace(
    "predict(): void {",
    "steps = { cloud: rand([2]), count: 0 };\n" +
      "step(): void { this.steps = { ...this.steps, count: 1 }; }\n" +
      "stop(): void { this.steps.cloud.dispose(); }\n  predict(): void {",
  ),
);
valid("a record that is ended", cloud("end(this.#cloud);\n this.#cloud = this.#mark;"));

// ---- elements and entries that are taken over ----

const ring = (body: string, more = ""): string => `
interface Step { state: Tensor; next: Tensor }
const end = ({ state, next }: Step): void => { state.dispose(); next.dispose(); };
function createReplay(capacity: number) {
  const slots: (Step | undefined)[] = [];
  let cursor = 0;
  return {
    push(step: Step): void {
      ${body}
      cursor = (cursor + 1) % capacity;
    },
    ${more}
    clear(): void {
      for (const step of slots) if (step !== undefined) end(step);
      slots.length = 0;
    },
  };
}
export function run(n: number): void {
  const replay = createReplay(2);
  for (let i = 0; i < n; i++) replay.push({ state: zeros([2]), next: ones([2]) });
  replay.clear();
}`;
invalid(
  "a place of a ring",
  ring("slots[cursor] = step;"),
  "9: `slots` loses the tensor it held under this key; dispose it first.",
);
valid(
  "a place of a ring that is ended",
  ring("const old = slots[cursor];\nif (old !== undefined) end(old);\nslots[cursor] = step;"),
);
valid(
  "a ring that is full",
  ring("if (slots[cursor] !== undefined) throw step;\nslots[cursor] = step;"),
);
valid(
  "a ring that gives its steps away",
  ring("slots[cursor] = step;", "at: (i: number) => slots[i],"),
);

const saved = (body: string, calls: string, after = "free(saved[name]!); delete saved[name];") => `
type Model = { w: Tensor; b: Tensor };
const saved: Record<string, Model> = {};
const free = ({ w, b }: Model): void => { w.dispose(); b.dispose(); };
const train = (k: number): Model => ({ w: ones([k]), b: zeros([k]) });
function save(name: string, model: Model): void {
  ${body}
}
export function run(): number {
  ${calls}
  let sum = 0;
  for (const name of Object.keys(saved)) { sum += saved[name]!.w.size; ${after} }
  return sum;
}`;
const same = 'save("strong", train(2)); save("strong", train(3));';
invalid(
  "an entry of a dictionary",
  saved("saved[name] = model;", same),
  "7: `saved` loses the tensor it held under this key; dispose it first.",
);
valid(
  "an entry that is ended",
  saved("const old = saved[name];\nif (old) free(old);\nsaved[name] = model;", same),
);
valid(
  "another entry",
  saved("saved[name] = model;", 'save("weak", train(2)); save("strong", train(3));'),
);
valid("an entry that nobody ends", saved("saved[name] = model;", same, ""));

test.run();
