/**
 * Lists that grow by an assignment, `xs = [...xs, x]`, and are cut by another one or by a length:
 * what is left out is lost, as with `push` and `splice`.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("spread back");
const finds = marked(test);
const from = `import type { Tensor } from "tenure";\n`;

/** A list of a closure and one of a class that get a tensor, after which something else is done. */
const lists = (closure: string, field: string): string => `${from}export function film() {
  let frames: readonly Tensor[] = [];
  return {
    shoot(x: Tensor, most: number): number {
      frames = [...frames, x.clone()];
      ${closure}
      return most;
    },
    dispose: () => frames.forEach((frame) => frame.dispose()),
  };
}
export class Film {
  frames: readonly Tensor[] = [];
  shoot(x: Tensor, most: number): number {
    this.frames = [x.clone(), ...this.frames];
    ${field}
    return most;
  }
  dispose(): void { for (const frame of this.frames) frame.dispose(); }
}`;

finds("lists that only grow", lists("", ""));
finds(
  "lists that are cut",
  lists("frames = frames.slice(-most); // !", "this.frames = this.frames.slice(0, most); // !"),
);
finds(
  "lists whose others are ended",
  lists(
    `for (const old of frames.slice(0, -most)) old.dispose();
      frames = frames.slice(-most);`,
    `this.frames.at(-1)?.dispose();
    this.frames = this.frames.slice(0, most);`,
  ),
);
finds(
  "lists that are emptied",
  lists("if (frames.length > most) frames = []; // !", "if (most < 3) this.frames = []; // !"),
);
finds(
  "lists that are sorted and cut at once",
  lists(
    "frames = [...frames, x.neg()].sort((a, b) => a.size - b.size);",
    "this.frames = [x.neg(), ...this.frames].reverse().slice(0, most); // !",
  ),
);
finds(
  "new lists that are sorted",
  `${from}type Order = (a: Tensor, b: Tensor) => number;
export const pair = (x: Tensor, order: Order): Tensor[] => [x.neg(), x.abs()].sort(order);
export function both(x: Tensor, order: Order): void {
  const all = [x.neg(), x.abs()].sort(order).reverse();
  for (const each of all) each.dispose();
}
export const count = (x: Tensor, order: Order): number =>
  [x.neg(), x.abs()].sort(order).length; // !`,
);
finds(
  "entries that are sorted, and ended in turn",
  `interface Entry { texture: GPUTexture | null; tick: number }
export class Images {
  private readonly all = new Map<string, Entry>();
  add(d: GPUDevice, key: string, tick: number): void {
    const texture = d.createTexture({ size: [8], format: "rgba8unorm", usage: 16 });
    if (!this.all.has(key)) this.all.set(key, { texture, tick });
    else texture.destroy();
  }
  evict(now: number): void {
    const old = [...this.all.entries()].filter(([, e]) => e.tick !== now)
      .sort((a, b) => a[1].tick - b[1].tick);
    for (const [key, e] of old) { e.texture?.destroy(); this.all.delete(key); }
  }
  destroy(): void { for (const e of this.all.values()) e.texture?.destroy(); this.all.clear(); }
}`,
  "webgpu",
);
finds(
  "a list filled from an end that gets a length",
  `${from}export class Past {
  states: Tensor[] = [];
  most = 9;
  add(x: Tensor): void {
    this.states.unshift(x.clone());
    this.states.length = this.most; // !
  }
  dispose(): void { for (const state of this.states) state.dispose(); }
}`,
);
finds(
  "a list whose others move to the front",
  `${from}export class Past {
  states: Tensor[] = [];
  keep(x: Tensor, n: number): void {
    this.states.push(x.clone());
    let j = 0;
    for (const state of this.states)
      if (state.size > n) this.states[j++] = state;
      else state.dispose();
    this.states.length = j;
  }
  dispose(): void { for (const state of this.states) state.dispose(); }
}`,
);
finds(
  "a list that gets a length for places that are filled",
  `${from}export class Grid {
  cells: Tensor[] = [];
  constructor(readonly n: number) {}
  fill(x: Tensor): void {
    this.cells.length = this.n;
    for (let i = 0; i < this.n; i++) this.cells[i] ??= x.clone();
  }
  dispose(): void { for (const cell of this.cells) cell.dispose(); }
}`,
);

test.run();
