/**
 * Records that take the place of others in a table where those do not do any more, what abstract
 * methods make, and fields whose value ends by another name.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("grown records");
const finds = marked(test);

const cache = (before: string, after = "", mark = ""): string =>
  `interface Entry { w: number; texture: GPUTexture }
export class Cache {
  readonly #all = new Map<string, Entry>();
  constructor(readonly d: GPUDevice) {}
  target(name: string, w: number): GPUTexture {
    const have = this.#all.get(name);
    if (have && have.w === w) return have.texture;
    ${before}
    const texture = this.d.createTexture({ w });
    this.#all.set(name, { w, texture });${mark}
    ${after}
    return texture;
  }
  destroy() { for (const e of this.#all.values()) e.texture.destroy(); this.#all.clear(); }
}`;
finds("at another size", cache("", "", " // !"), "webgpu");
finds("ended before", cache("have?.texture.destroy();"), "webgpu");
finds("ended after", cache("", "have?.texture.destroy();"), "webgpu");
finds(
  "kept for later",
  cache("if (have) later.push(have);") + "\nconst later: Entry[] = [];",
  "webgpu",
);

finds(
  "evicted by another method",
  cache("this.evict(name);").replace(
    "  destroy()",
    "  evict(n: string) { this.#all.get(n)?.texture.destroy(); this.#all.delete(n); }\n  destroy()",
  ),
  "webgpu",
);
finds(
  "dropped by a function that gets the table",
  "const drop = (all: Map<string, Entry>, n: string) => { " +
    `all.get(n)?.texture.destroy(); all.delete(n); };\n${cache("drop(this.#all, name);")}`,
  "webgpu",
);
finds("another size throws", cache('if (have) throw new Error("size");'), "webgpu");
finds(
  "a key that has the size",
  cache("")
    .replace("get(name)", "get(key)")
    .replace("set(name,", "set(key,")
    .replace("    const have", "    const key = `${name}:${w}`;\n    const have"),
  "webgpu",
);

const slots = (ensure: string): string => `interface Slot { buffer: GPUBuffer; capacity: number }
export class Store {
  readonly slots = new Map<number, Slot>();
  readonly #later: GPUBuffer[] = [];
  constructor(readonly d: GPUDevice) {}
  ensure(part: number, capacity: number): Slot {
    ${ensure}
    return slot;
  }
  destroy() { for (const s of this.slots.values()) drop(s); this.slots.clear(); }
}
function drop(slot: Slot) { slot.buffer.destroy(); }`;
const had = `const old = this.slots.get(part);
    if (old !== undefined && old.capacity >= capacity) return old;`;
const had2 = `const old = this.slots.get(part);
    if (old) { if (old.capacity >= capacity) return old; }`;
const had3 = `const old = this.slots.get(part);
    if ((old?.capacity ?? 0) >= capacity) return old!;`;
const had4 = `if (this.slots.has(part)) {
      const old = this.slots.get(part)!;
      if (old.capacity >= capacity) return old;
    }`;
const put = (mark = ""): string => `
    const buffer = this.d.createBuffer({ size: capacity });
    const slot: Slot = { buffer, capacity };
    this.slots.set(part, slot);${mark}`;
for (const [name, code] of Object.entries({ had, had2, had3, had4 }))
  finds(`outgrown, asked as in ${name}`, slots(code + put(" // !")), "webgpu");
for (const [name, end] of Object.entries({
  ended: "if (old !== undefined) drop(old);",
  "ended where it is there": "old?.buffer.destroy();",
  "kept for later": "if (old) this.#later.push(old.buffer);",
})) {
  finds(`outgrown and ${name}`, slots(`${had} ${end} ${put()}`), "webgpu");
  finds(`outgrown, asked by itself, and ${name}`, slots(`${had2} ${end} ${put()}`), "webgpu");
}
finds(
  "one that is there is given whatever it has",
  slots(had4.replace("return old;", "return old;\n      grow(old); return old;") + put()) +
    "\ndeclare function grow(slot: Slot): void;",
  "webgpu",
);

const either = (end: string, mark = ""): string =>
  slots(`const slot = this.slots.get(part);
    if (!slot || slot.capacity < capacity) {
      ${end}
      const made = { buffer: this.d.createBuffer({ size: capacity }), capacity };
      this.slots.set(part, made);${mark}
      return made;
    }`);
finds("outgrown, and left at once", either("", " // !"), "webgpu");
finds("outgrown and ended, and left at once", either("slot?.buffer.destroy();"), "webgpu");

const parts = (end: string, mark = ""): string => `interface Slot {
  buffer: GPUBuffer; light: GPUBuffer; capacity: number
}
export class Store {
  readonly slots = new Map<number, Slot>();
  constructor(readonly d: GPUDevice) {}
  ensure(part: number, capacity: number): Slot {
    ${had}
    ${end}
    const light = old?.light ?? this.d.createBuffer({ size: 4 });
    const slot: Slot = { buffer: this.d.createBuffer({ size: capacity }), light, capacity };
    this.slots.set(part, slot);${mark}
    return slot;
  }
  destroy() { for (const s of this.slots.values()) { s.buffer.destroy(); s.light.destroy(); } }
}`;
finds("outgrown but for a part that is kept", parts("", " // !"), "webgpu");
finds("outgrown, a part kept and one ended", parts("old?.buffer.destroy();"), "webgpu");

const base = (resize: string): string => `abstract class Base {
  protected target: GPUTexture | null = null;
  constructor(protected d: GPUDevice) {}
  protected abstract make(w: number): GPUTexture;
  resize(w: number): void {
    ${resize}
  }
  destroy(): void { this.target?.destroy(); }
}
export function main(d: GPUDevice) {
  const depth = new Depth(d);
  addEventListener("resize", () => { depth.resize(innerWidth); });
  return () => { depth.destroy(); };
}
`;
const fresh = `export class Depth extends Base {
  protected make(w: number): GPUTexture { return this.d.createTexture({ w }); }
}`;
const shared = `const all = new Map<number, GPUTexture>();
export class Depth extends Base {
  protected make(w: number): GPUTexture {
    const known = all.get(w);
    if (!known) throw new Error("none");
    return known;
  }
}
export function add(d: GPUDevice, w: number) {
  if (!all.has(w)) all.set(w, d.createTexture({ w }));
}`;
finds("an abstract method makes it", base("this.target = this.make(w); // !") + fresh, "webgpu");
finds(
  "the last one is ended",
  base("this.target?.destroy(); this.target = this.make(w);") + fresh,
  "webgpu",
);
finds(
  "an abstract method ends the last one",
  base("this.free(); this.target = this.make(w);").replace(
    "  resize(",
    "  protected abstract free(): void;\n  resize(",
  ) +
    fresh.replace(
      "  protected make",
      "  protected free(): void { this.target?.destroy(); this.target = null; }\n  protected make",
    ),
  "webgpu",
);
finds("an abstract method finds it", base("this.target = this.make(w);") + shared, "webgpu");

test.run();
