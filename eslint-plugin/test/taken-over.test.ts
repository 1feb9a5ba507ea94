/**
 * What a function takes out of a list, is yielded or given for good, or shows to functions that
 * others hand in: it is the function's own, so that an early way out leaves it behind. Each case is
 * a program of which the lines marked with `// !` are reported with `recommended`, no others.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("taken over");
const finds = marked(test);

finds(
  "what is taken out of a list",
  `import { type Tensor } from "tenure";
interface Job { name: string; input: Tensor; cancelled: boolean; resolve(sum: number): void }
const jobs: Job[] = [];
const seen = new Map<string, number>();
export function ask(job: Job): void { jobs.push(job); }
export function skips(most: number): void {
  for (const { name, input, resolve } of jobs.splice(0, most)) { // !
    const known = seen.get(name);
    if (known === undefined) continue;
    resolve(known + input.size);
    input.dispose();
  }
}
export function asks(most: number): void {
  for (const { cancelled, input, resolve } of jobs.splice(0, most)) {
    if (cancelled) continue;
    resolve(input.size);
    input.dispose();
  }
}
export function keeps(later: Tensor[]): void {
  for (const { name, input } of jobs.splice(0)) {
    if (!seen.has(name)) {
      later.push(input);
      continue;
    }
    input.dispose();
  }
}
export function again(work: (t: Tensor) => boolean): void {
  const job = jobs.shift();
  if (!job) return;
  const { input } = job;
  if (!work(input)) {
    jobs.push(job);
    return;
  }
  input.dispose();
}
export function fails(work: (job: string) => number): void {
  for (let job = jobs.shift(); job !== undefined; job = jobs.shift()) {
    const { name, input, resolve } = job; // !
    try {
      if (input.rank !== 2) throw new RangeError("expected rows");
      const sum = work(name);
      input.dispose();
      resolve(sum);
    } catch (error) {
      console.error(error);
    }
  }
}
/** @takes all */
export function looks(all: readonly Tensor[], most: number): void {
  for (const t of all) {
    if (t.size > most) continue;
    t.dispose();
  }
}`,
);

finds(
  "what is yielded",
  `import { type Tensor } from "tenure";
interface Step { token: Tensor; logits: Tensor }
declare function steps(): AsyncGenerator<Step>;
declare function tell(token: Tensor): Promise<void>;
export async function run(most: number): Promise<void> {
  for await (const { token, logits } of steps()) { // !
    await tell(token);
    token.dispose();
    if (--most === 0) break;
    logits.dispose();
  }
}
export async function ended(most: number): Promise<void> {
  for await (const { token, logits } of steps()) {
    await tell(token);
    token.dispose();
    logits.dispose();
    if (--most === 0) break;
  }
}`,
);

finds(
  "fields of what is yielded",
  `import { type Tensor, scoped } from "tenure";
interface Shot { id: string; image: Tensor; mask: Tensor }
type Stage = (x: Tensor) => Tensor;
declare function shots(): AsyncGenerator<Shot>;
const seen = new Set<string>();
const compose = (...stages: Stage[]): Stage => (x) =>
  scoped(() => stages.reduce((y, stage) => stage(y), x.alias()));
const flip: Stage = (x) => x.flip(0);
const augment = compose(flip, seen.size > 3 ? flip : (x) => x.neg());
export async function leaves(limit: number): Promise<number> {
  let sum = 0;
  for await (const shot of shots()) { // !
    using wide = augment(shot.image);
    sum += await wide.item();
    if (sum > limit) break;
    shot.image.dispose();
    shot.mask.dispose();
  }
  return sum;
}
export async function ends(limit: number): Promise<void> {
  let sum = 0;
  for await (const shot of shots()) {
    sum += shot.image.size;
    shot.image.dispose();
    shot.mask.dispose();
    if (sum > limit) break;
  }
}
export async function keeps(kept: Shot[]): Promise<void> {
  for await (const shot of shots()) {
    if (seen.has("all")) {
      kept.push(shot);
      continue;
    }
    shot.image.dispose();
    shot.mask.dispose();
  }
}
function drop({ image, mask }: Shot): void {
  image.dispose();
  mask.dispose();
}
export async function drops(): Promise<void> {
  for await (const shot of shots()) {
    if (seen.has("all")) {
      drop(shot);
      continue;
    }
    shot.image.dispose();
    shot.mask.dispose();
  }
}
export async function asks(): Promise<void> {
  for await (const shot of shots()) {
    if (shot.id === "") continue;
    shot.image.dispose();
    shot.mask.dispose();
  }
}`,
);

finds(
  "what is found in a table and taken out of it",
  `import { type Tensor, ones } from "tenure";
class Session implements Disposable {
  readonly state = ones([2]);
  ticks = 0;
  [Symbol.dispose](): void { this.state.dispose(); }
}
export class Relay implements Disposable {
  readonly #sessions = new Map<string, Session>();
  readonly #masks = new Map<string, Tensor>();
  join(id: string): void {
    if (this.#sessions.has(id)) return;
    this.#sessions.set(id, new Session());
    this.#masks.set(id, ones([3]));
  }
  leave(id: string, quiet: boolean): void {
    const session = this.#sessions.get(id); // !
    if (!session) return;
    this.#sessions.delete(id);
    if (session.ticks > 3 && quiet) return;
    session[Symbol.dispose]();
  }
  part(id: string, quiet: boolean): void {
    const mask = this.#masks.get(id); // !
    this.#masks.delete(id);
    if (!quiet) mask?.dispose();
  }
  ends(id: string): void {
    const mask = this.#masks.get(id);
    this.#masks.delete(id);
    mask?.dispose();
    const session = this.#sessions.get(id);
    if (!session) return;
    session[Symbol.dispose]();
    this.#sessions.delete(id);
  }
  moves(id: string, to: string, kept: boolean): void {
    const session = this.#sessions.get(id);
    if (!session) return;
    this.#sessions.delete(id);
    if (kept) this.#sessions.set(to, session);
    else session[Symbol.dispose]();
  }
  takes(id: string): Tensor | undefined {
    const mask = this.#masks.get(id);
    this.#masks.delete(id);
    if (!mask || mask.size < 3) return mask;
    mask.dispose();
    return undefined;
  }
  [Symbol.dispose](): void {
    for (const s of this.#sessions.values()) s[Symbol.dispose]();
    for (const m of this.#masks.values()) m.dispose();
  }
}
export function shelf() {
  const all = new Map<string, Tensor>();
  return {
    add(key: string, x: Tensor): void {
      all.get(key)?.dispose();
      all.set(key, x.neg());
    },
    drop(key: string, wanted: boolean): void {
      const t = all.get(key); // !
      if (t === undefined) return;
      all.delete(key);
      if (wanted) return;
      t.dispose();
    },
    end(): void {
      for (const t of all.values()) t.dispose();
    },
  };
}`,
);

finds(
  "what every caller gives for good",
  `let canvas = null;
function show(image) { // !
  if (!canvas) return;
  tf.browser.toPixels(image, canvas);
  image.dispose();
}
/** @takes image */
function draw(image, keep) {
  if (keep) return;
  tf.browser.toPixels(image, canvas);
  image.dispose();
}
/** @takes image */
function take(image) {
  if (!canvas) return false;
  tf.browser.toPixels(image, canvas);
  image.dispose();
  return true;
}
export function open(el) { canvas = el; }
export function all(x) {
  show(tf.square(x));
  draw(tf.neg(x), x.size > 3);
  const y = tf.abs(x);
  if (!take(y)) y.dispose();
}`,
  "tfjs",
);

finds(
  "a buffer that every caller gives for good",
  `declare const ready: { device: boolean };
function read(staging: GPUBuffer, size: number): void { // !
  if (!ready.device) return;
  staging.unmap();
  staging.destroy();
}
function lend(staging: GPUBuffer): void {
  if (!ready.device) return;
  staging.destroy();
}
export function all(d: GPUDevice, size: number): void {
  const staging = d.createBuffer({ size });
  read(staging, size);
  const kept = d.createBuffer({ size });
  lend(kept);
  kept.destroy();
}`,
  "webgpu",
);

finds(
  "what is shown to functions that others hand in",
  `import { valueAndGrad, zeros, type Tensor } from "tenure";
export class Source {
  readonly #listeners = new Set<(t: Tensor) => void>();
  onFrame: ((t: Tensor) => void) | null = null;
  listen(listener: (t: Tensor) => void): void { this.#listeners.add(listener); }
  emit(): void {
    const t = zeros([2]); // !
    for (const listener of this.#listeners) listener(t);
  }
  show(): void {
    const t = zeros([2]); // !
    this.onFrame?.(t);
  }
  each(visit?: (t: Tensor) => void): void {
    if (visit) this.#visit(visit);
  }
  #visit(visit: (t: Tensor) => void): void {
    const t = zeros([2]); // !
    visit(t);
  }
}
export class Silent {
  onFrame: (t: Tensor) => void = () => undefined;
  show(): void {
    const t = zeros([2]);
    this.onFrame(t);
  }
}
export class Given {
  readonly #listeners: ((t: Tensor) => void)[] = [];
  listen(listener: (t: Tensor) => void): void { this.#listeners.push(listener); }
  emit(): void {
    const t = zeros([2]);
    this.#listeners.forEach((listener) => listener(t));
  }
}
export function open(source: Source, given: Given): number {
  let size = 0;
  source.listen((t) => void (size += t.size));
  source.onFrame = (t) => console.log(t.size);
  source.each((t) => console.log(t.size));
  given.listen((t) => t.dispose());
  return size;
}
const kernels = { double: (x: Tensor) => x.mul(2), half: (x: Tensor) => x.mul(0.5) };
export function apply(name: keyof typeof kernels, noise: number): { x: Tensor; y: Tensor } {
  const clean = zeros([2]); // !
  const y = kernels[name](clean);
  if (noise === 0) return { x: clean, y };
  return { x: clean.add(noise), y };
}
export function descend(fn: (x: Tensor) => Tensor, x: Tensor, watch?: (t: Tensor) => void): void {
  const both = valueAndGrad(fn);
  for (let i = 0; i < 3; i++) {
    const { value, grads } = both(x); // !
    watch?.(value);
    const slope = grads[0];
    if (!slope) continue;
    value.dispose();
    slope.dispose();
  }
}`,
);

finds(
  "the best of those that a function rates in its time",
  `import { zeros, type Tensor } from "tenure";
export async function pick(n: number, rate: (t: Tensor) => Promise<number>) {
  let best: Tensor | null = null;
  let high = -1;
  for (let i = 0; i < n; i++) {
    const made = zeros([i]);
    const score = await rate(made);
    if (score > high) {
      high = score;
      best = made; // !
    } else made.dispose();
  }
  return best;
}`,
);
finds(
  "what is handed to a function that says nothing of it",
  `import { zeros, type Tensor } from "tenure";
export async function pass(n: number, send: (t: Tensor) => Promise<void>) {
  const made = zeros([n]);
  await send(made);
}`,
);

test.run();
