/**
 * Ended by callers: fields whose values a caller, a helper or a subclass ends before they are
 * filled again, under whatever name; and close by each what is left to nobody.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("ended by callers");
const finds = marked(test);

finds(
  "a helper that ends what it is given whole",
  `
import { zeros, type Tensor } from "tenure";
interface Pair {
  a: Tensor | null;
  b: Tensor | null;
}
function release(p: Pair): void {
  p.a?.dispose();
  p.b?.dispose();
  p.a = p.b = null;
}
class Bag implements Pair {
  a: Tensor | null = null;
  b: Tensor | null = null;
  #create(n: number): void {
    this.a = zeros([n]);
    this.b = zeros([n]);
  }
  resize(n: number): void {
    release(this);
    this.#create(n);
  }
  dispose(): void {
    release(this);
  }
}
export const bag = new Bag();`,
);
finds(
  "fields ended by their names",
  `
import { zeros, type Tensor } from "tenure";
class Model {
  static readonly names = ["w", "b"] as const;
  w: Tensor | null = null;
  b: Tensor | null = null;
  #create(n: number): void {
    this.w = zeros([n]);
    this.b = zeros([n]);
  }
  resize(n: number): void {
    for (const name of Model.names) this[name]?.dispose();
    this.#create(n);
  }
  dispose(): void {
    for (const name of Model.names) this[name]?.dispose();
    this.w?.dispose();
  }
}
export const bag = new Model();`,
);
finds(
  "fields ended as the list of a method",
  `
import { zeros, type Tensor } from "tenure";
class Model {
  w: Tensor = zeros([1]);
  b: Tensor = zeros([2]);
  parts(): Tensor[] {
    return [this.w, this.b];
  }
  #create(n: number): void {
    this.w = zeros([n]);
    this.b = zeros([n]);
  }
  resize(n: number): void {
    for (const t of this.parts()) t.dispose();
    this.#create(n);
  }
  dispose(): void {
    for (const t of this.parts()) t.dispose();
  }
}
export const bag = new Model();`,
);
finds(
  "an ending that a subclass writes",
  `
import { zeros, type Tensor } from "tenure";
abstract class Stage {
  open(n: number): void {
    this.leave();
    this.enter(n);
  }
  protected abstract enter(n: number): void;
  protected abstract leave(): void;
  dispose(): void {
    this.leave();
  }
}
class Draw extends Stage {
  #t: Tensor | null = null;
  protected enter(n: number): void {
    this.#t = zeros([n]);
  }
  protected leave(): void {
    this.#t?.dispose();
    this.#t = null;
  }
}
export function main(): void {
  const d = new Draw();
  d.open(3);
  d.open(4);
  d.dispose();
}`,
);
finds(
  "fields ended by a list of names",
  `
export class Targets {
  private color: GPUTexture | null = null;
  private depth: GPUTexture | null = null;
  constructor(private readonly d: GPUDevice) {}
  private create(w: number): void {
    this.color = this.d.createTexture({ size: [w] });
    this.depth = this.d.createTexture({ size: [w] });
  }
  private release(): void {
    (["color", "depth"] as const).forEach((k) => {
      this[k]?.destroy();
      this[k] = null;
    });
  }
  resize(w: number): void {
    this.release();
    this.create(w);
  }
  destroy(): void {
    this.release();
  }
}`,
  "webgpu",
);
finds(
  "statistics ended by their names",
  `
const tf = require("@tensorflow/tfjs");
class Scaler {
  fit(x) {
    this.free();
    this.mean = x.mean(0);
    this.std = tf.sqrt(x.mean(0));
  }
  refit(x) {
    this.free();
    this.load(x);
  }
  load(x) {
    this.mean = tf.mean(x, 0);
    this.std = tf.mean(x, 1);
  }
  free() {
    for (const key of ["mean", "std"]) this[key]?.dispose();
  }
}
module.exports = { Scaler };`,
  "tfjs",
);
finds(
  "a caller that ends another field first",
  `
import { zeros, type Tensor } from "tenure";
class Bag {
  #a: Tensor | null = null;
  #b: Tensor | null = null;
  #create(n: number): void {
    this.#a = zeros([n]); // !
  }
  #other(n: number): void {
    this.#b = zeros([n]);
  }
  resize(n: number): void {
    this.#b?.dispose();
    this.#other(n);
    this.#create(n);
  }
  dispose(): void {
    this.#a?.dispose();
    this.#b?.dispose();
  }
}
export const bag = new Bag();`,
);
finds(
  "a hook that ends nothing of this stage",
  `
import { zeros, type Tensor } from "tenure";
abstract class Stage {
  open(n: number): void {
    this.leave();
    this.enter(n);
  }
  protected abstract enter(n: number): void;
  protected abstract leave(): void;
}
class Draw extends Stage {
  #t: Tensor | null = null;
  protected enter(n: number): void {
    this.#t = zeros([n]); // !
  }
  protected leave(): void {
    console.log(this.#t?.size);
  }
  dispose(): void {
    this.#t?.dispose();
  }
}
export function main(): void {
  const d = new Draw();
  d.open(3);
  d.open(4);
  d.dispose();
}`,
);

test.run();
